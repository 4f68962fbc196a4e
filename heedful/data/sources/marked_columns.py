"""What people marked, in columns of the user's files: which columns, and the marks of each record."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from heedful.data.rationales import Form, read_rationales
from heedful.data.sources.columns import RATIONALE, ColumnRoles, list_columns, option
from heedful.data.sources.records import RecordFile
from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings

Marks = tuple[tuple[Span, ...], ...]
"""[start, end) characters that each annotator marked."""


@dataclass(frozen=True)
class MarkedColumns:
    """Columns of marks, one an annotator, and how they are written."""

    names: tuple[str, ...] = ()
    forms: tuple[Form | None, ...] = ()


@dataclass(frozen=True)
class MarkedRecords:
    """The marks of each record, None where nobody marked it, and what to know of them."""

    marks: Sequence[Marks | None]
    forms: tuple[Form | None, ...] = ()
    notes: tuple[str, ...] = ()


def choose_marks(file: RecordFile, data: DataSettings, roles: ColumnRoles) -> tuple[ColumnRoles, MarkedColumns]:
    """The columns of marks that the settings name; without any, `rationale`, unless it holds spans of words.

    Those are read as they always were: by `labelled_text`, strictly.
    """
    if data.rationale is not None:
        names = _named(file, data.rationale, roles)
        return replace(roles, rationale=None), MarkedColumns(names, (None,) * len(names))
    if roles.rationale is not None and not _are_word_spans(record.get(RATIONALE) for record in file.records):
        return replace(roles, rationale=None), MarkedColumns((RATIONALE,), (None,))
    return roles, MarkedColumns()


def read_marks(file: RecordFile, roles: ColumnRoles, columns: MarkedColumns) -> MarkedRecords:
    """The marks of every record; a record has those of the annotators whose cell is not empty.

    Args:
        columns: a form that is None is inferred from the values.
    """
    texts = [text if isinstance(text := record.get(roles.text), str) else "" for record in file.records]
    places = [f"{file.name}, {place}" for place in file.places]
    read = []
    for name, form in zip(columns.names, columns.forms, strict=True):
        if name not in file.columns:
            raise DataError(
                f"{file.name}: there is no column '{name}' for the rationale. {list_columns(file.columns)} All files "
                "of a data set must name their columns alike."
            )
        read.append(read_rationales([record.get(name) for record in file.records], texts, places, name, form))
    rows = list(zip(*(column.spans for column in read), strict=True)) or [()] * len(texts)
    marks = [tuple(spans for spans in row if spans is not None) or None for row in rows]
    forms = tuple(column.form if any(own is not None for own in column.spans) else None for column in read)
    return MarkedRecords(marks, forms, tuple(note for column in read for note in column.notes))


def _named(file: RecordFile, wanted: str, roles: ColumnRoles) -> tuple[str, ...]:
    """The columns that are named: one, or several with commas between them."""
    names = (wanted,) if wanted in file.columns else tuple(name.strip() for name in wanted.split(","))
    for name in names:
        if name not in file.columns:
            near = get_close_matches(name, file.columns, n=1)
            hint = f" Did you mean {option(RATIONALE, near[0])}?" if near else ""
            raise DataError(
                f"{file.name}: --rationale names column '{name}', which is not there.{hint} "
                f"{list_columns(file.columns)}"
            )
        if name in (roles.text, roles.label, roles.query):
            raise SettingError(f"--rationale must name a column of marks; '{name}' holds texts, labels or queries.")
    if len({*names}) < len(names):
        raise SettingError(f"--rationale must name each column once; it names {', '.join(names)}.")
    return names


def _are_word_spans(values: Iterable[object]) -> bool:
    """Whether all values are lists of pairs, written in JSON or not: they may still lie outside of their text."""
    for value in values:
        if isinstance(value, str) and value.strip():
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return False
        entries = value if isinstance(value, list) else [] if value in (None, "") or value != value else [value]
        if not all(isinstance(entry, list) for entry in entries):
            return False
    return True
