"""Data sets kept in the data folder (HEEDFUL_DATA, or one in the user's cache), each in a folder of its own."""

import json
from pathlib import Path

from heedful.data.labeled_texts import LabeledTexts
from heedful.data.sources import files
from heedful.errors import lookup
from heedful.settings import DataSettings
from heedful.settings.data_folder import data_folder, data_folder_problem, data_path


def named_sets() -> dict[str, str]:
    """The data sets in the data folder, each with a line on what it is; none where there is no such folder."""
    if data_folder_problem():
        return {}
    folders = sorted(_inside(data_path()))
    return {folder.name: _description(folder / "meta.json") for folder in folders if _is_set(folder)}


def load(data: DataSettings) -> LabeledTexts:
    """The labelled texts of the named set: labels as named in its `meta.json`, rationales where it has them."""
    lookup("named data set", data.source, named_sets())
    return files.load_folder(data_folder(data.source) / data.source, data)


def _is_set(folder: Path) -> bool:
    return any(files.split_of(file) == "train" for file in _inside(folder))


def _inside(folder: Path) -> list[Path]:
    """What is in a folder; nothing in what is none, or cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _description(meta: Path) -> str:
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
        return f"{content['name']}: {content['task']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # meta.json is optional
