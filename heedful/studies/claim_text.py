"""Claims in words: how many hold, each with its number, what its verdict rests on, and how verdicts are made."""

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import get_args

from heedful.formatting import format_estimate, format_number
from heedful.measures import Estimate
from heedful.studies.claims import FEWEST_TRAININGS
from heedful.studies.study import Claim, Verdict

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


def verdict_counts(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in get_args(Verdict)}


def summary_sentence(claims: Sequence[Claim]) -> str:
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


def claim_number(claim: Claim) -> str:
    """The number of a claim with its interval, in its own unit; shares in percent, accuracy in percentage points.

    Where the verdict would be another without the other claims, for which it allows, the text says so.
    """
    if isnan(claim.pooled.value):
        return "not measured"
    kind, _, whole = claim.unit.partition(" of ")
    unit = f"of {whole}" if kind in SHARES else claim_unit(claim)
    alone = f" (by itself {claim.unadjusted})" if claim.unadjusted != claim.verdict else ""
    return f"{_in_unit(claim, claim.pooled)} {'in ' if unit in QUANTITIES else ''}{unit}{alone}"


def claim_unit(claim: Claim) -> str:
    """What the numbers of a claim are."""
    return f"percentage points of {ACCURACY}" if claim.unit == ACCURACY else claim.unit


def _in_unit(claim: Claim, number: Estimate | float) -> str:
    """An estimate or a bound, without the name of its unit."""
    percent = claim.unit == ACCURACY or claim.unit.startswith(SHARES)
    if isinstance(number, Estimate):
        text = format_estimate(number.value, number.low, number.high, decimals=DECIMALS, percent=percent)
    else:
        text = format_number(number, decimals=DECIMALS, percent=percent)
    return text.replace(" %", "") if claim.unit == ACCURACY else text


def claim_bounds_text(claim: Claim) -> str:
    """What would decide the claim."""
    lower, upper = (_in_unit(claim, bound) for bound in claim.bounds)
    return f"confirmed above {upper}, contradicted below {lower}"


def claim_parts(claim: Claim) -> list[tuple[str, str]]:
    """Each data set (or model) behind a claim, and its number."""
    excepted = {name: " (excepted by the paper)" for name in claim.excepts}
    return [(f"{name}{excepted.get(name, '')}", _in_unit(claim, part)) for name, part in claim.parts.items()]


def claim_details(claim: Claim) -> str:
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


def _too_few(claim: Claim) -> str:
    """Why a claim is not tested, if there are too few models for that."""
    return f", too few to test the claim ({FEWEST_TRAININGS} are needed)" if claim.trainings < FEWEST_TRAININGS else ""


def _is_negligible(claim: Claim) -> bool:
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
