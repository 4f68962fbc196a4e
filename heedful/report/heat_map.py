"""Example texts as heat maps: what the page needs to draw them, small enough to be carried inside it."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from heedful.report.audits import AuditFiles, printable
from heedful.schema import TextOutcome
from heedful.verdict.outcome_text import BADGES, outcome_sentences

MAPS = {
    "attention": "Attention",
    "adversarial_attention": "Same prediction, other attention",
    "attention_x_gradient": "Attention x gradient",
    "gradient_x_input": "Gradient x input",
    "weight_gradient": "Weight gradient",
    "leave_one_out": "Leaving the word out",
    "noisy_attention": "Noise on a word",
    "replaced_attention": "A similar word",
    "seed_attention": "Another seed",
}
"""The rows of a heat map by the name of their measure; the first two are shown from the start."""
PRODUCT = ("attention", "weight_gradient")
"""Measures whose product is a map of its own."""
SETS = {"minimal_set": "flip", "rationale": "rationale", "noisy": "noisy"}
MOST_EXAMPLES = 200
MOST_CHARACTERS = 1_500_000
STEPS = 1000
"""A weight is carried as so many parts of the largest one in its text."""

UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def example_data(audits: Sequence[AuditFiles], names: Sequence[str]) -> dict[str, Any]:
    """The texts that have item rows, with each run's weights, as plain data; evenly thinned if there are too many."""
    titles = map_titles(audits)
    maps = [_maps(audit, titles) for audit in audits]
    texts = [_texts(audit) for audit in audits]
    known = sorted({example for by_example in maps for example in by_example})
    examples = [_example(number, maps, texts, titles) for number in _evenly(known, MOST_EXAMPLES)]
    length = sum(len(json.dumps(example, ensure_ascii=False)) for example in examples)
    if length > MOST_CHARACTERS:
        examples = _evenly(examples, max(1, len(examples) * MOST_CHARACTERS // length))
    drawn = {key for example in examples for run in example["runs"] if run for key in run["maps"]}
    return {
        "runs": list(names),
        "maps": [{"key": key, "name": name} for key, name in titles.items() if key in drawn],
        "steps": STEPS,
        "examples": examples,
        "known": len(known),
    }


def embedded_json(data: Any) -> Markup:
    r"""The data as JSON that can stand inside a script element: nothing in it can end the element or begin markup.

    >>> embedded_json({"text": "</script><b>"})
    Markup('{"text":"\\u003c/script\\u003e\\u003cb\\u003e"}')
    """
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(written.translate(UNSAFE))


def map_titles(audits: Sequence[AuditFiles]) -> dict[str, str]:
    """The rows of a heat map: those of every audit, and rankings that somebody asked for or gave."""
    others = {ranking.name: ranking.title for audit in audits for ranking in audit.verdict.rankings}
    named = {name: printable(title or name) for name, title in others.items() if name not in (*MAPS, *SETS)}
    return {**MAPS, **named}


def _maps(audit: AuditFiles, titles: Mapping[str, str]) -> dict[int, dict[str, list[float]]]:
    """The item-level values of each example by measure, in the order of the items."""
    maps: dict[int, dict[str, list[float]]] = {}
    known = [*titles, *SETS, *PRODUCT]
    wanted = audit.rows.filter(pl.col("item").is_not_null() & pl.col("measure").is_in(known))
    grouped = wanted.sort("example", "measure", "item").group_by("example", "measure", maintain_order=True)
    for example, measure, items, values in grouped.agg("item", "value").iter_rows():
        row = dict(zip(items, values, strict=True))
        maps.setdefault(example, {})[measure] = [row.get(place, math.nan) for place in range(max(row) + 1)]
    for own in maps.values():
        if "attention_x_gradient" not in own and own.keys() >= set(PRODUCT):
            factors = zip(*(own[name] for name in PRODUCT), strict=True)
            own["attention_x_gradient"] = [weight * gradient for weight, gradient in factors]
    return maps


def _texts(audit: AuditFiles) -> dict[int, dict[str, Any]]:
    outcomes, item = text_outcomes(audit), audit.verdict.item
    return {
        row["example"]: row | _said(outcomes.get(row["example"]), row["items"], item)
        for row in audit.examples.iter_rows(named=True)
    }


def text_outcomes(audit: AuditFiles, *, shown: bool = True) -> dict[int, TextOutcome]:
    """The outcome of attention for each audited text of the run whose texts are shown, if words are deleted.

    Args:
        shown: only of the texts that are shown word by word.
    """
    own = audit.outcomes.filter(ranking="attention", removal="delete", split=audit.verdict.split)
    key = ["run", "example"] if shown else ["run"]
    known = own.join(audit.examples.select(key).unique(), on=key, how="semi")
    return {row["example"]: TextOutcome.model_validate(row) for row in known.iter_rows(named=True)}


def _said(outcome: TextOutcome | None, items: Sequence[str], item: str) -> dict[str, Any]:
    """What is marked in a text and said about it; empty if it was not judged."""
    if outcome is None:
        return {}
    sentences = outcome_sentences(outcome, items, item)
    marked = {"key": outcome.key_words, "top": outcome.top_words, "sentences": sentences}
    return {"outcome": {"name": outcome.outcome or "", "badge": BADGES[outcome.outcome], **marked}}


def _example(number: int, maps: Sequence[dict], texts: Sequence[dict], titles: Mapping[str, str]) -> dict[str, Any]:
    first = next(by_example[number] for by_example in texts if number in by_example)
    runs = [
        _run(own_texts[number], own_maps[number], first, titles) if number in own_maps else None
        for own_texts, own_maps in zip(texts, maps, strict=True)
    ]
    return {
        "index": number,
        "row": first["row"],
        "id": first["id"],
        "text": first["text"] or " ".join(first["items"]),
        "query": first["query"] or "",
        "label": first["label"],
        "items": first["items"],
        "runs": runs,
    }


def _run(
    text: dict[str, Any], values: dict[str, list[float]], first: dict[str, Any], titles: Mapping[str, str]
) -> dict[str, Any]:
    data = {
        "predicted": text["predicted"],
        "right": text["predicted"] == text["label"] if text["label"] else None,
        "probability": _rounded(text["probability"]),
        "adversary": _rounded(text["adversarial_probability"]),
        "maps": {key: _scaled(values[key]) for key in titles if key in values and _peak(values[key]) > 0},
    }
    data |= {
        name: [at for at, value in enumerate(values[key]) if value == 1] for key, name in SETS.items() if key in values
    }
    if "outcome" in text:
        data["outcome"] = text["outcome"]
    if text["replaced"] and len(text["replaced"]) == len(text["items"]):
        places = enumerate(zip(text["items"], text["replaced"], strict=True))
        data["replaced"] = {at: new for at, (old, new) in places if old != new}
    # A sentence model has other items than a word model on the same text.
    return data if text["items"] == first["items"] else {**data, "items": text["items"]}


def _peak(values: Sequence[float]) -> float:
    return max((abs(value) for value in values if math.isfinite(value)), default=0.0)


def _scaled(values: Sequence[float]) -> dict[str, Any]:
    """Each value as parts of the largest; null where undefined."""
    peak = _peak(values)
    return {
        "max": float(f"{peak:.3g}"),
        "weights": [round(value / peak * STEPS) if math.isfinite(value) else None for value in values],
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else round(number, 3)


def _evenly(things: Sequence[Any], most: int) -> list[Any]:
    """At most so many, evenly spaced, the first and last among them.

    >>> _evenly([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(things) <= most:
        return list(things)
    if most == 1:
        return [things[0]]
    return [things[round(place * (len(things) - 1) / (most - 1))] for place in range(most)]


# Example texts of each outcome: attention as a heat map, the key words outlined, and what is said about the text.

PER_OUTCOME = 3
"""Texts of each outcome."""
MOST_ITEMS = 60
"""Longer texts are chosen only if there are no others."""
PALE = 3.0
"""Full color is the largest weight, but so many times the average at least: attention spread evenly stays pale."""
OUTCOMES = ("points", "misses", "no_small_set")


@dataclass(frozen=True)
class Token:
    """A word (or sentence), how strong its color is, and whether it is a key word or a top word."""

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
            groups.append(Group(title, tuple(_chosen_example(each, data) for each in chosen)))
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


def _chosen_example(example: Mapping[str, Any], data: Mapping[str, Any]) -> Example:
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
