"""Example texts of each outcome: attention as a heat map, the key words outlined, and what is said about the text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.report.audit_files import AuditFiles
from heedful.report.heatmap import STEPS, text_outcomes
from heedful.verdict.outcome_text import BADGES

PER_OUTCOME = 3
"""Texts of each outcome."""
MOST_ITEMS = 60
"""Longer texts are chosen only if there are no others."""
PALE = 3.0
"""Full colour is the largest weight, but so many times the average at least: attention spread evenly stays pale."""
OUTCOMES = ("points", "misses", "no_small_set")


@dataclass(frozen=True)
class Token:
    """A word (or sentence), how strong its colour is, and whether it is a key word or a top word."""

    text: str
    weight: float
    value: str
    is_key: bool
    is_top: bool


@dataclass(frozen=True)
class Reading:
    """A text as one model reads it.

    Args:
        is_decided: whether a small set of words decides; if not, the outlined words are only those with the largest
            effect.
    """

    name: str
    note: str
    badge: str
    is_decided: bool
    tokens: tuple[Token, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """A text, and each model's reading of it."""

    title: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class Group:
    """Texts of one outcome."""

    title: str
    examples: tuple[Example, ...]


def chosen_examples(audits: Sequence[AuditFiles], data: Mapping[str, Any]) -> list[Group]:
    """A few texts of each outcome that attention has in the first audit.

    Args:
        data: what `heatmap.example_data` makes of the audits.
    """
    counts = Counter(outcome.outcome for outcome in text_outcomes(audits[0], shown=False).values())
    name = f" ({data['runs'][0]})" if len(audits) > 1 else ""
    answer = audits[0].verdict.answer
    first = answer.example.example if answer and answer.example else None
    groups = []
    for outcome in OUTCOMES:
        if chosen := _chosen(data["examples"], outcome, first):
            title = f"{BADGES[outcome].capitalize()}{name}: {counts[outcome]:,} of {counts.total():,} texts"
            groups.append(Group(title, tuple(_example(each, data) for each in chosen)))
    return groups


def _chosen(examples: Sequence[Mapping[str, Any]], outcome: str, first: int | None) -> list[Mapping[str, Any]]:
    """Texts of about the lower quartile, median and upper quartile of length; the audit's own example before these."""
    own = [each for each in examples if each["runs"][0] and each["runs"][0].get("outcome", {}).get("name") == outcome]
    short = [each for each in own if len(each["items"]) <= MOST_ITEMS] or own
    ordered = sorted(short, key=lambda each: (len(each["items"]), each["index"]))
    quartiles = [ordered[place * (len(ordered) - 1) // 4] for place in (2, 1, 3)] if ordered else []
    named = [each for each in own if each["index"] == first]
    distinct = {each["index"]: each for each in (*named, *quartiles, *ordered)}
    return list(distinct.values())[:PER_OUTCOME]


def _example(example: Mapping[str, Any], data: Mapping[str, Any]) -> Example:
    row = f", row {example['row']}" if example["row"] is not None else ""
    readings = tuple(
        _reading(example, run, name)
        for run, name in zip(example["runs"], data["runs"], strict=True)
        if run is not None and "attention" in run["maps"]
    )
    return Example(f"Text {example['index']}{row}", readings)


def _reading(example: Mapping[str, Any], run: Mapping[str, Any], name: str) -> Reading:
    outcome = run.get("outcome", {"name": "", "badge": "", "key": [], "top": [], "sentences": []})
    return Reading(
        name,
        _note(example, run),
        outcome["badge"],
        outcome["name"] != "no_small_set",
        _tokens(run.get("items", example["items"]), run["maps"]["attention"], set(outcome["key"]), set(outcome["top"])),
        tuple(outcome["sentences"]),
    )


def _note(example: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    probability = "" if run["probability"] is None else f" {run['probability']:.2f}"
    label = f"; label {example['label']}" if example["label"] else ""
    return f"predicted {run['predicted']}{probability}{label}"


def _tokens(items: Sequence[str], drawn: Mapping[str, Any], key: set[int], top: set[int]) -> tuple[Token, ...]:
    weights = drawn["weights"]
    sizes = [abs(weight or 0) for weight in weights]
    full = max(STEPS, PALE * sum(sizes) / max(1, len(sizes)))
    return tuple(
        Token(
            text=item,
            weight=round(size / full, 3),
            value="undefined" if weight is None else f"{weight / STEPS * drawn['max']:.2g}",
            is_key=place in key,
            is_top=place in top,
        )
        for place, (item, weight, size) in enumerate(zip(items, weights, sizes, strict=True))
    )
