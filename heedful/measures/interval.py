"""Intervals of a mean over texts and seeds, of a score between floor and best, and of the mean of several sets.

There is a value per text, or per seed and text (trainings of the same model on the same texts). Nothing is drawn: every
interval is a formula of the values, and `benchmarks/coverage.py` measures how often each contains the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.measures.fieller import ROUNDING, ratio_interval
from heedful.measures.mean_moments import (
    MeanMoments,
    ends,
    moments_of_mean,
    pooled_mean,
    pooled_t_interval,
    spread_of_difference,
)
from heedful.measures.two_way_variance import Cells

LEVEL = 0.95
HALVINGS = 50
LEAST_POWER = -12.0
"""The smallest p value that is distinguished from 0, as a power of ten."""

Measured = Float[Tensor, " text"] | Float[Tensor, "seed text"]
Part = Float[Tensor, "..."]
"""[text] or [seed text], where several of them may differ in the number of seeds and texts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and how far it may be off.

    Args:
        value: from all texts that count; NaN where undefined.
        low, high: the interval around it; NaN where undefined.
        n: how many texts count: those with a defined (not NaN) value for some seed.
    """

    value: float
    low: float
    high: float
    n: int


def mean_interval(values: Measured, *, level: float = LEVEL) -> Estimate:
    """The mean over all defined cells (not NaN), and its interval.

    Student's t interval with the variance of crossed seeds and texts (`two_way_variance.Crossed`), its ends moved
    toward the longer tail if the values are skewed (`skew_corrected_interval`). If every value is 0 or 1 the mean is a
    share, and the interval is Agresti and Coull's (1998, Approximate is better than "exact" for interval estimation of
    binomial proportions), for the number of independent texts that would give the same variance. With fewer than two
    texts the spread is unknown: low and high are NaN.

    >>> mean_interval(torch.tensor([1.0, 2.0, 3.0, torch.nan]))  # 2 -+ 4.303 x 0.577
    Estimate(value=2.0, low=-0.484..., high=4.484..., n=3)
    >>> mean_interval(torch.ones(20))  # with 2.09^2 = 4.4 texts more: 22.2 of 24.4
    Estimate(value=1.0, low=0.788..., high=1.0, n=20)
    """
    spread = moments_of_mean(_cells(values))
    return Estimate(spread.mean, *ends(spread, level), spread.n)


def difference_interval(values: Measured, others: Measured, *, level: float = LEVEL) -> Estimate:
    """The mean of values - others, cell by cell, and its interval.

    As in `mean_interval`, but never as a share: differences of 0s and 1s that happen to be 0 or 1 may be -1 elsewhere.

    >>> difference_interval(torch.tensor([3.0, 3.0, 5.0]), torch.tensor([2.0, 1.0, 2.0]))  # 2 -+ 4.303 x 0.577
    Estimate(value=2.0, low=-0.484..., high=4.484..., n=3)
    """
    spread = spread_of_difference(_cells(values) - _cells(others))
    return Estimate(spread.mean, *ends(spread, level), spread.n)


def pooled_interval(parts: Sequence[Part], *, level: float = LEVEL) -> Estimate:
    """The mean of the means of several sets, equally weighted, and its interval: the sets are a sample of all sets.

    Student's t on the means of the J sets, with J - 1 degrees of freedom; their spread contains the error within each
    set. Never narrower than from the errors within the sets alone, which is all there is where the sets happen to
    agree. Of a single set, `mean_interval`. Sets without a value are left out.

    >>> parts = [torch.tensor([0.5, 1.5]), torch.tensor([1.5, 2.0, 2.5]), torch.tensor([2.5, 3.5])]
    >>> pooled_interval(parts)  # 2 -+ 4.303 x 0.577
    Estimate(value=2.0, low=-0.484..., high=4.484..., n=7)
    """
    spreads = _spreads(parts)
    if not spreads:
        return Estimate(nan, nan, nan, 0)
    return Estimate(pooled_mean(spreads), *pooled_t_interval(spreads, level), sum(spread.n for spread in spreads))


def pooled_p_value(parts: Sequence[Part], bound: float) -> float:
    """The smallest 1 - level at which `pooled_interval` excludes the bound; NaN where it has no ends.

    >>> parts = [torch.tensor([0.5, 1.5]), torch.tensor([1.5, 2.0, 2.5]), torch.tensor([2.5, 3.5])]
    >>> round(pooled_p_value(parts, 0.0), 4)  # t = 2 / 0.577 with 2 degrees of freedom
    0.0742
    """
    spreads = _spreads(parts)
    if not spreads or isnan(pooled_t_interval(spreads, LEVEL)[0]):
        return nan

    def excludes(power: float) -> bool:
        low, high = pooled_t_interval(spreads, 1 - 10**power)
        return not low <= bound <= high

    smallest, largest = LEAST_POWER, 0.0
    for _ in range(HALVINGS):
        middle = (smallest + largest) / 2
        smallest, largest = (smallest, middle) if excludes(middle) else (middle, largest)
    return 10**largest


def score_interval(value: Measured, floor: Measured, best: Measured, *, level: float = LEVEL) -> Estimate:
    """Where the value stands between its floor and the best, and its interval.

    score = (mean value - mean floor) / (mean best - mean floor): a ratio of means.

    0 at the floor, 1 at the best; not clipped, since a yardstick can be beaten. All three means are over the same
    cells: a cell that is NaN in any of the three counts in none. The interval holds every score r at which the mean of
    (value - floor) - r (best - floor) may be 0, by the same t and skewness as in `mean_interval`. Fieller (1954, Some
    problems in interval estimation). Where every value is 0 or 1, the variance is at least that of draws with chances
    floor + r (best - floor). Undefined (NaN, with the number of texts that count) where best - floor is not surely
    above 0, for then there is nothing to measure, and with fewer than two texts.

    >>> value = torch.tensor([1.0, 2.0, 3.0])
    >>> score_interval(value, torch.zeros(3), torch.full((3,), 8.0))  # (2 -+ 4.303 x 0.577) / 8
    Estimate(value=0.25, low=-0.060..., high=0.560..., n=3)
    """
    value, floor, best = _shared(_cells(value), _cells(floor), _cells(best))
    # Differences cell by cell, before any sum: where best is the floor their mean is 0 and not a rounding error.
    possible = difference_interval(best, floor, level=level)
    rounding = ROUNDING * torch.stack([floor, best]).nan_to_num().abs().max().item() if possible.n else 0.0
    if not possible.low > rounding:
        return Estimate(nan, nan, nan, possible.n)
    lowest, highest = _constant(floor), _constant(best)
    if lowest is None or highest is None:
        return Estimate(*ratio_interval(value, floor, best, level), possible.n)
    own = mean_interval(value, level=level)
    score, low, high = ((end - lowest) / (highest - lowest) for end in (own.value, own.low, own.high))
    return Estimate(score, low, high, own.n)


def _spreads(parts: Sequence[Part]) -> list[MeanMoments]:
    return [spread for spread in (moments_of_mean(_cells(part)) for part in parts) if spread.n]


def _cells(values: Part) -> Cells:
    """The values with a seed axis, of length 1 where there was none."""
    values = values.detach().cpu().double()
    return values.unsqueeze(0) if values.ndim == 1 else values


def _shared(value: Cells, floor: Cells, best: Cells) -> tuple[Cells, Cells, Cells]:
    """The three with NaN in all wherever one of them is."""
    undefined = (value + floor + best).isnan()
    value, floor, best = (part.masked_fill(undefined, nan) for part in (value, floor, best))
    return value, floor, best


def _constant(values: Cells) -> float | None:
    """The only value of all defined cells; None where they differ."""
    defined = values[~values.isnan()]
    return defined[0].item() if bool((defined == defined[0]).all()) else None
