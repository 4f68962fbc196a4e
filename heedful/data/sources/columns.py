"""Which columns of a file hold texts, labels and queries, and how a record becomes a labeled text."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from heedful.data.labeled_texts import LabeledText
from heedful.data.sources.records import Record, RecordFile
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
ID = "id"


@dataclass(frozen=True)
class ColumnRoles:
    """The name of the column for each role, and the task that follows from them."""

    text: str
    label: str
    query: str | None
    task: Task
    rationales: tuple[str, ...] = ()


def choose_columns(file: RecordFile, data: DataSettings) -> ColumnRoles:
    """The columns that the settings name, and good guesses for the others.

    A column `rationale` refers to the default text column, so it is not guessed where another column is the text.

    >>> choose_columns(RecordFile("a.csv", ("Review", "stars"), [], []), DataSettings())
    ColumnRoles(text='Review', label='stars', query=None, task='classification', rationales=())
    """
    _check_named(file, data)
    text, label = _guess(file, data.text, data.label, data.query)
    if text is None or label is None:
        role, likely = ("text", _likely_text(file, label)) if text is None else ("label", _likely_label(file, text))
        raise DataError(
            f"{file.name}: cannot tell which column holds the {role}s. Name it, for example {option(role, likely)}. "
            f"{list_columns(file.columns)} (The first line must be the header.)"
        )
    query, task = _query(file, data, (text, label))
    if data.rationale is not None:
        return ColumnRoles(text, label, query, task, _named_rationales(file, data.rationale, (text, label, query)))
    is_usual = usual_columns(file)[0] in (text, None)
    has_rationale = is_usual and RATIONALE in file.columns and RATIONALE not in (text, label, query)
    return ColumnRoles(text, label, query, task, (RATIONALE,) if has_rationale else ())


def unlabeled_columns(file: RecordFile, data: DataSettings) -> ColumnRoles | None:
    """The columns of texts without labels, the text standing in for the label; None if some column holds labels.

    >>> unlabeled_columns(RecordFile("a.csv", ("id", "text"), [], []), DataSettings()).text
    'text'
    """
    _check_named(file, data)
    columns = [column for column in file.columns if column.lower() != ID]
    text, label = _guess(replace(file, columns=tuple(columns)), data.text, data.label, data.query)
    text = text or (columns[0] if len(columns) == 1 else None)
    if text is None or label is not None:
        return None
    query, task = _query(file, data, (text,))
    return ColumnRoles(text, text, query, task)


def usual_columns(file: RecordFile) -> tuple[str | None, str | None]:
    """The text and label columns that are read by default; None if they cannot be guessed."""
    return _guess(file, None, None, None)


def row_ids(file: RecordFile, roles: ColumnRoles) -> Sequence[str | None]:
    """What the column named "id" (in any case) calls each record; None throughout unless all have one of their own.

    >>> file = RecordFile("a.csv", ("ID", "text", "label"), [{"ID": 7}, {"ID": "b"}], ["line 2", "line 3"])
    >>> row_ids(file, ColumnRoles("text", "label", None, "classification"))
    ['7', 'b']
    """
    unknown = [None] * len(file.records)
    column = _first((ID,), file.columns, (roles.text, roles.label, roles.query))
    if column is None:
        return unknown
    try:
        names = [label_name(record.get(column), column, "") for record in file.records]
    except DataError:  # ids were not requested, so an unusable one is not an error
        return unknown
    return names if len(set(names)) == len(names) and None not in names else unknown


def check_columns(file: RecordFile, roles: ColumnRoles) -> None:
    """Raise where a file lacks a column that has a role; a column `rationale` it need not have."""
    marks = [("rationale", column) for column in roles.rationales if column != RATIONALE]
    for role, column in (("text", roles.text), ("label", roles.label), ("query", roles.query), *marks):
        if column is not None and column not in file.columns:
            raise DataError(
                f"{file.name}: there is no column '{column}' for the {role}. {list_columns(file.columns)} "
                "All files of a dataset must have the same column names."
            )


def labelled_text(
    record: Record, roles: ColumnRoles, place: str, row: int | None = None, row_id: str | None = None
) -> LabeledText | None:
    """The record as a labeled text, or None if it has no label. An error names the place and the fault.

    A text that is missing is an empty one.
    """
    text = _string(record, "text", roles.text, place)
    query = "" if roles.query is None else _string(record, "query", roles.query, place)
    label = label_name(record.get(roles.label), roles.label, place)
    if label is None:
        return None
    return LabeledText(text, label, query, row=row, id=row_id)


def label_name(value: object, column: str, place: str) -> str | None:
    """A label as text: integers without a decimal point, booleans in lower case; None if missing.

    >>> [label_name(value, "label", "line 1") for value in (" pos ", 3, 3.0, True, " ")]
    ['pos', '3', '3', 'true', None]
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    if isinstance(value, str):
        return _encodable(value.strip(), column, place) or None
    if value is None or value != value:
        return None
    raise DataError(
        f"{place}: column '{column}' must be a class: a string, an integer or a boolean; it is {_shown(value)}. "
        "Name another column by --label."
    )


def option(role: str, column: str) -> str:
    """The option of the command line that names the column.

    >>> option("text", "Post body"), option("label", "stars")
    ('--text "Post body"', '--label stars')
    """
    return f"--{role} {column}" if re.fullmatch(r"\w[\w.-]*", column) else f'--{role} "{column}"'


def list_columns(columns: Sequence[str], most: int = 30) -> str:
    """A sentence with the names of the columns."""
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"Its columns are: {', '.join(columns[:most])}{more}."


def _check_there(file: RecordFile, role: str, column: str) -> None:
    if column not in file.columns:
        near = get_close_matches(column, file.columns, n=1)
        hint = f" Did you mean {option(role, near[0])}?" if near else ""
        raise DataError(
            f"{file.name}: --{role} names column '{column}', which is not there.{hint} {list_columns(file.columns)}"
        )


def _named_rationales(file: RecordFile, wanted: str, taken: Sequence[str | None]) -> tuple[str, ...]:
    """The columns that --rationale names: one, or several with commas between them."""
    names = (wanted,) if wanted in file.columns else tuple(name.strip() for name in wanted.split(","))
    for name in names:
        _check_there(file, RATIONALE, name)
        if name in taken:
            raise SettingError(f"--rationale must name a column of marks; '{name}' holds texts, labels or queries.")
    if len({*names}) < len(names):
        raise SettingError(f"--rationale must name each column once; it names {', '.join(names)}.")
    return names


def _check_named(file: RecordFile, data: DataSettings) -> None:
    named = {role: getattr(data, role) for role in ("text", "label", "query") if getattr(data, role) is not None}
    for role, column in named.items():
        _check_there(file, role, column)
    if len(set(named.values())) < len(named):
        raise SettingError(
            f"--text, --label and --query must name different columns; they name {', '.join(named.values())}."
        )
    if data.query is not None and data.task == "classification":
        raise SettingError(
            f"--query names column '{data.query}', but data.task=classification has no query; drop one of them."
        )


def _guess(file: RecordFile, text: str | None, label: str | None, query: str | None) -> tuple[str | None, str | None]:
    text = text or _first(TEXTS, file.columns, (label, query))
    label = label or _first(LABELS, file.columns, (text, query))
    if len(file.columns) == 2 and query is None:
        first, second = file.columns
        if text is None and label is None:
            text = first if _mean_length(file, first) >= _mean_length(file, second) else second
        if text is None:
            text = second if label == first else first
        if label is None:
            label = second if text == first else first
    return text, label


def _query(file: RecordFile, data: DataSettings, taken: Sequence[str]) -> tuple[str | None, Task]:
    if data.task == "classification":
        return None, "classification"
    query = data.query or _first(QUERIES, file.columns, taken)
    if query is not None:
        return query, data.task or QUERIES.get(query.lower(), "qa")
    if data.task is not None:
        raise DataError(
            f"{file.name}: data.task={data.task} needs a query column (hypothesis or question); name it by --query. "
            f"{list_columns(file.columns)}"
        )
    return None, "classification"


def _first(wanted: Iterable[str], columns: Sequence[str], taken: Sequence[str | None]) -> str | None:
    free = {column.lower(): column for column in reversed(columns) if column not in taken}
    return next((free[name] for name in wanted if name in free), None)


def _mean_length(file: RecordFile, column: str) -> float:
    return sum(len(str(record.get(column, ""))) for record in file.records) / max(1, len(file.records))


def _likely_text(file: RecordFile, taken: str | None) -> str:
    """The free column with the longest values."""
    free = [column for column in file.columns if column != taken]
    return max(free, key=lambda column: _mean_length(file, column), default="NAME")


def _likely_label(file: RecordFile, taken: str) -> str:
    """The free column with the fewest different values, but at least two."""
    counts = {c: len({str(record.get(c)) for record in file.records}) for c in file.columns if c != taken}
    return min(counts, key=lambda column: (counts[column] < 2, counts[column]), default="NAME")


def _string(record: Record, role: str, column: str, place: str) -> str:
    value = record.get(column)
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if not isinstance(value, str):
        raise DataError(
            f"{place}: column '{column}' must be a string; it is {_shown(value)}. Name another column by --{role}."
        )
    return _encodable(value, column, place)


def _shown(value: object) -> str:
    try:
        return f"{json.dumps(value, default=str):.60}"
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} that cannot be shown"


def _encodable(value: str, column: str, place: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place}: column '{column}' holds half of a surrogate pair (\\u{ord(value[error.start]):04x}) at position "
            f"{error.start}. Write whole characters."
        ) from error
    return value
