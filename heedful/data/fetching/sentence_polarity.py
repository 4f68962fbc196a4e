"""Pang and Lee's sentence polarity set, known as Rotten Tomatoes, from the data packages of NLTK."""

from collections.abc import Mapping
from pathlib import Path

from heedful.data.fetching.archives import zip_members
from heedful.data.fetching.recipe import Recipe, Row, Splits, github

_SOURCE = ("nltk/nltk_data", "5db857e6f7df11eabb5e5665836db9ec8df07e28")


def read(files: Mapping[str, Path]) -> Splits:
    """The first 80 % of each class for training, the next 10 % for dev, the last 10 % for test; positives first."""
    classes = {}
    for label, name in ((1, "pos"), (0, "neg")):
        ((_, content),) = zip_members(files["archive"], f"*/rt-polarity.{name}")
        lines = content.decode().split("\n")
        classes[label] = [{"text": line.strip(), "label": label} for line in lines if line.strip()]

    def part(start: float, end: float) -> list[Row]:
        return [row for rows in classes.values() for row in rows[round(start * len(rows)) : round(end * len(rows))]]

    return {"train": part(0.0, 0.8), "dev": part(0.8, 0.9), "test": part(0.9, 1.0)}


RECIPES = {
    "rotten_tomatoes": Recipe(
        title="Rotten Tomatoes sentence polarity v1.0",
        task="binary sentence sentiment",
        files={"archive": github(*_SOURCE, "packages/corpora/sentence_polarity.zip")},
        read=read,
        labels=("negative", "positive"),
        terms="CC BY 4.0, as the package of NLTK declares",
    )
}
