"""What differs between runs: the settings that are not alike in all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from heedful.settings import Run

ABSENT = object()


def varying_settings(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """By dotted name, the settings in which not all runs are alike, each with its value in every run.

    What follows from others (a hash of the data) is left out; a setting that a run does not have (a method's option) is
    None there, and a tuple is a list.

    >>> varying_settings([Run(seed=1), Run(seed=2)])
    {'seed': [1, 2]}
    """
    return {
        place: [None if value is ABSENT else list(value) if isinstance(value, tuple) else value for value in values]
        for place, values in _differences(list(runs), "").items()
        if not place.endswith("fingerprint")
    }


def short_names(places: Sequence[str]) -> dict[str, str]:
    """What each setting is called where there is little room: by its last part, unless two have the same.

    >>> short_names(["network.encoder", "data.text", "seed", "text.words", "network.words"])
    {'network.encoder': 'encoder', 'data.text': 'text', 'seed': 'seed', 'text.words': 'text.words', \
'network.words': 'network.words'}
    """
    last = [place.rpartition(".")[2] for place in places]
    return {
        place: name if last.count(name) == 1 else ".".join(place.split(".")[-2:])
        for place, name in zip(places, last, strict=True)
    }


def _differences(values: list[Any], place: str) -> dict[str, list[Any]]:
    """The leaves of a tree of settings, one tree a run, in which not all are alike."""
    first = values[0] if values else None
    if all(value is first or value == first for value in values):
        return {}
    trees = [_branches(value) for value in values]
    if any(trees):  # a part that some runs do not have at all
        trees = [{} if value is None else tree for value, tree in zip(values, trees, strict=True)]
    if any(tree is None for tree in trees):
        return {place: values}
    names = dict.fromkeys(name for tree in trees for name in tree or ())
    differences: dict[str, list[Any]] = {}
    for name in names:
        inner = [(tree or {}).get(name, ABSENT) for tree in trees]
        differences |= _differences(inner, f"{place}.{name}" if place else name)
    return differences


def _branches(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, BaseModel):
        return value.__dict__
    return value if isinstance(value, Mapping) else None
