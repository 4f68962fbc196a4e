"""Datasets in the format of the Hugging Face `datasets` library: from the hub, or from a local folder."""

import os
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import polars

from heedful.data.labeled_texts import LabeledTexts
from heedful.data.sources.files import SPLIT_NAMES, labelled_texts
from heedful.data.sources.records import RecordFile, records_of_frame
from heedful.errors import DataError, SettingError
from heedful.settings import DataSettings
from heedful.settings.data_folder import user_path
from heedful.types import Split

if TYPE_CHECKING:
    import datasets

PREFIX = "hub:"
NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
MOST_FILES = 10_000
"""In a folder that the library is to look through."""


def load(data: DataSettings) -> LabeledTexts:
    """The labeled texts of `hub:owner/name`, `hub:owner/name:config` or `hub:/a/folder`.

    Splits are matched by name; dev and test are taken from train where missing. Labels of type ClassLabel get their
    names.
    """
    name, config = address(data.source)
    splits = _splits(name, config)
    given: dict[Split, datasets.Dataset] = {}
    for split_name, content in splits.items():
        split = SPLIT_NAMES.get(split_name.lower())
        if split is not None and split not in given:
            given[split] = content
    if "train" not in given:
        raise DataError(f"{data.source} must have a split 'train'; it has: {', '.join(splits)}.")
    files: dict[Split, RecordFile] = {
        split: records_of_frame(f"{data.source} ({split})", _frame(content)) for split, content in given.items()
    }
    known_as = Path(name).name if Path(name).exists() else data.source.removeprefix(PREFIX)
    texts = labelled_texts(known_as, files, data, _label_names(given["train"]))
    unused = sorted(split_name for split_name in splits if split_name.lower() not in SPLIT_NAMES)
    return replace(texts, notes=(*texts.notes, f"splits not read: {', '.join(unused)}")) if unused else texts


def address(source: str) -> tuple[str, str | None]:
    """The name or folder, and the configuration if one is asked for.

    >>> address("hub:nyu-mll/glue:sst2"), address("hub:stanfordnlp/imdb")
    (('nyu-mll/glue', 'sst2'), ('stanfordnlp/imdb', None))
    """
    location = source.removeprefix(PREFIX)
    whole = user_path(location, source) if location.strip(":") else None
    if whole is not None and whole.is_dir():
        return str(whole), None
    name, _, config = location.partition(":")
    if name and (folder := user_path(name, source)).is_dir():
        return str(folder), config or None
    if not NAME.fullmatch(name) or ".." in name or "--" in name:
        raise SettingError(
            f"hub: needs a name after it, such as hub:stanfordnlp/imdb or hub:nyu-mll/glue:sst2, or a folder that is "
            f"there; it has '{location[:60]}'."
        )
    return name, config or None


def _splits(name: str, config: str | None) -> "dict[str, datasets.Dataset]":
    library = _library()
    folder = Path(name)
    is_saved = any((folder / file).is_file() for file in ("dataset_dict.json", "state.json"))
    if folder.is_dir() and not is_saved:
        _check_size(folder)
    try:
        content = library.load_from_disk(name) if is_saved else library.load_dataset(name, config)
    except (OSError, ValueError, KeyError, TypeError, library.exceptions.DatasetsError) as error:
        raise DataError(f"{PREFIX}{name} cannot be loaded: {error}") from error
    return {str(split): part for split, part in content.items()} if isinstance(content, dict) else {"train": content}


def _check_size(folder: Path) -> None:
    """Raise for a folder with more than MOST_FILES files: the library looks at all of them, which would take hours."""
    count = 0
    for _, folders, names in os.walk(folder):
        count += len(folders) + len(names)
        if count > MOST_FILES:
            raise DataError(
                f"{PREFIX}{folder} holds more than {MOST_FILES:,} files, so it is not a dataset: name the folder that "
                "holds its files and nothing else."
            )


def _library() -> ModuleType:
    try:
        return import_module("datasets")
    except ImportError as error:
        raise SettingError(
            f"{PREFIX}NAME needs the datasets library. Install it: pip install 'heedful[hf]'."
        ) from error


def _frame(content: "datasets.Dataset") -> polars.DataFrame:
    frame = content.to_polars()
    assert isinstance(frame, polars.DataFrame)  # an iterator only if asked for batches
    return frame


def _label_names(content: "datasets.Dataset") -> dict[str, tuple[str, ...]]:
    names = {column: getattr(feature, "names", None) for column, feature in content.features.items()}
    return {column: tuple(labels) for column, labels in names.items() if labels}
