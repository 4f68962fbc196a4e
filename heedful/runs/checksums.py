"""Whether the files of a folder are those that were written: each file's SHA-256, in a file beside them.

`sha256sum --check SHA256SUMS` says the same. Folders of earlier versions have no such file; of theirs it is seen only
whether each is there and has its beginning and end.
"""

import hashlib
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from heedful.runs.folders import reason

CHECKSUMS = "SHA256SUMS"
PARQUET_MARK = b"PAR1"

UNSETTLED = 2_000_000_000
"""Nanoseconds after a change in which another may go unseen: clocks of file systems are coarse."""


def write_checksums(folder: Path) -> None:
    """Record what the files of a folder hold at this moment."""
    names = sorted(path.name for path in folder.iterdir() if path.name != CHECKSUMS)
    lines = [f"{_digest(folder / name)}  {name}\n" for name in names]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def damage_of(folder: Path, names: Iterable[str]) -> str | None:
    """What is wrong with these files of a folder, as part of a sentence; None where all are as they were written."""
    names = list(names)
    try:
        for name in names:
            if not (folder / name).is_file():
                return f"{name} is missing"
        recorded = _recorded(folder)
        for name in names:
            if damage := _damage(folder / name, recorded):
                return damage
    except (OSError, ValueError) as error:
        return f"its files cannot be read: {reason(error)}"
    return None


def _damage(path: Path, recorded: dict[str, str] | None) -> str | None:
    if recorded is None:
        return None if _has_ends(path) else f"{path.name} is cut off or is another file"
    if path.name not in recorded:
        return f"{CHECKSUMS} does not list {path.name}"
    if _digest(path) != recorded[path.name]:
        return f"{path.name} was changed or damaged after it was written (its checksum differs)"
    return None


def _recorded(folder: Path) -> dict[str, str] | None:
    """The checksum of each file when it was written; None where nobody recorded any."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _has_ends(path: Path) -> bool:
    size = path.stat().st_size
    if path.suffix != ".parquet":
        return size > 0
    with path.open("rb") as file:
        begins = file.read(len(PARQUET_MARK)) == PARQUET_MARK
        file.seek(max(0, size - len(PARQUET_MARK)))
        return begins and size > 2 * len(PARQUET_MARK) and file.read() == PARQUET_MARK


def _digest(path: Path) -> str:
    status = path.stat()
    if time.time_ns() - status.st_mtime_ns < UNSETTLED:
        return _digest_now(path)
    return _digest_once(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=100_000)
def _digest_once(path: Path, status: tuple[int, ...]) -> str:
    """As `_digest_now`, read once as long as the system says that the file did not change."""
    return _digest_now(path)


def _digest_now(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
