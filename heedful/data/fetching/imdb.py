"""The large movie review set of Maas et al., whole and as a balanced sample of short reviews."""

import random
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from heedful.data.fetching.archives import tar_members
from heedful.data.fetching.recipe import Recipe, Row, Splits
from heedful.types import Split

FILES = {"archive": "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"}
DEV_OF_CLASS = 2_500
SMALL: dict[Split, int] = {"train": 4_000, "dev": 1_000, "test": 2_000}
SMALL_BELOW = 400
"""Words of the longest review in the small set and one more, as in Jain and Wallace."""

_NO_WORDS = str.maketrans(dict.fromkeys(set(string.punctuation) - {"'"}, " "))


def read(files: Mapping[str, Path]) -> Splits:
    """The official test reviews; of the training ones, 2,500 a class for dev."""
    rows = {"train": _empty(), "test": _empty()}
    for name, content in tar_members(files["archive"], "aclImdb/t*/[pn]*/*.txt"):
        _, part, sentiment, file = PurePosixPath(name).parts
        rows[part][sentiment].append(_row(f"{part}/{sentiment}/{file.removesuffix('.txt')}", content.decode()))
    return split_rows(rows["train"], rows["test"])


def split_rows(train: Mapping[str, Sequence[Row]], test: Mapping[str, Sequence[Row]]) -> Splits:
    """The rows of each class, `pos` and `neg`, shuffled and with some held out for dev."""
    generator = random.Random(1378)
    shuffled = {}
    for sentiment in ("pos", "neg"):
        shuffled[sentiment] = sorted(train[sentiment], key=lambda row: str(row["id"]))
        generator.shuffle(shuffled[sentiment])
    splits: dict[Split, list[Row]] = {
        "train": [row for rows in shuffled.values() for row in rows[:-DEV_OF_CLASS]],
        "dev": [row for rows in shuffled.values() for row in rows[-DEV_OF_CLASS:]],
        "test": [row for name in ("neg", "pos") for row in sorted(test[name], key=lambda row: str(row["id"]))],
    }
    for rows in splits.values():
        generator.shuffle(rows)
    return splits


def read_small(files: Mapping[str, Path]) -> Splits:
    """Of each split, a balanced sample of the reviews of fewer than 400 words."""
    return sample_short(read(files))


def sample_short(splits: Splits) -> Splits:
    """Of each split, as many short reviews of each class as `SMALL` says."""
    generator = random.Random(2023)
    small: dict[Split, list[Row]] = {}
    for split, count in SMALL.items():
        short = [row for row in splits[split] if int(str(row["n_words"])) < SMALL_BELOW]
        rows = [
            row
            for label in (0, 1)
            for row in generator.sample([row for row in short if row["label"] == label], count // 2)
        ]
        generator.shuffle(rows)
        small[split] = rows
    return small


def _empty() -> dict[str, list[Row]]:
    return {"pos": [], "neg": []}


def _row(name: str, content: str) -> Row:
    text = " ".join(re.sub(r"<br\s*/?>", " ", content).split())
    return {
        "text": text,
        "label": int("/pos/" in name),
        "rating": int(name.rpartition("_")[2]),
        "id": name,
        "n_words": len(text.translate(_NO_WORDS).split()),
    }


RECIPES = {
    "imdb": Recipe(
        title="IMDB large movie reviews",
        task="binary document sentiment (8-way rating also given)",
        files=FILES,
        read=read,
        labels=("negative", "positive"),
        terms="none stated; research use, cite Maas et al. (2011)",
    ),
    "imdb_small": Recipe(
        title="IMDB, balanced sample of reviews under 400 words",
        task="binary document sentiment",
        files=FILES,
        read=read_small,
        labels=("negative", "positive"),
        terms="none stated; research use, cite Maas et al. (2011)",
    ),
}
