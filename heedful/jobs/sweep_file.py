"""A grid of runs: a table of choices becomes runs, each checked, named and preceded by the run it refers to."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from heedful.auditing.rows import chosen_tests
from heedful.battery import BATTERY
from heedful.errors import SettingError, lookup
from heedful.jobs.planning import RunWithBase
from heedful.models.attention import ATTENTIONS
from heedful.models.attention_model import HEADS
from heedful.models.encoders import pick_encoder
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import (
    bind_options,
    flatten_settings,
    nest_settings,
    update_settings,
    validate_settings,
)
from heedful.store.folders import reason
from heedful.training.loop import OPTIMIZERS
from heedful.training.methods import METHODS
from heedful.training.metrics import METRICS

PARTS = ("data", "text", "network", "training", "seed", "reference", "finetune")

MOST_RUNS = 10_000
"""Runs that a grid may have; more are a slip of the pen."""


@dataclass(frozen=True)
class SweepFile:
    """What a TOML file asks for: runs, and how to audit each of them (None: not at all)."""

    runs: list[RunWithBase]
    audit: AuditSettings | None = None


def read_sweep(path: str | Path) -> SweepFile:
    """The runs and audits that a TOML file asks for."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{path} must be a file in TOML that can be read: {reason(error)}.") from None
    except (ValueError, RecursionError) as error:  # wrong TOML, wrong UTF-8, numbers of thousands of digits
        raise SettingError(f"{path} must be a file in TOML: {reason(error)}.") from None
    try:
        return SweepFile(expand_grid(content), audit_settings(content["audit"]) if "audit" in content else None)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None
    except RecursionError:
        raise SettingError(f"{path}: tables must not be nested so deeply; no setting is.") from None


def expand_grid(content: Mapping[str, Any]) -> list[RunWithBase]:
    """The runs of a table of choices: every entry of `runs` with every combination in `grid`, the last moving fastest.

    Settings outside `grid` and `runs` hold for all runs. `reference`, where it is a table, says in what the base run
    of a run that needs one differs from it; a base of another method takes none of the run's method options. `audit`
    is not of the runs: see `audit_settings`.

    >>> content = {"data": {"source": "mock-2"}, "grid": {"network.encoder": ["average", "cnn"], "seed": [0, 1]}}
    >>> [(choice.run.network.encoder, choice.run.seed) for choice in expand_grid(content)]
    [('average', 0), ('average', 1), ('cnn', 0), ('cnn', 1)]
    """
    for name in content:
        lookup("part of a sweep", name, dict.fromkeys((*PARTS, "grid", "runs", "audit")))
    if not set(content) - {"audit"}:
        raise SettingError("a sweep must say what to train, at least [data] with a source; it says nothing.")
    fixed = flatten_settings({name: content[name] for name in PARTS if name in content and name != "reference"})
    reference = content.get("reference")
    if isinstance(reference, str):
        fixed["reference"] = reference
    elif reference is not None and not isinstance(reference, Mapping):
        raise SettingError(f"reference must be the key of a run, or a table [reference]; it was {reference!r:.80}.")
    difference = flatten_settings(reference) if isinstance(reference, Mapping) else None
    choices, entries = _choices(content.get("grid", {})), _entries(content.get("runs", [{}]))
    _check_count(choices, entries)
    expanded = []
    for entry in entries:
        if both := sorted(set(entry) & set(choices)):
            raise SettingError(f"'{both[0]}' stands in grid and in an entry of runs; give it in one of them.")
        for choice in product(*choices.values()):
            places = {**fixed, **entry, **dict(zip(choices, choice, strict=True))}
            expanded.append(_with_base(places, difference))
    if difference is not None and all(each.base is None for each in expanded):
        raise SettingError(
            "[reference] describes a base run, but no run here needs one: frozen attention does, and methods that "
            "start from another run or compare with it. Leave it out."
        )
    return expanded


def audit_settings(table: Any) -> AuditSettings:
    """The settings of a table [audit]; what is not a setting is a test, with its options.

    >>> audit_settings({"examples": 50, "permutation": {"count": 20}}).options
    {'permutation': {'count': 20}}
    """
    if not isinstance(table, Mapping):
        raise SettingError(f"audit must be a table, [audit], of settings of an audit; it was {table!r:.80}.")
    fields = {name: value for name, value in table.items() if name in AuditSettings.model_fields}
    of_tests = {name: value for name, value in table.items() if name not in fields}
    for name, value in of_tests.items():
        if not isinstance(value, Mapping):
            known = {**dict.fromkeys(AuditSettings.model_fields), **dict.fromkeys(BATTERY)}
            lookup("setting or test in [audit]", name, known)
            raise SettingError(f"'audit.{name}' must be a table of that test's options; it was {value!r:.80}.")
    options = {**of_tests, **fields["options"]} if isinstance(fields.get("options"), Mapping) else of_tests
    settings = validate_settings(AuditSettings, {**fields, "options": fields.get("options", {})}, "audit.")
    settings = update_settings(settings, {"options": options}) if of_tests else settings
    chosen_tests(settings)
    return settings


def _choices(table: Any) -> dict[str, list[Any]]:
    if not isinstance(table, Mapping):
        raise SettingError(f"grid must be a table, [grid], of lists of values; it was {table!r:.80}.")
    choices = flatten_settings(table)
    for place, values in choices.items():
        if not isinstance(values, list) or not values:
            raise SettingError(
                f"'{place}' in grid must be a list of values, for example [0, 1]; it was {values!r:.80}."
            )
    return choices


def _entries(entries: Any) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise SettingError(
            f"runs must be a list of tables, each under its own [[runs]]; it was {entries!r:.80}. Leave it out for a "
            "grid alone."
        )
    return [flatten_settings(entry) for entry in entries]


def _check_count(choices: Mapping[str, list[Any]], entries: Sequence[object]) -> None:
    count = len(entries) * prod(len(values) for values in choices.values())
    if count > MOST_RUNS:
        longest = max(choices, key=lambda place: len(choices[place]))
        raise SettingError(
            f"a sweep must have {MOST_RUNS:,} runs at most; this one has {count:,}, and '{longest}' alone has "
            f"{len(choices[longest]):,} values. Split it into several files."
        )


def _run(places: Mapping[str, Any]) -> Run:
    """The run of these settings; whatever is chosen by name is known: better now than once a worker has read data."""
    run = validate_settings(Run, nest_settings(places))
    pick_encoder(run.network.encoder)
    lookup("attention", run.network.attention, ATTENTIONS)
    lookup("head", run.network.head, HEADS)
    lookup("optimizer", run.training.optimizer, OPTIMIZERS)
    lookup("metric", run.finetune.metric if run.finetune else run.training.metric, METRICS)
    lookup("method", run.training.method, METHODS)
    _check_options(run.training.method, json.dumps(run.training.options))
    return run


@lru_cache(maxsize=1024)
def _check_options(method: str, options: str) -> None:
    bind_options(METHODS[method].loss, json.loads(options), f"method '{method}'")


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
    return run.network.attention == "frozen" or method.needs_reference or method.start != "fresh"
