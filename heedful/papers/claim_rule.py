"""From columns of rows to the numbers of tables, and the rule by which claims are judged."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import nan, sqrt

import polars as pl
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.question import Values
from heedful.formatting import format_estimate, format_number
from heedful.measures import Estimate, bounded_interval, difference_interval, kendall_tau
from heedful.measures.mean_moments import t_quantile
from heedful.measures.set_effects import Effect, effect_of, mean_of_sets, moderated
from heedful.papers.published import published
from heedful.papers.reproduction import (
    Cell,
    Claim,
    Entry,
    JudgedClaim,
    Outcome,
    Results,
    SetEffect,
    Study,
    Word,
    study_file,
)
from heedful.verdict.audit_answer import beats_constant_prediction

Where = Bool[Tensor, "seed text"]
Shaped = Float[Tensor, "..."]
"""[seed text], where two of them may differ in the number of seeds or texts."""

LEVEL, INNER = 0.95, 0.9
"""Intervals by which an effect holds, and by which it is too small to matter."""
AUROC = (0.0, 1.0)
"""Its range: the values whose mean it is lie outside, too."""
CORRECT = "prediction.correct"
JUDGED_BY = (CORRECT, "prediction.label")
CLASS = r" class \d+$"
"""What measures in `published.csv` end with if a number is of a predicted class."""
SCALES = {"": pl.col("value"), "log10": pl.col("value").log10(), "odds": pl.col("value") / (1 + pl.col("value"))}
"""From a printed number to the scale of the claim: a ratio of counts is the odds of a share."""


def cell_has_learnt(cell: Cell) -> bool:
    """Whether the models of the cell significantly beat a constant prediction; True if they were not audited."""
    return any(column not in cell.columns for column in JUDGED_BY) or beats_constant_prediction(cell.columns)


# Claims as `claims.toml` states them, and what the paper prints of them.


@cache
def claims_of(folder: str) -> dict[str, Claim]:
    """The claims of a paper, by id, as its `claims.toml` states them.

    `[common]` has fields that claims share, `[reasons]` the reason for a margin by its unit (whole, or up to " of ").
    """
    content = study_file(folder, "claims.toml")
    claims = {}
    for stated in content["claim"]:
        fields = {**content["common"], **stated}
        reasons = content["reasons"]
        fields.setdefault(
            "margin_reason", reasons.get(fields["unit"], reasons.get(fields["unit"].split(" of ")[0], ""))
        )
        claims[fields["id"]] = Claim(**{**fields, "sets": tuple(fields["sets"])})
    return claims


def margins_hash(claim: Claim) -> str:
    """Hash of what a claim is judged by: a stored result has it, so that a changed margin shows."""
    names = ("id", "kind", "measure", "of", "minus", "learnt", "margin", "baseline", "sets", "excepts")
    content = json.dumps({name: getattr(claim, name) for name in names}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def paper_effects(claim: Claim, folder: str) -> dict[str, float]:
    """The paper's own effect for each of its datasets, in the claimed direction; empty if it prints none."""
    where = claim.paper
    if "of" not in where:
        return {}
    own = _printed(folder, where, where.get("model", ""), where["of"])
    if "minus" in where:
        other = _printed(folder, where, where.get("minus_model", where.get("model", "")), where["minus"])
        own = {data: own[data] - other[data] for data in own if data in other}
    if "from" in where:
        own = {data: float(where["from"]) - value for data, value in own.items()}
    if "less" in where:
        own = {data: value - float(where["less"]) for data, value in own.items()}
    if "below" in where:
        least = min(own[data] for data in where["below"].split())
        own = {data: least - own[data] for data in where["only"].split()}
    if "trend" in where:
        ordered = [-own[data] for data in where["trend"].split()]
        tau, _ = kendall_tau(torch.arange(len(ordered)), torch.tensor(ordered, dtype=torch.float64))
        own = {claim.sets[0]: tau.item()}
    return own


def _printed(folder: str, where: Mapping[str, str], models: str, measures: str) -> dict[str, float]:
    """What the paper prints for each dataset: the mean over models and predicted classes, the sum of measures.

    Args:
        models: joined by ` or `; of several joined by ` | ` the smallest number counts.
        measures: joined by ` + `.
    """
    rows = published(folder).filter(item=where["item"]).with_columns(pl.col("measure").str.replace(CLASS, ""))
    numbers = (
        rows.filter(pl.col("measure").is_in(measures.split(" + ")))
        .group_by("data", "model", "measure", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by("data", "model", maintain_order=True)
        .agg(pl.col("value").sum())
    )
    least = [
        numbers.filter(pl.col("model").is_in(group.split(" | ")))
        .group_by("data", maintain_order=True)
        .agg(pl.col("value").min())
        for group in models.split(" or ")
    ]
    scaled = pl.concat(least).with_columns(SCALES[where.get("scale", "")])
    return dict(scaled.group_by("data", maintain_order=True).agg(pl.col("value").mean()).iter_rows())


# What the results say about a claim.


def judge_claims(study: Study, results: Results) -> list[JudgedClaim]:
    """The claims of a study, each judged by itself."""
    return [_judged_on(claim, study, results) for claim in claims_of(study.folder).values()]


def _judged_on(claim: Claim, study: Study, results: Results) -> JudgedClaim:
    values: dict[str, Values] = {}
    failed = []
    for data in claim.sets:
        pairs = list(_compared_cells(claim, results, data))
        measure = study.measures.get(claim.measure)
        own = measure(results, data) if measure else _mean_of_models(claim, pairs, study.columns)
        if own is not None:
            values[data] = own
            failed += [data] if not all(_has_learnt(claim, *pair) for pair in pairs) else []
    return judge_claim(claim, values, paper_effects(claim, study.folder), failed)


def _compared_cells(claim: Claim, results: Results, data: str) -> Iterator[tuple[Cell, Cell | None]]:
    """The cells of a dataset that the claim names, and what each is compared with."""
    for cell in _chosen(results, data, claim.of):
        if not claim.minus:
            yield cell, None
            continue
        own = {"encoder": cell.encoder, "method": cell.method, "role": cell.role}
        for other in _chosen(results, data, {**own, **claim.minus}):
            yield cell, other


def _chosen(results: Results, data: str, fields: Mapping[str, str]) -> list[Cell]:
    """The cells of a dataset with these fields, each of which may list several values, joined by ` or `."""
    wanted = {"role": "", **fields}
    return [
        cell
        for cell in results.cells
        if cell.data == data
        and all(getattr(cell, name) in value.split(" or ") for name, value in wanted.items() if name != "measure")
    ]


def _mean_of_models(
    claim: Claim, pairs: Sequence[tuple[Cell, Cell | None]], columns: Mapping[str, Callable[[Cell], Values]]
) -> Values | None:
    """The measure, averaged text by text over the models that the claim names: a dataset counts once."""
    several = []
    for cell, other in pairs:
        own = _column(cell, claim.measure, columns)
        less = None if other is None else _column(other, claim.minus.get("measure", claim.measure), columns)
        if own is not None and (other is None or less is not None):
            several.append(own if less is None else paired(own, less))
    return mean_of_models(several)


def _column(cell: Cell, name: str, columns: Mapping[str, Callable[[Cell], Values]]) -> Values | None:
    """What an audit or the study measures of the cell; None if a column that it needs is missing."""
    try:
        return columns[name](cell) if name in columns else cell.columns[name]
    except KeyError:
        return None


def mean_of_models(several: Sequence[Shaped]) -> Values | None:
    """Values of several models on the same texts, averaged text by text; None if there are none."""
    if not several:
        return None
    seeds, texts = min(map(len, several)), max(values.shape[1] for values in several)
    return torch.stack([values[:seeds] for values in several if values.shape[1] == texts]).nanmean(0)


def _has_learnt(claim: Claim, cell: Cell, other: Cell | None) -> bool:
    needed = {"of": [cell], "minus": [other], "both": [cell, other], "": []}[claim.learnt]
    return all(cell_has_learnt(each) for each in needed if each is not None)


def judge_claim(
    claim: Claim, values: Mapping[str, Values], printed: Mapping[str, float] = {}, failed: Collection[str] = ()
) -> JudgedClaim:
    """The claim, judged on [seed text] values per dataset, by the rule that docs/claims.md describes.

    Args:
        values: larger if they support the claim.
        printed: the paper's effect for each dataset of its own.
        failed: datasets whose models have not learnt their task.
    """
    known = {
        data: effect
        for data, each in values.items()
        if (effect := effect_of(each, is_share=claim.kind == "share")) is not None
    }
    effects = dict(zip(known, moderated(list(known.values())), strict=True))
    sets = tuple(_set_effect(claim, data, effect, printed.get(data), failed) for data, effect in effects.items())
    counted = [each for each in sets if each.counts]
    own = [effects[each.data] for each in counted]
    mean, new_set = mean_of_sets(own)
    word = claim_word([each.outcome for each in counted], single=_countable(claim) == 1)
    decides = _decides(claim, {each.data: effects[each.data] for each in counted if each.outcome == "open"})
    return JudgedClaim(
        claim,
        sets,
        word,
        _partial_conjunction(claim, own),
        mean,
        new_set,
        decides * (word == "open"),
        margins_hash(claim),
    )


def _countable(claim: Claim) -> int:
    return len([data for data in claim.sets if data not in claim.excepts])


def claim_word(outcomes: Sequence[Outcome], *, single: bool = False) -> Word:
    """The word on a claim, from the outcomes on the datasets that count.

    >>> claim_word(["holds", "holds", "open"]), claim_word(["holds", "opposite"]), claim_word(["open", "holds"])
    ('replicated', 'mixed', 'open')

    Args:
        single: whether the claim is about a single dataset.
    """
    holds, against = outcomes.count("holds"), outcomes.count("opposite") + outcomes.count("no relevant effect")
    if not outcomes:
        return "not tested"
    if 2 * holds > len(outcomes) and (holds >= 2 or single) and "opposite" not in outcomes:
        return "replicated"
    if holds == 0:
        return "not replicated" if 2 * against > len(outcomes) else "open"
    return "mixed" if against else "open"


def _set_effect(claim: Claim, data: str, effect: Effect, printed: float | None, failed: Collection[str]) -> SetEffect:
    estimate = Estimate(effect.mean, *effect.ends(LEVEL), effect.texts)
    low, high = effect.ends(LEVEL, further=True)
    why = ""
    if data in claim.excepts:
        why = claim.excepts[data]
    elif data in failed:
        why = "the models have not learned the task"
    elif printed is not None and _alone(claim, printed) != "holds":
        why = "the paper's own effect does not reach the margin"
    stands_for = f"stands in: {claim.stand_ins[data]}" if data in claim.stand_ins else ""
    return SetEffect(
        data=data,
        effect=estimate,
        outcome=set_outcome(claim, effect),
        paper=printed,
        counts=not why,
        why=why or stands_for,
        predicted=None if printed is None or low != low else low <= printed <= high,
    )


def set_outcome(claim: Claim, effect: Effect) -> Outcome:
    """The outcome on one dataset, from the ends of its 95% and 90% intervals."""
    (low, high), (inner_low, inner_high) = (
        tuple(end - claim.baseline for end in effect.ends(level)) for level in (LEVEL, INNER)
    )
    mean, margin = effect.mean - claim.baseline, claim.margin
    is_small = -margin < inner_low and inner_high < margin
    if claim.kind == "no_loss":
        return "holds" if low > -margin else "opposite" if high < -margin else "open"
    if claim.kind == "same":
        return "holds" if is_small else "opposite" if low > margin or high < -margin else "open"
    if is_small:
        return "no relevant effect"
    if low > 0 and mean >= margin:
        return "holds"
    return "opposite" if high < 0 and mean <= -margin else "open"


def _alone(claim: Claim, number: float) -> Outcome:
    """The outcome that a number without an interval has."""
    return set_outcome(claim, Effect(number, 2, 2, 0.0, 0.0, 1.0))


def word_on_paper(claim: Claim, folder: str) -> Word:
    """The word on the claim if the paper's own numbers were exact."""
    effects = {data: value for data, value in paper_effects(claim, folder).items() if data not in claim.excepts}
    return claim_word([_alone(claim, value) for value in effects.values()], single=len(effects) == 1)


def _partial_conjunction(claim: Claim, effects: Sequence[Effect]) -> float:
    """The p value that fewer datasets show the effect than the word needs: (n - u + 1) p_(u)."""
    if not effects:
        return nan
    p_values = sorted(_p_value(claim, effect) for effect in effects)
    needed = max(len(effects) // 2 + 1, min(2, len(effects)))
    return min(1.0, (len(effects) - needed + 1) * p_values[needed - 1])


def _p_value(claim: Claim, effect: Effect) -> float:
    if claim.kind == "no_loss":
        return effect.tail(-claim.margin)
    if claim.kind == "same":
        return max(effect.tail(-claim.margin), replace(effect, mean=-effect.mean).tail(-claim.margin))
    return effect.tail(claim.baseline)


def _decides(claim: Claim, undecided: Mapping[str, Effect]) -> str:
    """What would decide the claim, if effects stay as they are: seeds, texts, or further datasets."""
    if not undecided:
        return "another dataset"
    clauses = []
    for data, effect in undecided.items():
        enough = effect.enough(*_needed_half(claim, effect.mean - claim.baseline))
        if effect.seeds < 2:
            clauses.append(f"{data}: a second seed")
        elif enough is None:
            clauses.append(f"{data}: nothing feasible, the effect is too close to the margin")
        else:
            texts = f" and {enough[1]} times the texts" if enough[1] > 1 else ""
            clauses.append(f"{data}: {enough[0]} seeds (now {effect.seeds}){texts}")
    return "; ".join(clauses)


def _needed_half(claim: Claim, distance: float) -> tuple[float, float]:
    """How far the interval may reach for the set to be decided, and of which interval."""
    inside = claim.margin - abs(distance)
    if claim.kind == "no_loss":
        return abs(distance + claim.margin), LEVEL
    if inside > 0:
        return inside, INNER
    return (abs(distance) if claim.kind != "same" else -inside), LEVEL


# Numbers of tables.


def estimate(values: Values, *, is_difference: bool = False, within: tuple[float, float] | None = None) -> Estimate:
    """The mean over texts and seeds, and its interval, which stays within the measure's range.

    Args:
        is_difference: differences are never mistaken for shares, even if all of them are 0 or 1.
        within: the range; None: the one that the values show.
    """
    if is_difference:
        return difference_interval(values, torch.zeros_like(values))
    return bounded_interval(values, within=within)


def score_estimate(cell: Cell, metric: str) -> Estimate | None:
    """The mean of a test score over seeds, and its interval; None if there is no such score.

    Accuracy is a mean over texts: if predictions were audited, it is that of the audited texts, and its interval is
    over texts and seeds. Other scores have Student's t interval over seeds, cut at 0 and 1; NaN for a single seed.
    """
    if metric == "accuracy" and CORRECT in cell.columns:
        return estimate(cell.columns[CORRECT])
    scores = [run.scores["test"].get(metric) for run in cell.runs]
    known = torch.tensor([score for score in scores if score is not None], dtype=torch.float64)
    count = len(known)
    if count == 0:
        return None
    mean = known.mean().item()
    if count == 1:
        return Estimate(mean, nan, nan, 1)
    half = t_quantile((1 - LEVEL) / 2, count - 1.0) * known.std().item() / sqrt(count)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), count)


def entry(values: Values | None, paper: float | None = None, *, is_difference: bool = False) -> Entry:
    """An entry of a table: our estimate, if there are rows, and the paper's number."""
    return Entry(None if values is None else estimate(values, is_difference=is_difference), paper)


def paired(first: Shaped, second: Shaped) -> Shaped:
    """The difference first - second, text by text, of two models on the same texts, for as many seeds as both have."""
    seeds = min(len(first), len(second))
    return first[:seeds] - second[:seeds]


def only_where(values: Values, condition: Where) -> Values:
    """The values of the texts that meet the condition; NaN elsewhere."""
    return values.masked_fill(~condition, nan)


# Judged claims in words.

HOW = (
    "A claim is judged dataset by dataset, on the paper's own datasets or stand-ins. An effect *holds* on a dataset if "
    "its 95% interval lies above 0 and its mean reaches the margin, the smallest effect that matters, which is fixed "
    "beforehand. It is *opposite* if the same is true in the other direction. There is *no relevant effect* if its 90% "
    "interval lies within the margin. Else it is *open*. A claim is *replicated* if it holds on most datasets (two or "
    "more, if there are several) and is opposite on none; *not replicated* if it holds on none and most datasets are "
    "opposite or show no relevant effect; *mixed* if it holds on some and fails on others; else *open*. Datasets that "
    "the paper excepts, or on which its own effect is below the margin, are shown and do not count. Intervals are over "
    "seeds and texts."
)
DECIMALS = 3
ORIGINS = {"quote": "Claims in the paper's words", "reading": "Our readings of the paper", "own": "Our own findings"}
"""Three lists that are never added up."""


def summary_sentence(judged: Sequence[JudgedClaim]) -> str:
    """How many claims in the paper's own words are replicated, in a sentence.

    >>> summary_sentence([])
    'No quoted claims.'
    """
    words = Counter(each.word for each in judged if each.claim.origin == "quote")
    if not words:
        return "No quoted claims."
    others = ", ".join(f"{count} {word}" for word, count in sorted(words.items()) if word != "replicated")
    replicated = f"{words['replicated']} of {sum(words.values())} quoted claims replicated"
    return f"{replicated}; {others}." if others else f"{replicated}."


def sets_text(judged: JudgedClaim) -> str:
    """On how many of the datasets that count the claim holds, and what the others show."""
    outcomes = Counter(each.outcome for each in judged.sets if each.counts)
    if not outcomes:
        return "no dataset"
    others = [f"{outcomes[name]} {name}" for name in ("opposite", "no relevant effect", "open") if outcomes[name]]
    count = sum(outcomes.values())
    held = f"on {outcomes['holds']} of {count} dataset{'s' if count > 1 else ''}"
    return f"{held} ({', '.join(others)})" if others else held


def effect_text(claim: Claim, number: Estimate | float | None) -> str:
    """An effect as readers see it: shares in percent, accuracy in percentage points."""
    percent = claim.unit == "accuracy" or claim.unit.startswith(("share", "fraction"))
    if isinstance(number, Estimate):
        text = format_estimate(number.value, number.low, number.high, decimals=DECIMALS, percent=percent)
    else:
        text = format_number(number, decimals=DECIMALS, percent=percent)
    return text.replace("%", "") if claim.unit == "accuracy" else text
