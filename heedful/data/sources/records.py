"""Files of records: jsonl, csv and tsv (each also gzipped) and parquet, with the line of each record."""

import json
from collections.abc import Callable
from pathlib import Path

import polars

from heedful.data.sources.decoding import decode
from heedful.data.sources.delimited import read_delimited
from heedful.data.sources.parquet import read_parquet
from heedful.data.sources.record_file import Record, RecordFile
from heedful.errors import DataError

__all__ = ["SUFFIXES", "Record", "RecordFile", "read_records", "records_of_frame", "suffix_of"]


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


_TEXT_FORMATS: dict[str, Callable[[str, str], RecordFile]] = {
    ".jsonl": _read_jsonl,
    ".csv": lambda name, content: read_delimited(name, content, ","),
    ".tsv": lambda name, content: read_delimited(name, content, "\t"),
}
SUFFIXES = (*_TEXT_FORMATS, ".parquet")
