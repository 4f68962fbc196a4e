"""From the bytes of a file to its text: UTF-8, or UTF-16 and UTF-32 that say so; anything else is refused."""

import gzip
import zlib
from pathlib import Path

from heedful.errors import DataError

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
    content = _content(path)
    for mark, encoding in MARKS.items():
        if content.startswith(mark):
            return _decode_as(path, content, encoding, len(mark))
    _check_is_text(path, content[:_SAMPLE])
    return _decode_as(path, content, "utf-8", 0)


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix.lower() != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be decompressed: {error}. Is it a complete gzip file?") from error


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


def _decode_as(path: Path, content: bytes, encoding: str, start: int) -> str:
    try:
        return content[start:].decode(encoding)
    except UnicodeDecodeError as error:
        offset = start + error.start
    where = f"byte 0x{content[offset]:02x} at offset {offset}"
    if encoding != "utf-8":
        raise DataError(
            f"{path} must be {encoding.upper()} text, as its first bytes say; {where} is not. Is the file complete?"
        )
    sample = content[:_SAMPLE]
    other = _utf16(sample) if b"\x00" in sample else "WINDOWS-1252"
    line = content.count(b"\n", 0, offset) + 1
    raise DataError(
        f"{path} must be UTF-8 text; {where} (line {line}) is not. Convert it: iconv -f {other} -t UTF-8 OLD > NEW."
    )
