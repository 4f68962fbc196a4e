"""A grid of runs: a table of choices becomes runs, each checked, named and preceded by the run it refers to."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from heedful.errors import SettingError, pick
from heedful.models.attention import ATTENTIONS
from heedful.models.encoders import ENCODERS
from heedful.models.heads import HEADS
from heedful.runs.store import Store
from heedful.runs.worker import load_data, reads_sentences
from heedful.settings import Run, key_of
from heedful.settings.validation import (
    bind_options,
    flatten_settings,
    nest_settings,
    update_settings,
    validate_settings,
)
from heedful.training.loop import OPTIMIZERS
from heedful.training.methods import METHODS
from heedful.training.metrics import METRICS
from heedful.training.start import with_fingerprints

PARTS = ("data", "text", "network", "training", "seed", "reference")


@dataclass(frozen=True)
class RunWithBase:
    """A run to be done, and the run that must be done before because this one refers to it."""

    run: Run
    base: Run | None = None


def read_grid(path: str | Path) -> list[RunWithBase]:
    """The runs that a TOML file asks for."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} must be a file in TOML: {error}") from None
    try:
        return expand_grid(content)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None


def expand_grid(content: Mapping[str, Any]) -> list[RunWithBase]:
    """The runs of a table of choices: every entry of `runs` with every combination in `grid`, the last moving fastest.

    What stands beside `grid` and `runs` holds for all runs. `reference`, where it is a table, says in what the base run
    of a run that needs one differs from it; a base of another method takes none of the run's method options.

    >>> content = {"data": {"source": "mock-2"}, "grid": {"network.encoder": ["average", "cnn"], "seed": [0, 1]}}
    >>> [(choice.run.network.encoder, choice.run.seed) for choice in expand_grid(content)]
    [('average', 0), ('average', 1), ('cnn', 0), ('cnn', 1)]
    """
    for name in content:
        pick("part of a sweep", name, dict.fromkeys((*PARTS, "grid", "runs")))
    fixed = flatten_settings({name: content[name] for name in PARTS if name in content and name != "reference"})
    reference = content.get("reference")
    if isinstance(reference, str):
        fixed["reference"] = reference
    difference = flatten_settings(reference) if isinstance(reference, Mapping) else None
    choices = _choices(content.get("grid", {}))
    expanded = []
    for entry in map(flatten_settings, content.get("runs", [{}])):
        if both := sorted(set(entry) & set(choices)):
            raise SettingError(f"'{both[0]}' stands in grid and in an entry of runs; give it in one of them.")
        for choice in product(*choices.values()):
            places = {**fixed, **entry, **dict(zip(choices, choice, strict=True))}
            expanded.append(_with_base(places, difference))
    return expanded


def resolve(runs: Sequence[RunWithBase | Run]) -> list[RunWithBase]:
    """The same, as they will be stored: with their fingerprints (each data set is read once) and the base's key."""
    fingerprints: dict[object, str] = {}

    def known(run: Run) -> Run:
        content = (run.data, run.text, reads_sentences(run))
        if content not in fingerprints:
            fingerprints[content] = run.data.fingerprint or load_data(run)[0].data.fingerprint
        return with_fingerprints(run, fingerprints[content])

    resolved = []
    for each in runs:
        each = each if isinstance(each, RunWithBase) else RunWithBase(each)
        run, base = known(each.run), known(each.base) if each.base is not None else None
        resolved.append(RunWithBase(update_settings(run, {"reference": key_of(base)}) if base else run, base))
    return resolved


def unique_runs(runs: Sequence[RunWithBase | Run], store: Store) -> dict[str, Run]:
    """Every distinct run by its key, base runs first."""
    by_key = runs_by_key(resolve(runs))
    for run in by_key.values():
        if run.reference is not None and run.reference not in by_key:
            store.read(run.reference)  # raises where it is not there
    return by_key


def runs_by_key(resolved: Sequence[RunWithBase]) -> dict[str, Run]:
    """Every distinct run, base runs first."""
    bases = {key_of(each.base): each.base for each in resolved if each.base is not None}
    return bases | {key_of(each.run): each.run for each in resolved}


def _choices(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    choices = flatten_settings(table)
    for place, values in choices.items():
        if not isinstance(values, list) or not values:
            raise SettingError(f"'{place}' in grid must be a list of values, for example [0, 1]; it was {values!r}.")
    return choices


def _run(places: Mapping[str, Any]) -> Run:
    run = validate_settings(Run, nest_settings(places))
    _check_names(run)
    return run


def _check_names(run: Run) -> None:
    """Whatever is chosen by name is known: better now than once a worker has read the data."""
    pick("encoder", run.network.encoder, ENCODERS)
    pick("attention", run.network.attention, ATTENTIONS)
    pick("head", run.network.head, HEADS)
    pick("optimizer", run.training.optimizer, OPTIMIZERS)
    pick("metric", run.training.metric, METRICS)
    method = pick("method", run.training.method, METHODS)
    bind_options(method.loss, run.training.options, f"method '{run.training.method}'")


def _with_base(places: Mapping[str, Any], difference: Mapping[str, Any] | None) -> RunWithBase:
    run = _run(places)
    if not _needs_reference(run) or run.reference is not None:
        return RunWithBase(run)
    if difference is None:
        raise SettingError(
            f"method '{run.training.method}' with attention '{run.network.attention}' needs a base run: "
            "add a table [reference] that says in what the base differs, for example training.method = 'vanilla'."
        )
    dropped = "training.options" if "training.method" in difference else "."
    base = _run({place: value for place, value in places.items() if not place.startswith(dropped)} | dict(difference))
    if _needs_reference(base):
        raise SettingError("the base that [reference] describes needs a base run itself; change its method, attention.")
    return RunWithBase(run, base)


def _needs_reference(run: Run) -> bool:
    method = METHODS[run.training.method]
    return run.network.attention == "frozen" or method.needs_reference or method.start == "reference"
