"""From columns of rows to the numbers of tables, and the test behind a claim."""

from collections.abc import Mapping, Sequence
from math import nan

from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.question import Values
from heedful.data.draws import seeded_generator
from heedful.measures import Estimate, bootstrap_interval, pooled_interval
from heedful.studies.study import Cell, Claim, Entry
from heedful.verdict.comparison import over_texts

Where = Bool[Tensor, "seed text"]
Shaped = Float[Tensor, "..."]
"""[seed text], where two of them may differ in the number of seeds or texts."""

CONFIRMED, NOT_CONFIRMED, CONTRADICTED, NOT_TESTED = "confirmed", "not confirmed", "contradicted", "not tested"


def estimate(values: Values, *name: str) -> Estimate:
    """The mean and its bootstrap interval.

    Args:
        name: of the number, which seeds the resampling: leaving one number out changes no other's interval.
    """
    return bootstrap_interval(over_texts(values), seeded_generator(*name))


def score_estimate(cell: Cell, metric: str) -> Estimate | None:
    """The mean of a test score over seeds, with their range."""
    scores = [run.scores["test"].get(metric) for run in cell.runs]
    known = [score for score in scores if score is not None]
    if not known:
        return None
    low, high = (min(known), max(known)) if len(known) > 1 else (nan, nan)
    return Estimate(sum(known) / len(known), low, high, len(known))


def entry(values: Values | None, name: str, paper: float | None = None) -> Entry:
    """An entry of a table: our estimate, where there are rows, and the paper's number."""
    return Entry(None if values is None else estimate(values, name), paper)


def test_claim(
    claim_id: str, statement: str, source: str, measured: str, parts: Mapping[str, Shaped], *, threshold: float = 0.0
) -> Claim:
    """The claim that the mean of these values lies above the threshold, tested by bootstrap.

    Each part (a data set, a model) gives an estimate with a 95 % interval, and so does the mean of all parts.
    Confirmed: the interval of the mean lies above the threshold, and no part's interval lies below it. Contradicted:
    the interval of the mean lies below. Not confirmed: anything else.
    """
    estimates = {name: estimate(values, claim_id, name) for name, values in parts.items()}
    known = {name: part for name, part in estimates.items() if part.n > 0}
    pooled = pooled_interval([over_texts(parts[name]) for name in known], seeded_generator(claim_id))
    verdict = _verdict(pooled, list(known.values()), threshold)
    return Claim(claim_id, statement, source, measured, threshold, known, pooled, verdict)


def _verdict(pooled: Estimate, parts: Sequence[Estimate], threshold: float) -> str:
    if pooled.n == 0:
        return NOT_TESTED
    if pooled.high < threshold:
        return CONTRADICTED
    above = pooled.low > threshold and not any(part.high < threshold for part in parts)
    return CONFIRMED if above else NOT_CONFIRMED


def paired(first: Shaped, second: Shaped) -> Shaped:
    """The difference first - second, text by text, of two models on the same texts, for as many seeds as both have."""
    seeds = min(len(first), len(second))
    return first[:seeds] - second[:seeds]


def only_where(values: Values, condition: Where) -> Values:
    """The values of the texts that meet the condition; NaN elsewhere."""
    return values.masked_fill(~condition, nan)
