"""Two sets of TweetEval: texts and labels line by line, in two files a split."""

from collections.abc import Mapping
from pathlib import Path

from heedful.data.fetching.recipe import Recipe, Splits, github
from heedful.types import Split

_SOURCE = ("cardiffnlp/tweeteval", "4fbd22cd78421f05b1ecdb4fc5725bc7a7bd8f66")
_NAMES: dict[Split, str] = {"train": "train", "dev": "val", "test": "test"}


def read(files: Mapping[str, Path]) -> Splits:
    """Each text with the label on the same line; a few texts are empty."""
    return {split: _read_split(files[f"{name}_text"], files[f"{name}_labels"]) for split, name in _NAMES.items()}


def _read_split(texts: Path, labels: Path) -> list[dict[str, object]]:
    # Only a line feed ends a line: tweets contain other separators.
    lines = texts.read_bytes().decode().removesuffix("\n").split("\n")
    numbers = labels.read_text(encoding="utf-8").split()
    return [{"text": text.strip(), "label": int(label)} for text, label in zip(lines, numbers, strict=True)]


def _recipe(folder: str, title: str, task: str, labels: tuple[str, ...]) -> Recipe:
    names = [f"{name}_{kind}" for name in _NAMES.values() for kind in ("text", "labels")]
    files = {name: github(*_SOURCE, f"datasets/{folder}/{name}.txt") for name in names}
    return Recipe(title, task, files, read, labels=labels, terms="those of the organisers and of Twitter; research use")


RECIPES = {
    "tweeteval_emotion": _recipe(
        "emotion", "TweetEval emotion", "4-class tweet classification", ("anger", "joy", "optimism", "sadness")
    ),
    "tweeteval_hate": _recipe("hate", "TweetEval hate", "binary tweet classification", ("non-hate", "hate")),
}
