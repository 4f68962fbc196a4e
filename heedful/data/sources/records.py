"""Files of records: jsonl, csv and tsv (each also gzipped) and parquet, with the line of each record."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
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
        file = records_of_frame(str(path), read_parquet(path))
    elif suffix in _TEXT_FORMATS:
        file = _TEXT_FORMATS[suffix](str(path), decode(path))
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


def records_of_frame(name: str, frame: polars.DataFrame) -> RecordFile:
    """The rows of a data frame as records."""
    places = [f"row {number}" for number in range(1, frame.height + 1)]
    return RecordFile(name, tuple(frame.columns), frame.to_dicts(), places)


# From the bytes of a file to its text: UTF-8, or UTF-16 and UTF-32 that say so; anything else is refused.

MARKS = {
    b"\xef\xbb\xbf": "utf-8",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
"""Byte-order marks, the longer before those that begin alike."""

OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook. Save it as CSV in UTF-8",
    b"\xd0\xcf\x11\xe0": "an Excel workbook. Save it as CSV in UTF-8",
    b"\x1f\x8b": "gzipped. Let its name end in .gz",
    b"PAR1": "a parquet file. Let its name end in .parquet",
    b"%PDF": "a PDF",
    b"SQLite format 3\x00": "an SQLite database",
}

_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b"))
_SAMPLE = 65_536


def decode(path: Path) -> str:
    """The text of a file without its byte-order mark, decompressed where its name ends in .gz."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix.lower() == ".gz" else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be decompressed: {error}. Is it a complete gzip file?") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    mark, encoding = next(((mark, name) for mark, name in MARKS.items() if content.startswith(mark)), (b"", ""))
    sample = content[:_SAMPLE]
    if not mark:
        _check_is_text(path, sample)
    try:
        return content[len(mark) :].decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        offset = len(mark) + error.start
    where = f"byte 0x{content[offset]:02x} at offset {offset}"
    if encoding not in ("", "utf-8"):
        raise DataError(
            f"{path} must be {encoding.upper()} text, as its first bytes say; {where} is not. Is the file complete?"
        )
    other = _utf16(sample) if b"\x00" in sample else "WINDOWS-1252"
    line = content.count(b"\n", 0, offset) + 1
    raise DataError(
        f"{path} must be UTF-8 text; {where} (line {line}) is not. Convert it: iconv -f {other} -t UTF-8 OLD > NEW."
    )


def _check_is_text(path: Path, sample: bytes) -> None:
    """Refuse known formats, and whatever is control characters for the most part, as UTF-16 without a mark is."""
    for magic, what in OTHER_FORMATS.items():
        if sample.startswith(magic):
            raise DataError(f"{path} must be text, but it is {what}.")
    if len(sample.translate(None, _CONTROL)) >= 0.7 * len(sample):
        return
    if b"\x00" in sample:
        raise DataError(
            f"{path} must be UTF-8 text, but it seems to be {_utf16(sample)} without a byte-order mark. "
            f"Convert it: iconv -f {_utf16(sample)} -t UTF-8 OLD > NEW."
        )
    raise DataError(f"{path} must be UTF-8 text, but most of it is control characters: it is a binary file.")


def _utf16(sample: bytes) -> str:
    """Which of the two encodings: ASCII has its zero in the second byte of UTF-16LE, in the first of UTF-16BE."""
    return "UTF-16LE" if sample[1::2].count(0) >= sample[::2].count(0) else "UTF-16BE"


def _read_jsonl(name: str, content: str) -> RecordFile:
    records: list[Record] = []
    lines: list[int] = []
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
    columns = dict.fromkeys(column for record in records for column in record)
    return RecordFile(name, tuple(columns), records, [f"line {number}" for number in lines], lines=lines)


# Files of columns: csv and tsv, whatever separates the columns.

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar"}
SAMPLE = 100

_DECLARED = re.compile(r'"?sep=([^\r\n"])"?\r?(?:\n|$)', flags=re.IGNORECASE)

csv.field_size_limit(2**31 - 1)  # by default the module refuses texts above 131,072 characters


def read_delimited(name: str, content: str, usual: str) -> RecordFile:
    """The records of a file, with a note where its separator is not the usual one.

    The separator is what a first line such as `sep=;` says (Excel writes it), or else the first of `SEPARATORS`, the
    usual one before all, that cuts header and rows into the same number of columns.
    """
    declared = _DECLARED.match(content)
    separator = declared[1] if declared else sniff(content, usual)
    table, first_line = (content[declared.end() :], 2) if declared else (content, 1)
    notes = []
    try:
        file = _read_table(name, table, separator, first_line, csv.QUOTE_MINIMAL)
    except DataError:
        if separator != "\t":
            raise
        # Many tsv files quote nothing, so a text may begin with a quotation mark.
        file = _read_table(name, table, separator, first_line, csv.QUOTE_NONE)
        notes.append(f"{name}: quotation marks taken as part of the texts")
    if separator != usual:
        notes.append(f"{name}: columns are separated by {SEPARATORS.get(separator, repr(separator))}")
    return replace(file, notes=tuple(notes))


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
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    try:
        counts.extend(len(fields) for fields in islice(reader, SAMPLE) if fields)
    except csv.Error:
        counts.append(0)
    return counts


def _read_table(name: str, content: str, separator: str, first_line: int, quoting: Literal[0, 3]) -> RecordFile:
    """The records that are not blank, each with the line that it begins on."""
    columns: tuple[str, ...] | None = None
    records: list[Record] = []
    places: list[str] = []
    line = first_line
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, quoting=quoting, strict=True)
    try:
        for fields in reader:
            if fields and columns is None:
                columns = _columns(name, fields)
            elif fields and columns is not None:
                if len(fields) != len(columns):
                    raise DataError(
                        f"{name}, line {line}: has {len(fields)} fields where the first line has {len(columns)} "
                        f"({', '.join(columns)}). Put quotation marks around a text that contains "
                        f"{SEPARATORS.get(separator, repr(separator))}."
                    )
                records.append(dict(zip(columns, fields, strict=True)))
                places.append(f"line {line}")
            line = reader.line_num + first_line
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: {error}. Inside a quoted text every quotation mark must be doubled."
        ) from error
    return RecordFile(name, columns or (), records, places)


def _columns(name: str, header: Sequence[str]) -> tuple[str, ...]:
    columns = [column.strip() for column in header]
    if columns.count("") > 1:  # Excel writes separators for columns that were once in use
        columns = [column or f"column {number}" for number, column in enumerate(columns, start=1)]
    if repeated := [column for column in columns if columns.count(column) > 1]:
        raise DataError(f"{name}: column names must differ; '{repeated[0]}' appears twice in the first line.")
    return tuple(columns)


# Untrusted Parquet files, read in a separate process: a damaged one can crash its reader.

_READER = """
import sys
import polars
try:
    polars.read_parquet(sys.argv[1], glob=False, hive_partitioning=False).write_ipc(sys.stdout.buffer)
except BaseException as error:
    sys.exit(" ".join(str(error).split())[:200])
"""
"""Polars panics on some damaged files and aborts on others, which no handler in the same process can stop."""


def read_parquet(path: Path) -> polars.DataFrame:
    """The table in a parquet file."""
    # -P: no folder of the user's is searched for modules.
    command = [sys.executable, "-P", "-c", _READER, str(path.absolute())]
    ended = subprocess.run(command, capture_output=True, env=os.environ | {"RUST_BACKTRACE": "0"}, check=False)
    if ended.returncode == 0:
        return polars.read_ipc(io.BytesIO(ended.stdout))
    lines = ended.stderr.decode(errors="replace").strip().splitlines() if ended.returncode == 1 else []
    reason = lines[-1] if lines else f"its reader ended with code {ended.returncode}"
    raise DataError(f"{path} cannot be read as parquet: {reason.removesuffix('.')}. Write or download it again.")


_TEXT_FORMATS: dict[str, Callable[[str, str], RecordFile]] = {
    ".jsonl": _read_jsonl,
    ".csv": lambda name, content: read_delimited(name, content, ","),
    ".tsv": lambda name, content: read_delimited(name, content, "\t"),
}
SUFFIXES = (*_TEXT_FORMATS, ".parquet")
