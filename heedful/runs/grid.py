"""What to run: a file of choices becomes runs, each checked, named and preceded by the run it refers to."""

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
from heedful.runs.worker import load_data
from heedful.settings import Run, key_of
from heedful.training.loop import OPTIMIZERS
from heedful.training.methods import METHODS, bind
from heedful.training.metrics import METRICS

PARTS = ("data", "text", "network", "training", "seed", "reference")
Places = dict[str, Any]
"""Settings by place in a Run: {"network.encoder": "cnn", "seed": 1}."""


@dataclass(frozen=True)
class Planned:
    """A run to be done, and the run that must be done before because this one refers to it."""

    run: Run
    base: Run | None = None


def read_plan(path: str | Path) -> list[Planned]:
    """The runs that a TOML file asks for."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} must be a file in TOML: {error}") from None
    try:
        return plan(content)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None


def plan(content: Mapping[str, Any]) -> list[Planned]:
    """The runs of a table of choices: every entry of `runs` with every combination in `grid`, the last moving fastest.

    What stands beside `grid` and `runs` holds for all runs. `reference`, where it is a table, says in what the base run
    of a run that needs one differs from it; a base of another method takes none of the run's method options.

    >>> found = plan({"data": {"source": "mock-2"}, "grid": {"network.encoder": ["average", "cnn"], "seed": [0, 1]}})
    >>> [(one.run.network.encoder, one.run.seed) for one in found]
    [('average', 0), ('average', 1), ('cnn', 0), ('cnn', 1)]
    """
    for name in content:
        pick("part of a sweep", name, dict.fromkeys((*PARTS, "grid", "runs")))
    fixed = _places({name: content[name] for name in PARTS if name in content and name != "reference"})
    reference = content.get("reference")
    if isinstance(reference, str):
        fixed["reference"] = reference
    difference = _places(reference) if isinstance(reference, Mapping) else None
    grid = _grid(content.get("grid", {}))
    planned = []
    for entry in map(_places, content.get("runs", [{}])):
        if both := sorted(set(entry) & set(grid)):
            raise SettingError(f"'{both[0]}' stands in grid and in an entry of runs; give it in one of them.")
        for choice in product(*grid.values()):
            places = {**fixed, **entry, **dict(zip(grid, choice, strict=True))}
            planned.append(_planned(places, difference))
    return planned


ADVERSARY_SEEDS = (10, 50, 257, 500_231, 100_078, 12_504, 90_754_789, 8_988_812, 2)
"""The nine seeds of Amini and Kosseim's adversaries."""


def adversary_of(run: Run, seed: int, changes: Mapping[str, Any] | None = None) -> Run:
    """The run of an adversary of a run (whose data has its fingerprint): predict alike, attend elsewhere.

    Amini and Kosseim's settings: at most 80 epochs, stop after 10 without improvement, the mean over the batch; but the
    epoch is chosen on dev, and not before 20 have passed, since an adversary may sit on a plateau for as long.

    Args:
        changes: other training settings.
    """
    settings = {"method": "adversary", "options": {}, "epochs": 80, "patience": 10, "min_epochs": 20}
    settings |= {"loss_sum": "mean", "class_weights": False, **(changes or {})}
    training = run.training.model_copy(update=settings)
    return run.model_copy(update={"training": training, "seed": seed, "reference": key_of(run)})


def _grid(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    grid = _places(table)
    for place, values in grid.items():
        if not isinstance(values, list) or not values:
            raise SettingError(f"'{place}' in grid must be a list of values, for example [0, 1]; it was {values!r}.")
    return grid


def _places(table: Mapping[str, Any], prefix: str = "") -> Places:
    """Inner tables as names with dots; an empty table stays, to be able to say "no options"."""
    places: Places = {}
    for name, value in table.items():
        inner = isinstance(value, Mapping) and bool(value)
        places |= _places(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return places


def _run(places: Places) -> Run:
    tree: dict[str, Any] = {}
    for place, value in places.items():
        *parts, name = place.split(".")
        inner = tree
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise SettingError(f"'{place}' can not be set: '{part}' is not a table of settings.")
        inner[name] = value
    run = Run.model_validate(tree)
    _check_names(run)
    return run


def _check_names(run: Run) -> None:
    """Whatever is chosen by name is known: better now than once a worker has read the data."""
    pick("encoder", run.network.encoder, ENCODERS)
    pick("attention", run.network.attention, ATTENTIONS)
    pick("head", run.network.head, HEADS)
    pick("optimizer", run.training.optimizer, OPTIMIZERS)
    pick("metric", run.training.metric, METRICS)
    bind(pick("method", run.training.method, METHODS).loss, run.training.options)


def _planned(places: Places, difference: Places | None) -> Planned:
    run = _run(places)
    if not _needs_reference(run) or run.reference is not None:
        return Planned(run)
    if difference is None:
        raise SettingError(
            f"method '{run.training.method}' with attention '{run.network.attention}' needs a base run: "
            "add a table [reference] that says in what the base differs, for example training.method = 'vanilla'."
        )
    dropped = "training.options" if "training.method" in difference else "."
    base = _run({p: v for p, v in places.items() if not p.startswith(dropped)} | difference)
    if _needs_reference(base):
        raise SettingError("the base that [reference] describes needs a base run itself; change its method, attention.")
    return Planned(run, base)


def _needs_reference(run: Run) -> bool:
    method = METHODS[run.training.method]
    return run.network.attention == "frozen" or method.needs_reference or method.start == "reference"


def named(planned: Sequence[Planned | Run]) -> list[Planned]:
    """The same, as they will be stored: with the fingerprint of the data (each set is read once) and the base's key."""
    fingerprints: dict[object, str] = {}

    def known(run: Run) -> Run:
        content = (run.data, run.text, run.network.encoder == "hierarchical")
        if content not in fingerprints:
            fingerprints[content] = load_data(run)[0].data.fingerprint
        data = run.data.model_copy(update={"fingerprint": fingerprints[content]})
        return run.model_copy(update={"data": data})

    found = []
    for one in planned:
        one = one if isinstance(one, Planned) else Planned(one)
        run, base = known(one.run), known(one.base) if one.base is not None else None
        found.append(Planned(run.model_copy(update={"reference": key_of(base)}) if base else run, base))
    return found


def prepare(planned: Sequence[Planned | Run], store: Store) -> dict[str, Run]:
    """Every distinct run by its key, base runs first."""
    ready = named(planned)
    bases = {key_of(one.base): one.base for one in ready if one.base is not None}
    runs = bases | {key_of(one.run): one.run for one in ready}
    for run in runs.values():
        if run.reference is not None and run.reference not in runs:
            store.read(run.reference)  # raises where it is not there
    return runs
