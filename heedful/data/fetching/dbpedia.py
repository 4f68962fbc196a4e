"""A sample of the DBpedia ontology set: 1,000 abstracts of each of 14 classes."""

import csv
import random
import re
from collections.abc import Mapping
from pathlib import Path

from heedful.data.fetching.recipe import Recipe, Row, Splits, github
from heedful.types import Split

_SOURCE = ("KEAML-JLU/DeepTextClustering", "b84d28cbe9db02e51b3f5fa9c6e31e540b3ad219")
DEV, TEST = 100, 200
"""Texts of each class."""
LABELS = (
    "Company",
    "EducationalInstitution",
    "Artist",
    "Athlete",
    "OfficeHolder",
    "MeanOfTransportation",
    "Building",
    "NaturalPlace",
    "Village",
    "Animal",
    "Plant",
    "Album",
    "Film",
    "WrittenWork",
)


def read(files: Mapping[str, Path]) -> Splits:
    """The abstracts, each class split alike."""
    classes: dict[int, list[Row]] = {number: [] for number in range(len(LABELS))}
    with files["sample"].open(encoding="utf-8", newline="") as file:
        for number, words in csv.reader(file):
            classes[int(number)].append({"text": join_words(words), "label": int(number)})
    generator = random.Random(2015)
    splits: dict[Split, list[Row]] = {"train": [], "dev": [], "test": []}
    for rows in classes.values():
        generator.shuffle(rows)
        splits["dev"] += rows[:DEV]
        splits["test"] += rows[DEV : DEV + TEST]
        splits["train"] += rows[DEV + TEST :]
    for rows in splits.values():
        generator.shuffle(rows)
    return splits


def join_words(words: str) -> str:
    """The text that was cut into these words: no space before a closing mark or after an opening one.

    >>> join_words("He was ( as they say ) the band 's singer , was n't he ?")
    "He was (as they say) the band's singer, wasn't he?"
    """
    text = re.sub(r"``\s?|\s?''", '"', " ".join(words.split()))
    text = re.sub(r" ([,.;:?!)\]}%])", r"\1", text)
    text = re.sub(r"([(\[{$#]) ", r"\1", text)
    return re.sub(r" (n't|'(?:s|re|ve|ll|d|m)?)(?!\w)", r"\1", text)


RECIPES = {
    "dbpedia14_small": Recipe(
        title="DBpedia ontology, 14 classes, 1,000-a-class sample",
        task="14-class topic classification",
        files={"sample": github(*_SOURCE, "data/dbpedia/train.csv")},
        read=read,
        labels=LABELS,
        terms="CC BY-SA",
        remark="spaces around a punctuation mark differ in 79 of its 14,000 texts",
    )
}
