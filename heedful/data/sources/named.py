"""Data sets kept under the folder that HEEDFUL_DATA names, each in a folder of its own."""

import json
import os
from pathlib import Path

from heedful.data.folder import VARIABLE, data_folder
from heedful.data.labelled_texts import LabelledTexts
from heedful.data.sources import files
from heedful.errors import pick
from heedful.settings import DataSettings


def named_sets() -> dict[str, str]:
    """The data sets found under HEEDFUL_DATA, each with a line on what it is; none where the variable is not set."""
    value = os.environ.get(VARIABLE, "")
    folder = Path(value).expanduser()
    if not value or not folder.is_dir():
        return {}
    return {path.name: _description(path / "meta.json") for path in sorted(folder.iterdir()) if _is_set(path)}


def load(data: DataSettings) -> LabelledTexts:
    """The labelled texts of the named set: labels as named in its `meta.json`, rationales where it has them."""
    pick("named data set", data.source, named_sets())
    return files.load_folder(data_folder(data.source) / data.source, data)


def _is_set(path: Path) -> bool:
    return path.is_dir() and any(files.split_of(file) == "train" for file in path.iterdir())


def _description(meta: Path) -> str:
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
        return f"{content['name']}: {content['task']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # meta.json is optional
