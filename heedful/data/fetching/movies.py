"""Movie reviews with human rationales, from the ERASER benchmark."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.data.fetching.archives import tar_members
from heedful.data.fetching.recipe import Recipe, Row, Splits
from heedful.types import Split

_NAMES: dict[Split, str] = {"train": "train", "dev": "val", "test": "test"}


def read(files: Mapping[str, Path]) -> Splits:
    """The official split; no review of dev or test is in train."""
    members = dict(tar_members(files["archive"], "movies/*"))
    annotations: dict[Split, list[dict[str, Any]]] = {
        split: [json.loads(line) for line in members[f"movies/{name}.jsonl"].decode().splitlines()]
        for split, name in _NAMES.items()
    }
    held_out = {entry["annotation_id"] for entry in (*annotations["dev"], *annotations["test"])}
    annotations["train"] = [entry for entry in annotations["train"] if entry["annotation_id"] not in held_out]
    return {split: [_row(entry, members) for entry in entries] for split, entries in annotations.items()}


def _row(entry: Mapping[str, Any], members: Mapping[str, bytes]) -> Row:
    """The words of a review, joined by spaces, and the spans of words that speak for its label."""
    name = entry["annotation_id"]
    pieces = [piece for evidence in entry["evidences"] for piece in evidence]
    spans = {(piece["start_token"], piece["end_token"]) for piece in pieces}
    return {
        "text": " ".join(members[f"movies/docs/{name}"].decode().split()),
        "label": int(entry["classification"] == "POS"),
        "rationale": [[start, end] for start, end in sorted(spans) if start < end],
        "id": name,
    }


RECIPES = {
    "eraser_movies": Recipe(
        title="ERASER Movie Reviews with human rationales",
        task="binary document sentiment with token rationales",
        files={"archive": "https://www.eraserbenchmark.com/zipped/movies.tar.gz"},
        read=read,
        columns=("text", "label", "rationale"),
        labels=("negative", "positive"),
        terms="reviews CC BY 4.0, as the package of NLTK declares",
    )
}
