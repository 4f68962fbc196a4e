"""Datasets by name: built in, kept under HEEDFUL_DATA, the user's own files, or in Hugging Face's format."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.data.labeled_texts import LabeledTexts, to_dataset, unlabeled_dataset
from heedful.data.public_sets import PUBLIC_SETS
from heedful.data.sources import eraser, files, hatexplain_posts, hub, mock, planted, reviews
from heedful.data.sources.records import SUFFIXES, suffix_of
from heedful.errors import DataError, SettingError, lookup
from heedful.settings import DataSettings, TextSettings
from heedful.settings.data_folder import data_folder_problem, data_path, user_path
from heedful.types import Dataset

__all__ = ["DATASETS", "BuiltIn", "load", "load_unlabeled", "named_sets"]


@dataclass(frozen=True)
class BuiltIn:
    """A dataset that Heedful generates."""

    load: Callable[[DataSettings, TextSettings], LabeledTexts]
    description: str


DATASETS: dict[str, BuiltIn] = {
    "mock-1": BuiltIn(mock.load, "one opinion word among filler words decides the label (Amini and Kosseim)"),
    "mock-2": BuiltIn(mock.load, "two opinion words among filler words"),
    "mock-5": BuiltIn(mock.load, "five opinion words among filler words"),
    "mock-10": BuiltIn(mock.load, "ten opinion words among filler words"),
    "mock-1q": BuiltIn(mock.load, "a quarter of the words are opinion words, the others filler"),
    "mock-2q": BuiltIn(mock.load, "half of the words are opinion words, the others filler"),
    "mock-3q": BuiltIn(mock.load, "three quarters of the words are opinion words, the others filler"),
    "mock-4q": BuiltIn(mock.load, "all words are opinion words"),
    "planted": BuiltIn(planted.load, "two polar words among ten neutral ones (Sun and Lu, Data I)"),
    "planted-noisy": BuiltIn(
        planted.load, "planted, but a tenth of the texts have the other class's polar words (Data II)"
    ),
    "planted-1:2": BuiltIn(planted.load, "planted, one positive text to two negative ones"),
    "planted-1:5": BuiltIn(planted.load, "planted, one positive text to five negative ones"),
    "planted-2:1": BuiltIn(planted.load, "planted, two positive texts to one negative one"),
    "planted-2:5": BuiltIn(planted.load, "planted, two positive texts to five negative ones"),
    "planted-three": BuiltIn(planted.load, "planted, with three labels"),
    "reviews": BuiltIn(reviews.load, "hotel and restaurant reviews made by a grammar, with known deciding words"),
}


def load(data: DataSettings, text: TextSettings, *, sentences: bool = False) -> Dataset:
    """The dataset that `data.source` names, tokenized by the settings `text`.

    A name is looked up among the built-in sets, then in the data folder, then as a file or folder; `hub:NAME` is loaded
    from Hugging Face. To read a file or folder that has the name of a set, write `./name`.

    Args:
        sentences: also find where each sentence begins, as hierarchical models need.

    >>> mock = load(DataSettings(source="mock-1", train_limit=4, test_limit=2), TextSettings())
    >>> mock.labels, len(mock.train), len(mock.train[0].rationale), {len(set(e.tokens)) for e in mock.train}
    (('negative', 'positive'), 4, 1, {2})
    """
    return to_dataset(labelled_texts(data, text), data, text, sentences=sentences)


def load_unlabeled(data: DataSettings, text: TextSettings, *, sentences: bool = False) -> Dataset | None:
    """The texts of a file without labels, for a trained model; None if the data has labels."""
    is_name = data.source in {**named_sets(), **DATASETS} or data.source.startswith(hub.PREFIX)
    source = None if is_name or not data.source.strip() else files.load_unlabeled(data)
    return None if source is None else unlabeled_dataset(source, data, text, sentences=sentences)


def labelled_texts(data: DataSettings, text: TextSettings) -> LabeledTexts:
    """The texts that `data.source` names, as the source gives them."""
    _check_only_mock(data)
    if not data.source.strip():
        raise SettingError("DATA must name a dataset, a file or a folder; it is empty.")
    if data.source.startswith(hub.PREFIX):
        return hub.load(data)
    known: dict[str, BuiltIn | str] = {**named_sets(), **DATASETS}
    if data.source not in known:
        path = user_path(data.source, "DATA")
        if path.exists() or suffix_of(path) in SUFFIXES or len(path.parts) > 1:
            return _published(path)(data)
    problem = data_folder_problem()
    if data.source in PUBLIC_SETS and data.source not in known:
        where = f": {problem}" if problem else f" ({data_path()})"
        raise DataError(f"{data.source} is not in the data folder{where}. Get it: heedful data fetch {data.source}")
    entry = lookup(f"dataset (there is no such file{f', and {problem}' if problem else ''})", data.source, known)
    if not isinstance(entry, BuiltIn):
        return files.load_folder(data_path() / data.source, data)
    _check_built_in(data)
    return entry.load(data, text)


def named_sets() -> dict[str, str]:
    """The datasets in the data folder, each with a line on what it is; empty if the folder is missing."""
    try:
        folders = [] if data_folder_problem() else sorted(data_path().iterdir())
    except OSError:
        folders = []
    return {folder.name: _description(folder / "meta.json") for folder in folders if files.has_set(folder)}


def _description(meta: Path) -> str:
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
        return f"{content['name']}: {content['task']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""  # meta.json is optional


def _published(path: Path) -> Callable[[DataSettings], LabeledTexts]:
    """What reads a file or folder: as ERASER's or HateXplain's authors publish theirs, or the user's own."""
    if eraser.is_eraser(path):
        return eraser.load
    return hatexplain_posts.load if hatexplain_posts.is_hatexplain(path) else files.load


def _check_only_mock(data: DataSettings) -> None:
    """Refuse settings of the mock texts for other data, where they would be ignored."""
    for name in ("positions", "agreement", "classes"):
        given = getattr(data, name)
        if not data.source.startswith("mock-") and given != DataSettings.model_fields[name].default:
            raise SettingError(
                f"data.{name} applies to mock texts only; it was {given!r}, but the data is '{data.source}'."
            )


def _check_built_in(data: DataSettings) -> None:
    if given := [role for role in ("text", "label", "query", "rationale") if getattr(data, role) is not None]:
        raise SettingError(
            f"--{given[0]} names a column, but {data.source} is generated by Heedful and has no columns; leave it out."
        )
    if data.task not in (None, "classification"):
        raise SettingError(f"data.task must be 'classification' for {data.source}; it is '{data.task}'.")
