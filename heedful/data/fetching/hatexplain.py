"""HateXplain: posts that are toxic or not by majority, with the words that annotators marked."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from heedful.data.fetching.recipe import Recipe, Row, Splits, github
from heedful.types import Split

_SOURCE = ("hate-alert/HateXplain", "01d742279dac941981f53806154481c0e15ee686")
_NAMES: dict[Split, str] = {"train": "train", "dev": "val", "test": "test"}


def read(files: Mapping[str, Path]) -> Splits:
    """The authors' division, which leaves out posts on which no two of three annotators agree."""
    posts = json.loads(files["posts"].read_text(encoding="utf-8"))
    division = json.loads(files["division"].read_text(encoding="utf-8"))
    return {split: [_row(name, posts[name]) for name in division[part]] for split, part in _NAMES.items()}


def _row(name: str, post: Mapping[str, Any]) -> Row:
    normal = sum(annotator["label"] == "normal" for annotator in post["annotators"])
    is_toxic = 2 * normal < len(post["annotators"])
    return {
        "text": " ".join(post["post_tokens"]),
        "label": int(is_toxic),
        "rationale": spans_of_union(post["rationales"]) if is_toxic else [],
        "id": name,
    }


def spans_of_union(rationales: Sequence[Sequence[int]]) -> list[list[int]]:
    """The [start, end) spans of words that any annotator marked.

    >>> spans_of_union([[0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]]), spans_of_union([])
    ([[0, 3]], [])
    """
    marked = [place for place, marks in enumerate(zip(*rationales, strict=False)) if any(marks)]
    runs = [list(run) for _, run in groupby(enumerate(marked), key=lambda pair: pair[1] - pair[0])]
    return [[run[0][1], run[-1][1] + 1] for run in runs]


RECIPES = {
    "hatexplain": Recipe(
        title="HateXplain, binary, with human rationales",
        task="binary toxic-post classification with token rationales",
        files={
            "posts": github(*_SOURCE, "Data/dataset.json"),
            "division": github(*_SOURCE, "Data/post_id_divisions.json"),
        },
        read=read,
        columns=("text", "label", "rationale"),
        labels=("normal", "toxic (offensive or hate speech, majority vote)"),
        terms="MIT; posts of Twitter and Gab, with hateful language",
        remark="its training texts are all 15,383, not 5,514 of them",
    )
}
