"""How to get a public data set: what to download, and how its files become rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.types import Split

Row = Mapping[str, object]
Splits = Mapping[Split, Sequence[Row]]


@dataclass(frozen=True)
class Recipe:
    """How to get a public data set.

    Args:
        files: the address of each file, by a short name.
        read: from the downloaded files, by the same names, to the rows of each split.
        columns: what every row has, texts first.
        labels: what the labels 0, 1, ... are called; empty where rows hold the names themselves.
        terms: what is known of the licence.
        remark: how the set differs from the one that the study pages were computed on; empty where it is the same.
    """

    title: str
    task: str
    files: Mapping[str, str]
    read: Callable[[Mapping[str, Path]], Splits]
    columns: tuple[str, ...] = ("text", "label")
    labels: tuple[str, ...] = ()
    terms: str = "none stated; research use"
    remark: str = ""


def github(repository: str, commit: str, path: str) -> str:
    """The address of a file as it was at a commit of a repository on GitHub."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"
