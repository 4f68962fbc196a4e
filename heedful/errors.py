"""What can go wrong by the user's hand, and how we say so.

ValueError
└── HeedfulError            shown as one line, exit code 2; anything else keeps its traceback
    ├── SettingError        an argument or option is not what it must be
    ├── DataError           a file, row, column or text cannot be used
    └── StoreError          a run or audit folder is missing, corrupt or foreign
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

Thing = TypeVar("Thing")


class HeedfulError(ValueError):
    """The user's input cannot be used; the message says which, why, and what to do."""


class SettingError(HeedfulError):
    """An argument or option is not what it must be."""


class DataError(HeedfulError):
    """A file, row, column or text cannot be used."""


class StoreError(HeedfulError):
    """A run or audit folder is missing, corrupt or foreign."""


def lookup(kind: str, name: str, known: Mapping[str, Thing]) -> Thing:
    """The thing of that name, or an error that names the nearest and all known ones.

    >>> lookup("encoder", "cnn", {"average": 1, "cnn": 2})
    2
    >>> lookup("encoder", "avrage", {"average": 1, "cnn": 2})
    Traceback (most recent call last):
    heedful.errors.SettingError: unknown encoder 'avrage'. Did you mean 'average'? Known: average, cnn.
    """
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise SettingError(f"unknown {kind} '{name}'.{hint} Known: {', '.join(known)}.")
