"""From columns of rows to the numbers of tables, and the rule by which claims are judged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isnan, nan, sqrt
from pathlib import Path
from typing import get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.question import Values
from heedful.formatting import format_estimate, format_number
from heedful.measures import Estimate, mean_interval, pooled_interval, pooled_p_value
from heedful.measures.mean_moments import t_quantile
from heedful.papers.reproduction import Cell, OldClaim, Entry, Verdict, study_file
from heedful.verdict.audit_answer import beats_constant_prediction

Where = Bool[Tensor, "seed text"]
Shaped = Float[Tensor, "..."]
"""[seed text], where two of them may differ in the number of seeds or texts."""

ERROR = 0.05
"""The chance of a wrong verdict where the true number lies at a bound."""
FEWEST_TRAININGS = 5
"""Trained models behind a claim, below which it is not tested: fewer say too little about training."""
CORRECT = "prediction.correct"
JUDGED_BY = (CORRECT, "prediction.label")


@dataclass(frozen=True)
class Part:
    """What one data set (or model) says about a claim.

    Args:
        values: [seed text], larger where they support the claim.
        beats_constant: whether its models have learnt their task; if not, the part is left out.
        trainings: how many trained models are behind the values; None: one per seed.
    """

    values: Shaped
    beats_constant: bool = True
    trainings: int | None = None

    @property
    def count(self) -> int:
        """How many trained models are behind it; seeds without a value do not count."""
        return int((~self.values.isnan()).any(-1).sum()) if self.trainings is None else self.trainings


def part_of(values: Shaped, *cells: Cell) -> Part:
    """The values as a part that is left out where a model of these cells has not learnt its task."""
    return Part(values, beats_constant=all(map(cell_has_learnt, cells)))


def cell_has_learnt(cell: Cell) -> bool:
    """Whether the models of the cell surely beat a constant answer; True where their predictions were not audited."""
    return any(column not in cell.columns for column in JUDGED_BY) or beats_constant_prediction(cell.columns)


def test_claim(claim: OldClaim, parts: Mapping[str, Part]) -> OldClaim:
    """The claim, tested by itself on these parts.

    Parts are a sample of all data sets, so the interval of their mean is Student's t on the means of the parts; where
    there is only one, seeds and texts are the sample (`measures.pooled_interval`). Confirmed or contradicted: the 95 %
    interval lies wholly beyond a bound of the claim. Not tested: fewer than FEWEST_TRAININGS trained models.
    """
    beats_constant = {name: part for name, part in parts.items() if part.beats_constant}
    estimates = {name: estimate(part.values) for name, part in beats_constant.items()}
    known = {name: part for name, part in estimates.items() if part.n > 0}
    counted = {name: beats_constant[name] for name in known if name not in claim.excepts}
    values = [part.values for part in counted.values()]
    tested = replace(
        claim,
        parts=known,
        pooled=pooled_interval(values),
        trainings=sum(part.count for part in counted.values()),
        left_out=tuple(name for name in parts if name not in beats_constant),
    )
    if tested.trainings < FEWEST_TRAININGS or isnan(tested.pooled.low):
        return tested
    bound = _bound(tested)
    verdict = verdict_alone(tested)
    return replace(
        tested,
        exceptions=tuple(name for name in counted if bound is not None and _disagrees(tested, known[name], bound)),
        p=1.0 if bound is None else pooled_p_value(values, bound),
        unadjusted=verdict,
        verdict=verdict,
    )


@cache
def claims_of(paper: str) -> dict[str, OldClaim]:
    """The claims of a paper before their test, by id, as its `claims.toml` states them."""
    return {
        name: OldClaim(**{"id": name, "quote": "", **fields, "excepts": tuple(fields.get("excepts", ()))})
        for name, fields in study_file(paper, "claims.toml").items()
    }


def judge_claims(paper: str, parts: Mapping[str, Mapping[str, Part]]) -> list[OldClaim]:
    """The claims of a paper, each tested by itself on its parts, which are given by the claim's id."""
    return [test_claim(claim, parts[name]) for name, claim in claims_of(paper).items()]


def decide(claims: Sequence[OldClaim]) -> list[OldClaim]:
    """The tested claims of one paper, with verdicts that allow for their number.

    Holm (1979, A simple sequentially rejective multiple test procedure): the smallest p value counts times the number
    of tested claims, the next times one less, and so on; a claim whose product, or an earlier one, exceeds ERROR is not
    confirmed.
    """
    tested = sorted((claim for claim in claims if claim.unadjusted != "not tested"), key=lambda claim: claim.p)
    undecided: set[str] = set()
    for place, claim in enumerate(tested):
        if undecided or (len(tested) - place) * claim.p > ERROR:
            undecided.add(claim.id)
    return [replace(claim, verdict="not confirmed") if claim.id in undecided else claim for claim in claims]


def _bound(claim: OldClaim) -> float | None:
    """The bound that the mean is beyond; None where it lies between the two."""
    lower, upper = claim.bounds
    if claim.pooled.value > upper:
        return upper
    return lower if claim.pooled.value < lower else None


def verdict_alone(claim: OldClaim) -> Verdict:
    """What the interval of a claim's number says about it, if there are no other claims."""
    lower, upper = claim.bounds
    if claim.pooled.low > upper:
        return "confirmed"
    return "contradicted" if claim.pooled.high < lower else "not confirmed"


def _disagrees(claim: OldClaim, part: Estimate, bound: float) -> bool:
    """Whether the part surely lies on the other side of the bound than the mean."""
    return part.high < bound if claim.pooled.value > bound else part.low > bound


def estimate(values: Values) -> Estimate:
    """The mean over texts and seeds, and its interval."""
    return mean_interval(values)


def score_estimate(cell: Cell, metric: str) -> Estimate | None:
    """The mean of a test score over seeds, and its interval; None where there is no such score.

    Accuracy is a mean over texts: where predictions were audited, it is that of the audited texts, and its interval is
    over texts and seeds. Of other scores it is Student's t interval over seeds, cut at 0 and 1; NaN for a single seed.
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
    half = t_quantile(ERROR / 2, count - 1.0) * known.std().item() / sqrt(count)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), count)


def entry(values: Values | None, paper: float | None = None) -> Entry:
    """An entry of a table: our estimate, where there are rows, and the paper's number."""
    return Entry(None if values is None else estimate(values), paper)


def paired(first: Shaped, second: Shaped) -> Shaped:
    """The difference first - second, text by text, of two models on the same texts, for as many seeds as both have."""
    seeds = min(len(first), len(second))
    return first[:seeds] - second[:seeds]


def only_where(values: Values, condition: Where) -> Values:
    """The values of the texts that meet the condition; NaN elsewhere."""
    return values.masked_fill(~condition, nan)


# Claims in words: how many hold, each with its number, what its verdict rests on, and how verdicts are made.

HOW = (
    "Our numbers are means over texts and seeds, with 95 % intervals for which both are samples. Accuracy is that on "
    "the audited texts; F1 and AUC, which are not means over texts, are averaged over seeds, with Student's t interval "
    "(none for a single seed). Each claim states the smallest difference that matters, its margin. A claim is "
    "*confirmed* if the 95 % interval of its number, averaged over data sets as a sample of all data sets, lies wholly "
    "above the upper bound; *contradicted* if it lies wholly below the lower one; *not confirmed* otherwise; *not "
    "tested* with fewer than five trained models behind it. Verdicts allow for the number of claims (Holm). Models "
    "that have not learnt their task are left out; data sets that surely lie on the other side of the bound are named "
    "as exceptions, and are no veto."
)
DECIMALS = 3
SHARES = ("share", "fraction")
"""What the unit of a number that is shown in percent begins with."""
ACCURACY = "accuracy"
"""The unit of a difference of accuracies, which is shown in percentage points."""
QUANTITIES = ("AtteFa", "Kendall's tau", "probability")
"""Units that are not counted: a number is so much *in* them."""


def verdict_counts(claims: Sequence[OldClaim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in get_args(Verdict)}


def summary_sentence(claims: Sequence[OldClaim]) -> str:
    """How many claims are confirmed, not confirmed and contradicted, in a sentence.

    >>> summary_sentence([])
    'No claims.'
    """
    if not claims:
        return "No claims."
    counts = verdict_counts(claims)
    total = "1 claim" if len(claims) == 1 else f"{len(claims)} claims"
    verb = "is" if counts["confirmed"] == 1 else "are"
    untested = f" ({counts['not tested']} not tested)" if counts["not tested"] else ""
    return (
        f"Of {total}, {counts['confirmed']} {verb} confirmed, {counts['not confirmed']} not confirmed, "
        f"{counts['contradicted']} contradicted{untested}."
    )


def claim_number(claim: OldClaim) -> str:
    """The number of a claim with its interval, in its own unit; shares in percent, accuracy in percentage points.

    Where the verdict would be another without the other claims, for which it allows, the text says so.
    """
    if isnan(claim.pooled.value):
        return "not measured"
    kind, _, whole = claim.unit.partition(" of ")
    unit = f"of {whole}" if kind in SHARES else claim_unit(claim)
    alone = f" (by itself {claim.unadjusted})" if claim.unadjusted != claim.verdict else ""
    return f"{_in_unit(claim, claim.pooled)} {'in ' if unit in QUANTITIES else ''}{unit}{alone}"


def claim_unit(claim: OldClaim) -> str:
    """What the numbers of a claim are."""
    return f"percentage points of {ACCURACY}" if claim.unit == ACCURACY else claim.unit


def _in_unit(claim: OldClaim, number: Estimate | float) -> str:
    """An estimate or a bound, without the name of its unit."""
    percent = claim.unit == ACCURACY or claim.unit.startswith(SHARES)
    if isinstance(number, Estimate):
        text = format_estimate(number.value, number.low, number.high, decimals=DECIMALS, percent=percent)
    else:
        text = format_number(number, decimals=DECIMALS, percent=percent)
    return text.replace(" %", "") if claim.unit == ACCURACY else text


def claim_bounds_text(claim: OldClaim) -> str:
    """What would decide the claim."""
    lower, upper = (_in_unit(claim, bound) for bound in claim.bounds)
    return f"confirmed above {upper}, contradicted below {lower}"


def claim_parts(claim: OldClaim) -> list[tuple[str, str]]:
    """Each data set (or model) behind a claim, and its number."""
    excepted = {name: " (excepted by the paper)" for name in claim.excepts}
    return [(f"{name}{excepted.get(name, '')}", _in_unit(claim, part)) for name, part in claim.parts.items()]


def claim_details(claim: OldClaim) -> str:
    """What was measured, what the paper says, and what the verdict rests on, in sentences."""
    sentences = [
        f"Measured: {claim.measured}; {claim_bounds_text(claim)}.",
        f'The paper, {claim.source}: "{claim.quote}".' if claim.quote else f"Source: {claim.source}.",
        f"Trained models: {claim.trainings}{_too_few(claim)}.",
        f"Exceptions: {'; '.join(claim.exceptions)}." if claim.exceptions else "",
        f"Left out, for they have not learnt their task: {'; '.join(claim.left_out)}." if claim.left_out else "",
        f"By itself, without allowing for the other claims, it would be {claim.unadjusted}."
        if claim.unadjusted != claim.verdict
        else "",
        "If there is a difference, it is surely too small to matter." if _is_negligible(claim) else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _too_few(claim: OldClaim) -> str:
    """Why a claim is not tested, if there are too few models for that."""
    return f", too few to test the claim ({FEWEST_TRAININGS} are needed)" if claim.trainings < FEWEST_TRAININGS else ""


def _is_negligible(claim: OldClaim) -> bool:
    """Whether an effect is claimed and the number surely lies between the bounds."""
    lower, upper = claim.bounds
    return claim.verdict == "not confirmed" and lower < claim.pooled.low <= claim.pooled.high < upper


def error_rates_text() -> str:
    """How often the rule for claims errs, and how often it sees what is there: what `benchmarks/claims.py` wrote."""
    measured = json.loads((Path(__file__).parent / "error_rates.json").read_text(encoding="utf-8"))
    worlds = measured["worlds"]
    decides = max(rates["decides"] for rates in worlds.values())
    confirms = ", ".join(
        f"{100 * rates['confirms']:.0f} % ({name}, {rates['texts']:,} texts)" for name, rates in worlds.items()
    )
    return (
        f"In simulations with {measured['sets']} sets that differ by half the margin and {measured['seeds']} seeds, "
        f"the rule, before Holm's correction, decides at most {100 * decides:.1f} % of claims whose true effect is at "
        f"a bound, and confirms of those whose effect is twice the margin {confirms}. With fewer texts *not confirmed* "
        "says little (`benchmarks/claims.py`)."
    )
