"""Data sets by name: built in, kept under HEEDFUL_DATA, the user's own files, or in Hugging Face's format."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.data.folder import VARIABLE
from heedful.data.labelled_texts import Rows, to_dataset
from heedful.data.sources import files, hub, mock, named, planted
from heedful.data.sources.named import named_sets
from heedful.data.sources.records import ENDINGS, ending_of
from heedful.errors import SettingError, pick
from heedful.settings import DataSettings, TextSettings
from heedful.types import Dataset

__all__ = ["DATASETS", "BuiltIn", "load", "named_sets"]


@dataclass(frozen=True)
class BuiltIn:
    """A data set that Heedful makes itself."""

    load: Callable[[DataSettings, TextSettings], Rows]
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
}


def load(data: DataSettings, text: TextSettings, *, sentences: bool = False) -> Dataset:
    """The data set that `data.source` names, cut into tokens as `text` says.

    A name is looked for among the built-in sets, then under HEEDFUL_DATA, then as a file or folder; `hub:NAME` goes to
    Hugging Face. To read a file or folder that has the name of a set, write `./name`.

    Args:
        sentences: also find where each sentence begins, as hierarchical models need.

    >>> mock = load(DataSettings(source="mock-1", train_limit=4, test_limit=2), TextSettings())
    >>> mock.labels, len(mock.train), len(mock.train[0].rationale), {len(set(e.tokens)) for e in mock.train}
    (('negative', 'positive'), 4, 1, {2})
    """
    return to_dataset(_rows(data, text), data, text, sentences=sentences)


def _rows(data: DataSettings, text: TextSettings) -> Rows:
    _check_only_mock(data)
    if data.source.startswith(hub.PREFIX):
        return hub.load(data)
    known: dict[str, BuiltIn | str] = {**named_sets(), **DATASETS}
    path = Path(data.source).expanduser()
    if data.source not in known and (path.exists() or ending_of(path) in ENDINGS or len(path.parts) > 1):
        return files.load(data)
    unset = "" if os.environ.get(VARIABLE) else f", and {VARIABLE} is not set"
    found = pick(f"data set (there is no such file{unset})", data.source, known)
    if not isinstance(found, BuiltIn):
        return named.load(data)
    _check_built_in(data)
    return found.load(data, text)


def _check_only_mock(data: DataSettings) -> None:
    """What makes mock texts must not be set for others, where it would be ignored."""
    for name in ("positions", "agreement", "classes"):
        given = getattr(data, name)
        if not data.source.startswith("mock-") and given != DataSettings.model_fields[name].default:
            raise SettingError(f"`{name}` makes mock texts and was {given!r}, but the data is '{data.source}'.")


def _check_built_in(data: DataSettings) -> None:
    if given := [role for role in ("text", "label", "query") if getattr(data, role) is not None]:
        raise SettingError(
            f"`{given[0]}` names a column, but {data.source} is made by Heedful and has none; leave it out."
        )
    if data.task not in (None, "classification"):
        raise SettingError(f"task must be 'classification' for {data.source}; it is '{data.task}'.")
