"""Folders that exist if and only if they are complete, and the files that travel between machines."""

import os
import platform
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Files = dict[str, bytes]
"""A finished run or audit on its way between machines: the files of its folder."""


def files_in(folder: Path) -> Files:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Store files as a folder, whole or not at all; what is there already stays as it is."""
    with written_whole(folder) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A fresh folder to write in, renamed to its place once all is written; gone if anything goes wrong.

    Two processes may write the same folder: the first to finish wins. What killed processes of this machine left is
    cleared away.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    host = platform.node() or "here"
    for left in folder.parent.glob(f".part-{host}-*"):
        if not _is_alive(int(left.name.split("-")[-2])):
            shutil.rmtree(left, ignore_errors=True)
    part = folder.parent / f".part-{host}-{os.getpid()}-{secrets.token_hex(4)}"
    part.mkdir()
    try:
        yield part
        for path in part.iterdir():
            _to_disk(path)
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
