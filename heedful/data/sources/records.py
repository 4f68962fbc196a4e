"""Files of records: jsonl, csv and tsv (each also gzipped) and parquet, with the line of each record."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars

from heedful.errors import DataError

Record = Mapping[str, object]


@dataclass(frozen=True)
class RecordFile:
    """The records of a file and where in it each one is.

    Args:
        name: the file, as messages call it.
        places: where each record is, for messages: "line 3", "row 7".
        lines: the line of each record where a line is a record (jsonl); otherwise empty.
    """

    name: str
    columns: tuple[str, ...]
    records: Sequence[Record]
    places: Sequence[str]
    notes: tuple[str, ...] = ()
    lines: Sequence[int] = ()

    @property
    def rows(self) -> Sequence[int]:
        """The number of each record as a person counts: its line in jsonl, otherwise from 1 after the header."""
        return self.lines or range(1, len(self.records) + 1)


def read_records(path: Path) -> RecordFile:
    """The records of a file, whose suffix gives the format."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        file = _read_parquet(path)
    elif suffix in _TEXT_FORMATS:
        file = _TEXT_FORMATS[suffix](str(path), _decoded(path))
    else:
        raise DataError(f"{path}: the file must end in one of {', '.join(SUFFIXES)} (or the first three with .gz).")
    if not file.records:
        raise DataError(f"{path} has no rows.")
    return file


def suffix_of(path: Path) -> str:
    """The suffix that gives a file's format: the last one, or the one before .gz.

    >>> suffix_of(Path("reviews.2024.CSV.gz")), suffix_of(Path("reviews"))
    ('.csv', '')
    """
    name = Path(path.name.lower())
    return Path(name.stem).suffix if name.suffix == ".gz" else name.suffix


def _decoded(path: Path) -> str:
    """The text of a file in UTF-8, without its byte-order mark."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix.lower() == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be decompressed: {error}. Is it a complete gzip file?") from error
    mark = b"\xef\xbb\xbf"
    try:
        return content.removeprefix(mark).decode()
    except UnicodeDecodeError as error:
        offset = error.start + (len(mark) if content.startswith(mark) else 0)
        encoding = "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        line = content.count(b"\n", 0, offset) + 1
        raise DataError(
            f"{path} must be UTF-8 text; byte 0x{content[offset]:02x} at offset {offset} (line {line}) is not. "
            f"Convert it: iconv -f {encoding} -t UTF-8 OLD > NEW."
        ) from error


def _read_jsonl(name: str, content: str) -> RecordFile:
    records: list[Record] = []
    lines: list[int] = []
    columns: dict[str, None] = {}
    # Not splitlines(): it also splits at other characters, which a JSON string may contain.
    for number, line in enumerate(content.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{name}, line {number}: not valid JSON: {error}. Write one JSON object per line."
            ) from error
        if not isinstance(record, dict):
            raise DataError(
                f'{name}, line {number}: must be a JSON object such as {{"text": ...}}; it is {line[:40]!r}.'
            )
        records.append(record)
        lines.append(number)
        columns |= dict.fromkeys(record)
    return RecordFile(name, tuple(columns), records, [f"line {number}" for number in lines], lines=lines)


def _read_csv(name: str, content: str) -> RecordFile:
    return _read_delimited(name, content, ",", csv.QUOTE_MINIMAL)


def _read_tsv(name: str, content: str) -> RecordFile:
    try:
        return _read_delimited(name, content, "\t", csv.QUOTE_MINIMAL)
    except DataError:
        # Many tsv files quote nothing, so a text may begin with a quotation mark.
        file = _read_delimited(name, content, "\t", csv.QUOTE_NONE)
        return replace(file, notes=(f"{name}: quotation marks taken as part of the texts",))


def _read_delimited(name: str, content: str, delimiter: str, quoting: Literal[0, 3]) -> RecordFile:
    records: list[Record] = []
    places: list[str] = []
    with _any_field_size():
        lines = list(_fields(name, content, delimiter, quoting))
    columns = tuple(column.strip() for _, header in lines[:1] for column in header)
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise DataError(f"{name}: column names must differ; '{repeated[0]}' appears twice in the first line.")
    for line, fields in lines[1:]:
        if len(fields) != len(columns):
            raise DataError(
                f"{name}, line {line}: has {len(fields)} fields where the first line has {len(columns)} "
                f"({', '.join(columns)}). Put quotation marks around a text that contains a separator."
            )
        records.append(dict(zip(columns, fields, strict=True)))
        places.append(f"line {line}")
    return RecordFile(name, columns, records, places)


def _fields(name: str, content: str, delimiter: str, quoting: Literal[0, 3]) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank, each with the line it begins on."""
    lines = io.StringIO(content, newline="")
    line = 1
    try:
        reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: {error}. Inside a quoted text every quotation mark must be doubled."
        ) from error


@contextmanager
def _any_field_size() -> Iterator[None]:
    # The csv module refuses texts above 131,072 characters by default; the limit is one for the whole process.
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_parquet(path: Path) -> RecordFile:
    try:
        frame = polars.read_parquet(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} cannot be read as parquet: {error}") from error
    return records_of_frame(str(path), frame)


def records_of_frame(name: str, frame: polars.DataFrame) -> RecordFile:
    """The rows of a data frame as records."""
    places = [f"row {number}" for number in range(1, frame.height + 1)]
    return RecordFile(name, tuple(frame.columns), frame.to_dicts(), places)


_TEXT_FORMATS: dict[str, Callable[[str, str], RecordFile]] = {
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
    ".tsv": _read_tsv,
}
SUFFIXES = (*_TEXT_FORMATS, ".parquet")
