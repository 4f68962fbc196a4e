"""Members of zip and tar archives, read one by one and never unpacked to disk."""

import tarfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path


def zip_members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file in a zip archive whose name fits the pattern."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if fnmatchcase(name, pattern):
                yield name, archive.read(name)


def tar_members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file in a gzipped tar archive whose name fits the pattern."""
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if member.isfile() and fnmatchcase(member.name.removeprefix("./"), pattern):
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name.removeprefix("./"), content.read()
