"""Texts of an audit that its report shows: all as data for the page's script, and a few of each outcome."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from heedful.report.audits import AuditFiles, printable
from heedful.report.heat_map import HeatMap
from heedful.schema import TextOutcome
from heedful.schema.rankings import ranking_title
from heedful.verdict.answer_text import BADGES, example_lines, outcome_sentences

GRADIENTS = ("attention_x_gradient", "gradient_x_input", "weight_gradient")
MAPS = {
    "attention": "Attention",
    "adversarial_attention": "Adversarial attention",
    **{name: ranking_title(name).capitalize() for name in GRADIENTS},
    "leave_one_out": "Leaving the word out",
    "noisy_attention": "Noise on a word",
    "replaced_attention": "A similar word",
    "seed_attention": "Another seed",
}
"""Titles of heat maps by measure; the first two are shown from the start."""
PRODUCT = ("attention", "weight_gradient")
"""Measures whose product has a separate heat map."""
SETS = {"minimal_set": "flip", "rationale": "rationale", "noisy": "noisy"}
MOST_EXAMPLES = 200
MOST_CHARACTERS = 1_500_000
STEPS = 1000
"""The page has each weight in parts of the largest one in its text."""

UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def example_data(audits: Sequence[AuditFiles], names: Sequence[str]) -> dict[str, Any]:
    """The texts that have item rows, with each run's weights, as plain data; evenly thinned if there are too many."""
    titles = _titles(audits)
    runs = [_readings(audit, titles) for audit in audits]
    texts = {row["example"]: row for audit in reversed(audits) for row in audit.examples.iter_rows(named=True)}
    known = sorted({number for run in runs for number in run})
    examples = [_example(texts[number], [run.get(number) for run in runs]) for number in _evenly(known, MOST_EXAMPLES)]
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


def _titles(audits: Sequence[AuditFiles]) -> dict[str, str]:
    """Titles of heat maps by measure: those of every audit, and rankings that were asked for or given."""
    others = {ranking.name: ranking.title for audit in audits for ranking in audit.verdict.rankings}
    named = {name: printable(title or name) for name, title in others.items() if name not in (*MAPS, *SETS)}
    return {**MAPS, **named}


def _readings(audit: AuditFiles, titles: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """The prediction, outcome, weights and marks of each example that has item rows."""
    outcomes, weights = text_outcomes(audit), _weights(audit, [*titles, *SETS, *PRODUCT])
    readings = {}
    for row in audit.examples.iter_rows(named=True):
        if (own := weights.get(row["example"])) is None:
            continue
        reading = {
            "predicted": row["predicted"],
            "right": row["predicted"] == row["label"] if row["label"] else None,
            "probability": _rounded(row["probability"]),
            "adversary": _rounded(row["adversarial_probability"]),
            "maps": {key: scaled for key in titles if key in own and (scaled := _scaled(own[key]))},
            "items": row["items"],
        }
        reading |= {
            name: [place for place, value in enumerate(own[key]) if value == 1]
            for key, name in SETS.items()
            if key in own
        }
        if (outcome := outcomes.get(row["example"])) is not None:
            reading["outcome"] = {
                "name": outcome.outcome or "",
                "badge": BADGES[outcome.outcome],
                "key": outcome.key_words,
                "top": outcome.top_words,
                "sentences": outcome_sentences(outcome, row["items"], audit.verdict.item),
            }
        if row["replaced"] and len(row["replaced"]) == len(row["items"]):
            pairs = enumerate(zip(row["items"], row["replaced"], strict=True))
            reading["replaced"] = {place: new for place, (old, new) in pairs if old != new}
        readings[row["example"]] = reading
    return readings


def _weights(audit: AuditFiles, measures: Sequence[str]) -> dict[int, dict[str, list[float]]]:
    """The item-level values of each example by measure, in the order of the items."""
    weights: dict[int, dict[str, list[float]]] = {}
    wanted = audit.rows.filter(pl.col("item").is_not_null() & pl.col("measure").is_in(measures))
    grouped = wanted.sort("example", "measure", "item").group_by("example", "measure", maintain_order=True)
    for example, measure, items, values in grouped.agg("item", "value").iter_rows():
        row = dict(zip(items, values, strict=True))
        weights.setdefault(example, {})[measure] = [row.get(place, math.nan) for place in range(max(row) + 1)]
    for own in weights.values():
        if "attention_x_gradient" not in own and own.keys() >= set(PRODUCT):
            factors = zip(*(own[name] for name in PRODUCT), strict=True)
            own["attention_x_gradient"] = [weight * gradient for weight, gradient in factors]
    return weights


def text_outcomes(audit: AuditFiles, *, shown: bool = True) -> dict[int, TextOutcome]:
    """The outcome of attention for each audited text of the run whose texts are shown, if words are deleted.

    Args:
        shown: only of the texts whose words are shown.
    """
    own = audit.outcomes.filter(ranking="attention", removal="delete", split=audit.verdict.split)
    key = ["run", "example"] if shown else ["run"]
    known = own.join(audit.examples.select(key).unique(), on=key, how="semi")
    return {row["example"]: TextOutcome.model_validate(row) for row in known.iter_rows(named=True)}


def _example(text: Mapping[str, Any], readings: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    for reading in readings:
        # The items of a sentence model differ from those of a word model.
        if reading is not None and reading["items"] == text["items"]:
            del reading["items"]
    return {
        "index": text["example"],
        "row": text["row"],
        "id": text["id"],
        "text": text["text"] or " ".join(text["items"]),
        "query": text["query"] or "",
        "label": text["label"],
        "items": text["items"],
        "runs": list(readings),
    }


def _scaled(values: Sequence[float]) -> dict[str, Any] | None:
    """Each value as parts of the largest, null if undefined; None if there is no weight at all."""
    peak = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if peak == 0:
        return None
    return {
        "max": float(f"{peak:.3g}"),
        "weights": [round(value / peak * STEPS) if math.isfinite(value) else None for value in values],
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else round(number, 3)


def _evenly(things: Sequence[Any], most: int) -> list[Any]:
    """At most a number of things, evenly spaced, including the first and the last.

    >>> _evenly([0, 1, 2, 3, 4, 5, 6], 3)
    [0, 3, 6]
    """
    if len(things) <= most:
        return list(things)
    return [things[round(place * (len(things) - 1) / max(1, most - 1))] for place in range(most)]


# A few texts of each outcome: attention as a heat map, the key words outlined, and what is said about the text.

PER_OUTCOME = 2
"""Texts of each outcome; a single one if there are several models."""
MOST_ITEMS = 60
"""Longer texts are chosen only if there are no others."""
MOVED = "moved"
KINDS = {**BADGES, MOVED: "misses by moved information"}


@dataclass(frozen=True)
class ChosenText:
    """A text read by one model: attention and outcome.

    Args:
        kind: name of the color and shape of the badge.
        sentences: all that is said about the outcome; `lines` has what a page does not show by marks.
    """

    model: str
    heat_map: HeatMap
    kind: str
    badge: str
    sentences: Sequence[str]
    lines: Sequence[str]

    @property
    def is_long(self) -> bool:
        """Whether a page shows a part at a time."""
        return len(self.heat_map.words) > MOST_ITEMS


def chosen_texts(audits: Sequence[AuditFiles], data: Mapping[str, Any]) -> dict[str, list[ChosenText]]:
    """A few texts of each outcome that attention has in the first audit, by a title that counts the outcome.

    Args:
        data: what `example_data` returns for the audits.
    """
    every = list(text_outcomes(audits[0], shown=False).values())
    outcomes = [text_outcomes(audit) for audit in audits]
    name = f" ({data['runs'][0]})" if len(audits) > 1 else ""
    answer = audits[0].verdict.answer
    first = answer.example.example if answer and answer.example else None
    chosen = {}
    for kind in ("points", "misses", MOVED, "no_small_set"):
        known = {number for number, outcome in outcomes[0].items() if _is_of(kind, outcome)}
        count = sum(_is_of(kind, outcome) for outcome in every)
        others = known - {number for number in known if kind == "misses" and outcomes[0][number].is_moved}
        own = [example for example in data["examples"] if example["index"] in (others or known) and example["runs"][0]]
        texts = [
            _chosen_text(example, run, model, data["steps"], own_outcomes.get(example["index"]), audit.verdict.item)
            for example in _chosen(own, first)[: PER_OUTCOME if len(audits) == 1 else 1]
            for run, model, own_outcomes, audit in zip(example["runs"], data["runs"], outcomes, audits, strict=True)
            if run is not None and "attention" in run["maps"]
        ]
        if texts:
            chosen[f"{KINDS[kind].capitalize()}{name}: {count:,} of {len(every):,} texts"] = texts
    return chosen


def _is_of(kind: str, outcome: TextOutcome) -> bool:
    if kind == MOVED:
        return outcome.outcome == "misses" and bool(outcome.is_moved)
    return outcome.outcome == kind


def _chosen(own: Sequence[Mapping[str, Any]], first: int | None) -> list[Mapping[str, Any]]:
    """Texts of about the median, lower and upper quartile of length; the audit's own example before these."""
    short = [each for each in own if len(each["items"]) <= MOST_ITEMS] or own
    ordered = sorted(short, key=lambda each: (len(each["items"]), each["index"]))
    quartiles = [ordered[place * (len(ordered) - 1) // 4] for place in (2, 1, 3)] if ordered else []
    named = [each for each in own if each["index"] == first]
    return list({each["index"]: each for each in (*named, *quartiles, *ordered)}.values())


def _chosen_text(
    example: Mapping[str, Any], run: Mapping[str, Any], model: str, steps: int, outcome: TextOutcome | None, item: str
) -> ChosenText:
    attention, words = run["maps"]["attention"], run.get("items", example["items"])
    key = frozenset(outcome.key_words if outcome else ())
    row = f", row {example['row']}" if example["row"] is not None else ""
    probability = "" if run["probability"] is None else f" {run['probability']:.2f}"
    label = f"; label {example['label']}" if example["label"] else ""
    heat_map = HeatMap(
        title=f"Text {example['index']}{row}",
        note=f"predicted {run['predicted']}{probability}{label}",
        words=words,
        weights=[None if part is None else part / steps * attention["max"] for part in attention["weights"]],
        marks={
            "key": key,
            "loose": key if outcome and outcome.outcome == "no_small_set" else frozenset(),
            "top": frozenset(outcome.top_words if outcome else ()),
        },
    )
    if outcome is None:
        return ChosenText(model, heat_map, "none", "", (), ())
    sentences, lines = outcome_sentences(outcome, words, item), example_lines(outcome, words, item)
    return ChosenText(model, heat_map, outcome.outcome or "none", BADGES[outcome.outcome], sentences, lines)
