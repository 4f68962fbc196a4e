"""From columns of rows to the numbers of tables and claims."""

import hashlib
from collections.abc import Mapping, Sequence
from math import nan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.questions import Values
from heedful.measures import Estimate, bootstrap_interval, pooled_interval
from heedful.studies.study import Cell, Claim, Entry
from heedful.verdict.comparison import over_texts

Where = Bool[Tensor, "seed text"]
Shaped = Float[Tensor, "..."]
"""[seed text], of another number of seeds or texts than its neighbour."""

CONFIRMED, NOT_CONFIRMED, CONTRADICTED, NOT_TESTED = "confirmed", "not confirmed", "contradicted", "not tested"


def estimate(values: Values, name: str) -> Estimate:
    """The mean and its bootstrap interval, drawn from a stream that belongs to this name."""
    return bootstrap_interval(over_texts(values), _generator(name))


def score_estimate(cell: Cell, metric: str) -> Estimate | None:
    """The mean of a test score over seeds, with their range."""
    scores = [run.scores["test"].get(metric) for run in cell.runs]
    known = [score for score in scores if score is not None]
    if not known:
        return None
    low, high = (min(known), max(known)) if len(known) > 1 else (nan, nan)
    return Estimate(sum(known) / len(known), low, high, len(known))


def entry(values: Values | None, name: str, paper: float | None = None) -> Entry:
    """A cell of a table: our estimate, where there are rows, and the paper's number."""
    return Entry(None if values is None else estimate(values, name), paper)


def judge(statement: str, source: str, measured: str, parts: Mapping[str, Shaped], *, threshold: float = 0.0) -> Claim:
    """The claim that the mean of these values lies above the threshold, tested by bootstrap.

    Each part (a data set, a model) gives an estimate with a 95 % interval, and the mean of all parts one. Confirmed:
    that interval lies above the threshold, and no part's lies below. Contradicted: the interval of the mean lies below.
    Not confirmed: anything else.
    """
    estimates = {name: estimate(values, f"{statement} {name}") for name, values in parts.items()}
    known = {name: one for name, one in estimates.items() if one.n > 0}
    pooled = pooled_interval([over_texts(parts[name]) for name in known], _generator(statement))
    return Claim(
        statement, source, measured, threshold, known, pooled, _verdict(pooled, list(known.values()), threshold)
    )


def _verdict(pooled: Estimate, parts: Sequence[Estimate], threshold: float) -> str:
    if pooled.n == 0:
        return NOT_TESTED
    if pooled.high < threshold:
        return CONTRADICTED
    above = pooled.low > threshold and not any(part.high < threshold for part in parts)
    return CONFIRMED if above else NOT_CONFIRMED


def paired(first: Shaped, second: Shaped) -> Shaped:
    """The difference text by text of two models on the same texts, of as many seeds as both have."""
    seeds = min(len(first), len(second))
    return first[:seeds] - second[:seeds]


def only_where(values: Values, condition: Where) -> Values:
    """The values of the texts that fulfil the condition; undefined elsewhere."""
    return values.masked_fill(~condition, nan)


def _generator(name: str) -> torch.Generator:
    """A stream of its own for each number: leaving one out changes no other's interval."""
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big"))
