"""Files of columns: csv and tsv, whatever separates the columns."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Literal

from heedful.data.sources.record_file import Record, RecordFile
from heedful.errors import DataError

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
SAMPLE = 100

_DECLARED = re.compile(r'"?sep=([^\r\n"])"?\r?(?:\n|$)', flags=re.IGNORECASE)

_Lines = list[tuple[int, list[str]]]


def read_delimited(name: str, content: str, usual: str) -> RecordFile:
    """The records of a file, with a note where its separator is not the usual one.

    The separator is what a first line such as `sep=;` says (Excel writes it), or else the first of `SEPARATORS`, the
    usual one before all, that cuts header and rows into the same number of columns.
    """
    declared = _DECLARED.match(content)
    separator = declared[1] if declared else sniff(content, usual)
    start = declared.end() if declared else 0
    file = _read(name, content[start:], separator, first_line=2 if declared else 1)
    if separator == usual:
        return file
    note = f"{name}: columns are separated by {SEPARATORS.get(separator, repr(separator))}"
    return replace(file, notes=(*file.notes, note))


def sniff(content: str, usual: str) -> str:
    r"""The separator that cuts header and first rows into the same number of columns.

    >>> sniff("text;label\nfine, really;1\n", ","), sniff("text,label\nfine; really,1\n", ",")
    (';', ',')
    """
    widths = {separator: _widths(content, separator) for separator in (usual, *SEPARATORS)}
    widths = {separator: counts for separator, counts in widths.items() if counts[:1] > [1]}
    alike = {separator: counts.count(counts[0]) / len(counts) for separator, counts in widths.items()}
    even = [separator for separator, share in alike.items() if share == 1]
    if usual in even or not widths:
        return usual
    if even:
        return max(even, key=lambda separator: widths[separator][0])
    return usual if usual in widths else max(alike, key=alike.__getitem__)


def _widths(content: str, separator: str) -> list[int]:
    """How many fields the first records have; 0 where they cannot be distinguished."""
    counts: list[int] = []
    with _any_field_size():
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
        try:
            counts.extend(len(fields) for fields in islice(reader, SAMPLE) if fields)
        except csv.Error:
            counts.append(0)
    return counts


def _read(name: str, content: str, separator: str, first_line: int) -> RecordFile:
    if separator != "\t":
        return _records(name, _fields(name, content, separator, csv.QUOTE_MINIMAL, first_line), separator)
    try:
        return _records(name, _fields(name, content, separator, csv.QUOTE_MINIMAL, first_line), separator)
    except DataError:
        # Many tsv files quote nothing, so a text may begin with a quotation mark.
        file = _records(name, _fields(name, content, separator, csv.QUOTE_NONE, first_line), separator)
        return replace(file, notes=(f"{name}: quotation marks taken as part of the texts",))


def _records(name: str, lines: _Lines, separator: str) -> RecordFile:
    columns = _columns(name, lines[0][1] if lines else ())
    records: list[Record] = []
    for line, fields in lines[1:]:
        if len(fields) != len(columns):
            raise DataError(
                f"{name}, line {line}: has {len(fields)} fields where the first line has {len(columns)} "
                f"({', '.join(columns)}). Put quotation marks around a text that contains "
                f"{SEPARATORS.get(separator, repr(separator))}."
            )
        records.append(dict(zip(columns, fields, strict=True)))
    return RecordFile(name, columns, records, [f"line {line}" for line, _ in lines[1:]])


def _columns(name: str, header: Sequence[str]) -> tuple[str, ...]:
    columns = [column.strip() for column in header]
    if columns.count("") > 1:  # Excel writes separators for columns that were once in use
        columns = [column or f"column {number}" for number, column in enumerate(columns, start=1)]
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise DataError(f"{name}: column names must differ; '{repeated[0]}' appears twice in the first line.")
    return tuple(columns)


def _fields(name: str, content: str, separator: str, quoting: Literal[0, 3], first_line: int) -> _Lines:
    """The records that are not blank, each with the line it begins on."""
    line, lines = first_line, []
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, quoting=quoting, strict=True)
    with _any_field_size():
        try:
            for fields in reader:
                if fields:
                    lines.append((line, fields))
                line = reader.line_num + first_line
        except csv.Error as error:
            raise DataError(
                f"{name}, line {line}: {error}. Inside a quoted text every quotation mark must be doubled."
            ) from error
    return lines


@contextmanager
def _any_field_size() -> Iterator[None]:
    # The csv module refuses texts above 131,072 characters by default; the limit is one for the whole process.
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
