"""A few texts that show what the verdict means: a typical one, one where attention does well, one where it misleads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from heedful.report.audit_files import AuditFiles
from heedful.report.heatmap import MAPS, STEPS
from heedful.report.names import printable
from heedful.verdict.ranking_names import ranking_title

MOST_ITEMS = 60
"""Longer texts are chosen only where there are no others."""
PALE = 3.0
"""Full colour is the largest weight, but so many times the average at least: attention spread evenly stays pale."""
BY_ATTENTION, SMALLEST = "fraction_attention", "fraction_minimal"


@dataclass(frozen=True)
class Token:
    """A word (or sentence) with its colour: how strong, and whether it speaks against the decision."""

    text: str
    weight: float
    value: str
    against: bool
    flips: bool


@dataclass(frozen=True)
class Map:
    """One row of weights over a text."""

    name: str
    note: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class Reading:
    """A text as one model reads it."""

    name: str
    note: str
    maps: tuple[Map, ...]


@dataclass(frozen=True)
class Case:
    """A text, why it was chosen, and what each model makes of it."""

    title: str
    readings: tuple[Reading, ...]


def chosen_cases(audits: Sequence[AuditFiles], data: Mapping[str, Any]) -> list[Case]:
    """Up to three texts, chosen by the first audit.

    Attention does well where, erased in its order, few more words are needed than the smallest set that changes the
    decision has; it misleads where many more are.

    Args:
        data: what `heatmap.example_data` makes of the audits.
    """
    examples = {example["index"]: example for example in data["examples"]}
    ranked = _ranked(audits[0], examples)
    if len(ranked) < 3:
        numbers = dict(zip(("An example", "Another", "A third"), list(examples)[:3], strict=False))
    else:
        numbers = {
            "A typical text": ranked[len(ranked) // 2],
            "A text on which attention does well": ranked[0],
            "A text on which attention misleads": ranked[-1],
        }
    maps = [_maps_of(audit) for audit in audits]
    return [
        Case(_title(title, examples[number]), _readings(examples[number], data, maps))
        for title, number in numbers.items()
    ]


def _title(title: str, example: Mapping[str, Any]) -> str:
    row = f", row {example['row']}" if example["row"] is not None else ""
    return f"{title} (text {example['index']}{row})"


def _maps_of(audit: AuditFiles) -> list[str]:
    """Attention, the ranking that the audit looked at beside it, and the most different attention."""
    advice = audit.verdict.advice
    ranking = [advice.ranking] if advice and advice.ranking and advice.ranking != "attention" else []
    return ["attention", *ranking, "adversarial_attention"]


def _ranked(audit: AuditFiles, examples: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """The shown texts by how much more must be erased in the order of attention than at best, the least first."""
    measured = audit.rows.filter(
        (pl.col("test") == "erase_until_flip")
        & pl.col("item").is_null()
        & (pl.col("run") == audit.verdict.run)
        & pl.col("measure").is_in([BY_ATTENTION, SMALLEST])
        & pl.col("example").is_in(list(examples))
    )
    if measured.is_empty():
        return []
    wide = measured.pivot("measure", index="example", values="value")
    excess = pl.col(BY_ATTENTION) - pl.col(SMALLEST)
    ranked = wide.filter(excess.is_finite()).sort(excess, "example")["example"].to_list()
    short = [number for number in ranked if len(examples[number]["items"]) <= MOST_ITEMS]
    return short if len(short) >= 3 else ranked


def _readings(
    example: Mapping[str, Any], data: Mapping[str, Any], maps: Sequence[Sequence[str]]
) -> tuple[Reading, ...]:
    return tuple(
        _reading(example, run, name, shown)
        for run, name, shown in zip(example["runs"], data["runs"], maps, strict=True)
        if run is not None
    )


def _reading(example: Mapping[str, Any], run: Mapping[str, Any], name: str, shown: Sequence[str]) -> Reading:
    probability = "" if run["probability"] is None else f" with probability {run['probability']:.2f}"
    right = "right" if run["right"] else "wrong"
    items, flips = run.get("items", example["items"]), set(run.get("flip", ()))
    smallest = ""
    if flips:
        smallest = f" Erasing {len(flips)} of {len(items)} changes the decision."
    maps = tuple(
        Map(MAPS.get(key, printable(ranking_title(key))), _note(key, run), _tokens(items, run["maps"][key], flips))
        for key in shown
        if key in run["maps"]
    )
    note = f"answers {run['predicted']}{probability}; labelled {example['label']}, so {right}.{smallest}"
    return Reading(name, note if name else note.capitalize(), maps)


def _note(key: str, run: Mapping[str, Any]) -> str:
    if key != "adversarial_attention" or run["adversary"] is None:
        return ""
    return f"answers {run['predicted']} with {run['adversary']:.2f}"


def _tokens(items: Sequence[str], drawn: Mapping[str, Any], flips: set[int]) -> tuple[Token, ...]:
    weights = drawn["weights"]
    sizes = [abs(weight or 0) for weight in weights]
    full = max(STEPS, PALE * sum(sizes) / max(1, len(sizes)))
    return tuple(
        Token(
            text=item,
            weight=round(size / full, 3),
            value="undefined" if weight is None else f"{weight / STEPS * drawn['max']:.2g}",
            against=bool(weight and weight < 0),
            flips=place in flips,
        )
        for place, (item, weight, size) in enumerate(zip(items, weights, sizes, strict=True))
    )
