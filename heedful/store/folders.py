"""Folders that exist if and only if they are complete, and the files that travel between machines."""

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

from heedful.errors import StoreError

Files = dict[str, bytes]
"""A finished run or audit on its way between machines: the files of its folder."""

HOST = platform.node() or "here"

PART = re.compile(r"\.part-(?P<host>.+)-(?P<process>[0-9]{1,10})-[0-9a-f]+")
"""The name of a folder that is being written: on which machine, and by which process."""


def files_in(folder: Path) -> Files:
    """The files of a folder."""
    try:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    except OSError as error:
        raise StoreError(f"{folder} cannot be read: {reason(error)}. Make it readable, or delete it.") from error


def write_files(files: Mapping[str, bytes], folder: Path, *, replace: bool = False) -> None:
    """Store files as a folder, whole or not at all; what is there already stays, unless it is to be replaced."""
    if foreign := [name for name in files if name in ("", "..") or name != Path(name).name]:
        raise StoreError(f"{folder} cannot be stored: '{foreign[0]}' is not the name of a file. Is the worker ours?")
    with atomic_folder(folder, replace=replace) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)


@contextmanager
def atomic_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """A fresh folder to write in, renamed to its place once all is written; gone if anything goes wrong.

    Two processes may write the same folder: the first to finish wins. What killed processes of this machine left is
    cleared away.

    Args:
        replace: overwrite an unusable folder at this place, unless it contains files with other names.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _clear_left_parts(folder.parent)
        part = _new_part(folder.parent)
        part.mkdir()
        try:
            yield part
            for path in part.iterdir():
                _to_disk(path)
            _put(part, folder, replace)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {reason(error)}. Make room for it, or name another folder; what was stored "
            "before is still there."
        ) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A file to write, renamed to its final name once complete and removed on error. It overwrites an existing file; a
    missing folder is created.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {reason(error)}. Make room for it, or name another.") from error


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file whole or not at all."""
    with atomic_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check_writable(folder: str | Path, option: str) -> None:
    """Raise unless files can be written in that folder, or in one of that name made now; nothing is left behind.

    Args:
        folder: as the user typed it, so that nothing typed is seen.
        option: what names the folder ("--runs").
    """
    must = f"{option} must be a folder that can be written"
    if not str(folder).strip():
        raise StoreError(f"{must}; it was '{folder}'. Give it a name: {option} {option.strip('-')}.")
    folder = Path(folder)
    try:
        absent = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with TemporaryFile(dir=folder) as probe:
                probe.write(b"heedful")
                probe.flush()
        finally:
            for path in absent:
                path.rmdir()
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise StoreError(f"{must}; '{folder}' cannot: {reason(error)}. Name another.") from error


def check_file_writable(path: str | Path, option: str) -> None:
    """Raise unless a file of that name can be written, in a folder that is created if missing; leave nothing behind."""
    if not str(path).strip() or Path(path).is_dir():
        raise StoreError(f"{option} must be a file that can be written; '{path}' is a folder. Add the file's name.")
    if Path(path).exists() and not os.access(path, os.W_OK):
        raise StoreError(f"{option} must be a file that can be written; '{path}' is read-only. Name another.")
    check_writable(Path(path).parent, f"{option}: its folder")


def reason(error: BaseException) -> str:
    """What went wrong, in a line without the full stop.

    >>> reason(FileNotFoundError(2, "No such file or directory", "runs/a"))
    'No such file or directory'
    """
    by_system = error.strerror if isinstance(error, OSError) else None
    lines = str(error).strip().splitlines()
    return (by_system or (lines[0] if lines else type(error).__name__)).rstrip(".")


def _put(part: Path, folder: Path, replace: bool) -> None:
    """Rename the part to its place; if another process was quicker, its folder stays."""
    if replace:
        with suppress(FileNotFoundError):
            _make_way(folder, {path.name for path in part.iterdir()})
    try:
        part.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _make_way(folder: Path, names: set[str]) -> None:
    """Delete a folder that holds nothing but files of these names."""
    if others := sorted(path.name for path in folder.iterdir() if path.name not in names or not path.is_file()):
        raise StoreError(
            f"{folder} cannot be replaced: it holds '{others[0]}', which Heedful did not write. Move it "
            "away, then run the command again."
        )
    aside = _new_part(folder.parent)
    folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _new_part(parent: Path) -> Path:
    return parent / f".part-{HOST}-{os.getpid()}-{secrets.token_hex(4)}"


def _clear_left_parts(parent: Path) -> None:
    for left in parent.glob(".part-*"):
        name = PART.fullmatch(left.name)
        if name and name["host"] == HOST and not is_alive(int(name["process"])):
            shutil.rmtree(left, ignore_errors=True)


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def is_alive(process: int) -> bool:
    """Whether a process of that number runs on this machine, as far as we may know."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


CHECKSUMS = "SHA256SUMS"

UNSETTLED = 2_000_000_000
"""Nanoseconds after a change in which another may go unseen: clocks of file systems are coarse."""


def write_checksums(folder: Path, names: Iterable[str] | None = None) -> None:
    """Record what the files of a folder hold at this moment.

    Args:
        names: names of the files; None: all.
    """
    names = sorted(path.name for path in folder.iterdir() if path.name != CHECKSUMS) if names is None else names
    lines = [f"{_digest(folder / name)}  {name}\n" for name in names]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def find_damage(folder: Path, names: Iterable[str]) -> str | None:
    """What is wrong with these files of a folder, as part of a sentence; None if all are as they were written."""
    names = list(names)
    try:
        for name in names:
            if not (folder / name).is_file():
                return f"{name} is missing"
        if (recorded := _recorded(folder)) is None:
            return None
        for name in names:
            if name not in recorded:
                return f"{CHECKSUMS} does not list {name}"
            if _digest(folder / name) != recorded[name]:
                return f"{name} was changed or damaged after it was written (its checksum differs)"
    except (OSError, ValueError) as error:
        return f"its files cannot be read: {reason(error)}"
    return None


def _recorded(folder: Path) -> dict[str, str] | None:
    """The checksum of each file when it was written; None if none was recorded."""
    path = folder / CHECKSUMS
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    status = path.stat()
    if time.time_ns() - status.st_mtime_ns < UNSETTLED:
        return sha256_of(path)
    return _digest_once(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=100_000)
def _digest_once(path: Path, status: tuple[int, ...]) -> str:
    """As `sha256_of`, read once as long as the system says that the file did not change."""
    return sha256_of(path)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
