"""Which columns of a table hold texts, labels and queries, and how a record becomes a row."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heedful.data.labelled_texts import Row
from heedful.data.sources.records import Record, Table
from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.types import Task

# fmt: off
TEXTS = (
    "text", "sentence", "review", "content", "document", "premise", "context", "sentence1", "body", "comment", "tweet",
    "post", "message", "utterance", "passage", "article", "headline",
)
LABELS = ("label", "class", "target", "answer", "category", "gold_label", "labels", "sentiment", "topic", "y")
# fmt: on
QUERIES: dict[str, Task] = {"hypothesis": "nli", "question": "qa", "query": "qa", "sentence2": "nli"}
RATIONALE = "rationale"


@dataclass(frozen=True)
class Columns:
    """The columns that are read, by what they hold."""

    text: str
    label: str
    query: str | None
    rationale: str | None
    task: Task


def choose_columns(table: Table, data: DataSettings) -> Columns:
    """The columns that the settings name, and good guesses for the others.

    A rationale speaks of the usual text, so it is left unread where another column is the text.

    >>> choose_columns(Table("a.csv", ("Review", "stars"), [], []), DataSettings())
    Columns(text='Review', label='stars', query=None, rationale=None, task='classification')
    """
    _check_named(table, data)
    text, label = _guess(table, data.text, data.label, data.query)
    if text is None or label is None:
        role = "texts; name it by `text`" if text is None else "labels; name it by `label`"
        raise DataError(
            f"{table.name}: can not tell which column holds the {role}. Its columns are: {', '.join(table.columns)}."
            " (The first line must be the header.)"
        )
    query, task = _query(table, data, (text, label))
    is_usual = usual_columns(table)[0] in (text, None)
    has_rationale = is_usual and RATIONALE in table.columns and RATIONALE not in (text, label, query)
    return Columns(text, label, query, RATIONALE if has_rationale else None, task)


def usual_columns(table: Table) -> tuple[str | None, str | None]:
    """The columns of texts and labels that would be read if nobody named one; None where that can not be told."""
    return _guess(table, None, None, None)


def row_of(record: Record, columns: Columns, place: str) -> Row:
    """The record as a row, or an error that says where it stands and what is wrong with it."""
    text = _string(record, columns.text, place)
    query = "" if columns.query is None else _string(record, columns.query, place)
    rationale = None if columns.rationale is None else _rationale(record.get(columns.rationale), text, place)
    return Row(text, label_name(_value(record, columns.label, place), columns.label, place), query, rationale)


def label_name(value: object, column: str, place: str) -> str:
    """A label as text: whole numbers without a point, truth values in lower case.

    >>> [label_name(value, "label", "line 1") for value in (" pos ", 3, 3.0, True)]
    ['pos', '3', '3', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, str):
        if name := value.strip():
            return _encodable(name, column, place)
        raise DataError(f"{place}: column '{column}' is empty; every text needs a label.")
    if value is None or value != value:
        raise DataError(f"{place}: column '{column}' is null; every text needs a label.")
    raise DataError(
        f"{place}: column '{column}' must be a class: a string, a whole number or a truth value; it is {value!r:.60}."
    )


def _check_named(table: Table, data: DataSettings) -> None:
    named = {role: getattr(data, role) for role in ("text", "label", "query") if getattr(data, role) is not None}
    for role, column in named.items():
        if column not in table.columns:
            raise DataError(
                f"{table.name}: `{role}` names column '{column}', which is not there. Its columns are: "
                f"{', '.join(table.columns)}."
            )
    if len(set(named.values())) < len(named):
        raise SettingError(
            f"`text`, `label` and `query` must name different columns; they name {', '.join(named.values())}."
        )
    if data.query is not None and data.task == "classification":
        raise SettingError(
            f"`query` names column '{data.query}', but task='classification' has no query; drop one of them."
        )


def _guess(table: Table, text: str | None, label: str | None, query: str | None) -> tuple[str | None, str | None]:
    text = text or _first(TEXTS, table.columns, (label, query))
    label = label or _first(LABELS, table.columns, (text, query))
    if len(table.columns) == 2 and query is None:
        first, second = table.columns
        if text is None and label is None:
            text = first if _mean_length(table, first) >= _mean_length(table, second) else second
        if text is None:
            text = second if label == first else first
        if label is None:
            label = second if text == first else first
    return text, label


def _query(table: Table, data: DataSettings, taken: Sequence[str]) -> tuple[str | None, Task]:
    if data.task == "classification":
        return None, "classification"
    query = data.query or _first(QUERIES, table.columns, taken)
    if query is not None:
        return query, data.task or QUERIES.get(query.lower(), "qa")
    if data.task is not None:
        raise DataError(
            f"{table.name}: task='{data.task}' needs a query column (hypothesis or question); name it by `query`. Its "
            f"columns are: {', '.join(table.columns)}."
        )
    return None, "classification"


def _first(wanted: Iterable[str], columns: Sequence[str], taken: Sequence[str | None]) -> str | None:
    free = {column.lower(): column for column in reversed(columns) if column not in taken}
    return next((free[name] for name in wanted if name in free), None)


def _mean_length(table: Table, column: str) -> float:
    return sum(len(str(record.get(column, ""))) for record in table.records) / max(1, len(table.records))


def _value(record: Record, column: str, place: str) -> object:
    if column not in record:
        raise DataError(f"{place}: column '{column}' is missing. The columns there are: {', '.join(record)}.")
    return record[column]


def _string(record: Record, column: str, place: str) -> str:
    value = _value(record, column, place)
    if not isinstance(value, str):
        raise DataError(f"{place}: column '{column}' must be a string; it is {json.dumps(value, default=str):.60}.")
    return _encodable(value, column, place)


def _encodable(value: str, column: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place}: column '{column}' holds half of a character (\\u{ord(value[error.start]):04x}) at position "
            f"{error.start}. Write whole characters."
        ) from error
    return value


def _rationale(value: object, text: str, place: str) -> tuple[Span, ...] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except ValueError as error:
            raise DataError(f"{place}: column '{RATIONALE}' is not a JSON list: {error}.") from error
    if value is None:
        return None
    words = text.count(" ") + 1
    spans: list[Span] = []
    for span in value if isinstance(value, list) else [value]:
        match span:
            case [int(start), int(end)] if 0 <= start <= end <= words and not isinstance(start, bool):
                spans.append((start, end))
            case _:
                raise DataError(
                    f"{place}: column '{RATIONALE}' must be a list of [start, end) spans over the {words} words of the "
                    f"text; it holds {span!r:.60}."
                )
    return tuple(spans)
