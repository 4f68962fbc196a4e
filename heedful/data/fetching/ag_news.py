"""AG News, world against business: descriptions alone, as in Jain and Wallace, or with the titles."""

import csv
import html
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from heedful.data.fetching.recipe import Recipe, Row, Splits, github

_SOURCE = ("mhjabreel/CharCnn_Keras", "555590db4219b1243abb1918effd6a7425a2d75f")
FILES = {part: github(*_SOURCE, f"data/ag_news_csv/{part}.csv") for part in ("train", "test")}
LABELS = {"1": 0, "3": 1}
"""World and business; sports and science are left out."""


def read(files: Mapping[str, Path]) -> Splits:
    """The descriptions."""
    return _split(files, lambda title, description: {"text": description, "title": title})


def read_titled(files: Mapping[str, Path]) -> Splits:
    """Title and description, joined by a space."""
    return _split(files, lambda title, description: {"text": f"{title} {description}"})


def clean(text: str) -> str:
    r"""The text without back-slashes, mark-up and escapes.

    >>> clean("Google #39;s shares\\up 5; &lt;b&gt;AP&lt;/b&gt; #151; quot;good quot;")
    'Google\'s shares up 5; AP - "good "'
    """
    text = text.replace("\\", " ")
    text = re.sub(r"(?<!&)#15[01];", "-", text).replace("#146;", "'")
    text = re.sub(r"(?<!&)#(\d{2,3});", r"&#\1;", text)
    text = html.unescape(re.sub(r"(?<![&\w])(quot|amp);", r"&\1;", text))
    text = re.sub(r"<[^>]+>", " ", text)
    return " ".join(re.sub(r"(\w) '(s|re|ve|ll|d|m|t)\b", r"\1'\2", text).split())


def _split(files: Mapping[str, Path], to_row: Callable[[str, str], Row]) -> Splits:
    test, taken = _articles(files["test"], set())
    train, _ = _articles(files["train"], taken)
    random.Random(16377).shuffle(train)
    held_out = round(0.15 * len(train))

    def rows(articles: list[tuple[int, str, str]]) -> list[Row]:
        return [{**to_row(title, description), "label": label} for label, title, description in articles]

    return {"train": rows(train[held_out:]), "dev": rows(train[:held_out]), "test": rows(test)}


def _articles(path: Path, taken: set[str]) -> tuple[list[tuple[int, str, str]], set[str]]:
    """Label, title and description of the articles, those left out that begin as one that is taken."""
    articles, beginnings = [], set(taken)
    with path.open(encoding="utf-8", newline="") as file:
        for number, title, description in csv.reader(file):
            text = clean(description)
            beginning = "".join(re.findall(r"\w", text.lower()))[:60]
            if number in LABELS and not (taken and beginning in beginnings):
                articles.append((LABELS[number], clean(title), text))
                beginnings.add(beginning)
    return articles, beginnings


_REMARK = "its training texts are all of AG News, not a sample"
_TERMS = "non-commercial and research use"
RECIPES = {
    "ag_news": Recipe(
        "AG News, world vs business, descriptions only",
        "binary news topic classification",
        FILES,
        read,
        labels=("world", "business"),
        terms=_TERMS,
        remark=_REMARK,
    ),
    "ag_news_titled": Recipe(
        "AG News, world vs business, title + description",
        "binary news topic classification",
        FILES,
        read_titled,
        labels=("world", "business"),
        terms=_TERMS,
        remark=_REMARK,
    ),
}
