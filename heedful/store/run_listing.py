"""The finished runs of a store for a reader: when each was made, in what they differ, and how well each predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heedful.settings import FinetuneSettings, Run
from heedful.settings.validation import flatten_settings
from heedful.store.run_file import RUN_FILE
from heedful.store.store import Store

OWN = ("network.encoder", "network.attention", "training.method")
"""Those that a fine-tuned Hugging Face model does not have."""
MAIN = ("data.source", *OWN, "finetune.model", "seed")
"""The settings that a reader knows a run by: shown for every run where not all are alike, and else once for all."""


@dataclass(frozen=True)
class ListedRun:
    """A finished run, compared with others.

    Args:
        date: when it was stored.
        settings: by dotted name, those in which the runs differ.
        accuracy: on test texts.
    """

    key: str
    date: datetime
    settings: dict[str, Any]
    accuracy: float | None


@dataclass(frozen=True)
class Listing:
    """All runs of a store, the newest last.

    Args:
        common: by dotted name, the main settings that all runs share.
        problems: why each of the other folders is not a finished run.
    """

    runs: tuple[ListedRun, ...]
    common: dict[str, Any]
    problems: tuple[str, ...]


def list_runs(store: Store) -> Listing:
    """The finished runs of a store."""
    finished, problems = store.listing()
    settings = [described.run for described in finished.values()]
    differing = varying_settings(settings)
    flat = [flatten_settings(run.model_dump(mode="json")) for run in settings]
    if len({"finetune.model" in own for own in flat}) == 2:  # fine-tuned models have none of those of ours
        differing |= {name: [None if "finetune.model" in own else own[name] for own in flat] for name in OWN}
    runs = [
        ListedRun(
            key=key,
            date=datetime.fromtimestamp((store.folder / key / RUN_FILE).stat().st_mtime),
            settings={name: values[place] for name, values in differing.items()},
            accuracy=described.scores["test"].get("accuracy"),
        )
        for place, (key, described) in enumerate(finished.items())
    ]
    first = flat[0] if flat else {}
    absent = OWN if "finetune.model" in first else ("finetune.model",)
    common = {name: first[name] for name in MAIN if finished and name not in (*differing, *absent)}
    return Listing(tuple(sorted(runs, key=lambda run: (run.date, run.key))), common, tuple(problems))


def described_differences(listing: Listing) -> list[str]:
    """In what each run differs from the others, in a few words.

    The main settings are there wherever the runs differ in them, others only where they are not at their default.
    """
    default = flatten_settings(EVERY_SETTING.model_dump(mode="json"))
    names = short_names(list(listing.runs[0].settings)) if listing.runs else {}
    descriptions = []
    for run in listing.runs:
        main = [described_setting(place, run.settings[place]) for place in MAIN if run.settings.get(place) is not None]
        others = [
            f"{names[place]} {value}"
            for place, value in run.settings.items()
            if place not in MAIN and value != default.get(place) and (value is not None or "finetune." not in place)
        ]
        descriptions.append(", ".join([*main, *others]))
    return descriptions


def described_setting(place: str, value: Any) -> str:
    """A main setting in a word or two. Its value identifies it, except for a seed."""
    return f"seed {value}" if place == "seed" else str(value)


ABSENT = object()
EVERY_SETTING = Run(finetune=FinetuneSettings(model=""))


def varying_settings(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """By dotted name, the settings in which not all runs are alike, each with its value in every run.

    What follows from others (a hash of the data) is left out; a setting that a run does not have (a method's option) is
    None there, and a tuple is a list.

    >>> varying_settings([Run(seed=1), Run(seed=2)])
    {'seed': [1, 2]}
    """
    flat = [flatten_settings(run.model_dump(mode="json")) for run in runs]
    order = [*flatten_settings(EVERY_SETTING.model_dump()), "finetune"]
    places = dict.fromkeys(place for own in flat for place in own)
    differing = {}
    for place in sorted(places, key=lambda place: order.index(".".join(place.split(".")[:2]))):
        values = [own.get(place, ABSENT) for own in flat]
        is_table = any(other.startswith(f"{place}.") for other in places)  # where some runs lack the part
        if any(value != values[0] for value in values) and not is_table and not place.endswith("fingerprint"):
            differing[place] = [None if value is ABSENT else value for value in values]
    return differing


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
