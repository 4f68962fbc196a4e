"""SNLI: pairs of a premise and a hypothesis, with the label on which annotators agree."""

import json
from collections.abc import Mapping
from pathlib import Path

from heedful.data.fetching.archives import zip_members
from heedful.data.fetching.recipe import Recipe, Row, Splits

LABELS = ("neutral", "contradiction", "entailment")
"""In Jain and Wallace's order."""


def read(files: Mapping[str, Path]) -> Splits:
    """The official split, without the pairs that have no agreed label."""
    return {split: _read_split(files["archive"], split) for split in ("train", "dev", "test")}


def _read_split(archive: Path, split: str) -> list[Row]:
    ((_, content),) = zip_members(archive, f"snli_1.0/snli_1.0_{split}.jsonl")
    pairs = map(json.loads, content.decode().splitlines())
    return [
        {"premise": pair["sentence1"], "hypothesis": pair["sentence2"], "label": LABELS.index(pair["gold_label"])}
        for pair in pairs
        if pair["gold_label"] in LABELS
    ]


RECIPES = {
    "snli": Recipe(
        title="SNLI",
        task="3-way natural language inference",
        files={"archive": "https://nlp.stanford.edu/projects/snli/snli_1.0.zip"},
        read=read,
        columns=("premise", "hypothesis", "label"),
        labels=LABELS,
        terms="CC BY-SA 4.0",
        remark="it is all of SNLI as written, not a sample with dev and test texts cut into tokens",
    )
}
