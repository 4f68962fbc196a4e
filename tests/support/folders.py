"""Folders outside this repository. A test that reads one is marked `data` with what it reads, and skips without it."""

import json
import os
from pathlib import Path

import pytest

needs_golden = pytest.mark.data("HEEDFUL_GOLDEN")
each_source = pytest.mark.parametrize("source", ["extract", pytest.param("full", marks=needs_golden)])
"""Results of the reference code: the extract in this repository, and all of them."""


def outside(name: str) -> Path:
    """The path of what is named by a variable of the environment and a path below it, as in `HEEDFUL_DATA/sst2`."""
    variable, _, below = name.partition("/")
    return Path(os.environ.get(variable) or f"{variable} is not set") / below


def golden_folder(source: str) -> Path:
    return outside("HEEDFUL_GOLDEN") if source == "full" else Path(__file__).parents[1] / "golden"


def golden_pairs(source: str) -> list[dict]:
    """Results of the reference code on pairs of distributions."""
    return json.loads((golden_folder(source) / "metrics.json").read_text(encoding="utf-8"))["pairs"]
