"""Intervals of a mean over texts and seeds, and of a score between floor and best.

There is a value per text, or per seed and text (runs of the same model on the same texts). Nothing is drawn: every
interval is a formula of the values, and `benchmarks/coverage.py` measures how often each contains the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isnan, nan, sqrt

import torch
from jaxtyping import Float
from scipy.special import expit, logit, ndtri
from torch import Tensor

from heedful.measures.mean_moments import (
    ends,
    is_share,
    moments_of_mean,
    skew_corrected_interval,
    spread_of_difference,
    t_quantile,
)
from heedful.measures.two_way_variance import Cells, Moments, crossed, defined_texts

LEVEL = 0.95
ROUNDING = 1e-12
"""A difference below this share of the largest magnitude is rounding, not a difference."""
PRECISION = 1e-9
DOUBLINGS = 60

Measured = Float[Tensor, " text"] | Float[Tensor, "seed text"]
Part = Float[Tensor, "..."]
"""[text] or [seed text], where several of them may differ in the number of seeds and texts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and how far it may be off.

    Args:
        value: from all texts that count; NaN if undefined.
        low, high: the interval around it; NaN if undefined.
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


def bounded_interval(values: Part, *, within: tuple[float, float] | None = None, level: float = LEVEL) -> Estimate:
    """As `mean_interval`, with ends that stay within the measure's range: on the logit scale of the range.

    Args:
        within: the range; None: 0 to 1 or -1 to 1 if all values lie there, else 0 and more if none is negative.

    >>> bounded_interval(torch.tensor([1.0, 0.9, 0.8]))  # mean_interval: 0.651... to 1.148...
    Estimate(value=0.89..., low=0.362..., high=0.993..., n=3)
    """
    cells = _cells(values)
    estimate = mean_interval(cells, level=level)
    defined = cells[~cells.isnan()]
    if is_share(cells) or isnan(estimate.low):
        return estimate
    least, most = defined.min().item(), defined.max().item()
    if within is None and (most > 1 or least < -1):
        return estimate if least < 0 else replace(estimate, low=max(0.0, estimate.low))
    bottom, top = within or (0.0 if least >= 0 else -1.0, 1.0)
    share = (estimate.value - bottom) / (top - bottom)
    if not 0 < share < 1:
        return replace(estimate, low=max(bottom, estimate.low), high=min(top, estimate.high))
    slope = share * (1 - share) * (top - bottom)
    low, high = (
        bottom + (top - bottom) * float(expit(logit(share) + (end - estimate.value) / slope))
        for end in (estimate.low, estimate.high)
    )
    return replace(estimate, low=low, high=high)


def score_interval(value: Measured, floor: Measured, best: Measured, *, level: float = LEVEL) -> Estimate:
    """Where the value stands between its floor and the best, and its interval.

    score = (mean value - mean floor) / (mean best - mean floor): a ratio of means.

    0 at the floor, 1 at the best; not clipped, since a yardstick can be beaten. All three means are over the same
    cells: a cell that is NaN in any of the three counts in none. The interval holds every score r at which the mean of
    (value - floor) - r (best - floor) may be 0, by the same t and skewness as in `mean_interval`. Fieller (1954, Some
    problems in interval estimation). Where every value is 0 or 1, the variance is at least that of draws with chances
    floor + r (best - floor). Undefined (NaN, with the number of texts that count) where best - floor is not
    significantly above 0, for then there is nothing to measure, and with fewer than two texts.

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
        return Estimate(*_ratio_interval(value, floor, best, level), possible.n)
    own = mean_interval(value, level=level)
    score, low, high = ((end - lowest) / (highest - lowest) for end in (own.value, own.low, own.high))
    return Estimate(score, low, high, own.n)


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
    """The only value of all defined cells; None if they differ."""
    defined = values[~values.isnan()]
    return defined[0].item() if bool((defined == defined[0]).all()) else None


# The ends of the interval of a score: every rate at which (value - floor) - rate x (best - floor) may have mean 0.


def _ratio_interval(value: Cells, floor: Cells, best: Cells, level: float) -> tuple[float, float, float]:
    """Ratio of the mean of value - floor to that of best - floor, and the ends of its interval.

    All three must be defined in the same cells, and best - floor must have a mean significantly above 0: only then the
    interval has two ends.
    """
    pair = crossed(value - floor, best - floor)
    ratio = -pair.mean[0] / pair.mean[1]
    variance = pair.moments(ratio).variance
    least = _least_variance(value, floor, best, variance, ratio) if is_share(value) else lambda rate: 0.0

    def margin(rate: float) -> float:
        return _margin(_widened(pair.moments(rate), least(rate)), level)

    step = max(2 * sqrt(max(variance, least(ratio))) / -pair.mean[1], _rounding(ratio))
    return ratio, _edge(margin, ratio, -step), _edge(margin, ratio, step)


def _least_variance(value: Cells, floor: Cells, best: Cells, variance: float, ratio: float) -> Callable[[float], float]:
    """The variance of the mean of 0s and 1s drawn with chances floor + rate (best - floor), by the rate.

    Seeds are neither independent draws nor copies of each other: it is scaled to the variance at the ratio, where that
    is smaller and known.
    """
    texts = defined_texts(value)
    gap = best - floor
    constant, linear, square = (
        part.nanmean().item() / texts for part in (floor * (1 - floor), gap * (1 - 2 * floor), -gap * gap)
    )

    def drawn(rate: float) -> float:
        return max(0.0, constant + rate * linear + rate * rate * square)

    is_known = min(variance, drawn(ratio)) > ROUNDING / texts
    scale = min(1.0, variance / drawn(ratio)) if is_known else 1.0
    return lambda rate: scale * drawn(rate)


def _widened(moments: Moments, least: float) -> Moments:
    """The same with a variance of at least `least`."""
    if moments.variance >= least:
        return moments
    return replace(moments, variance=least, skewness=moments.skewness * (moments.variance / least) ** 1.5)


def _margin(moments: Moments, level: float) -> float:
    """How far 0 lies inside the interval of the mean, in widths of it; negative outside."""
    low, high = skew_corrected_interval(moments, level)
    return min(-low, high) / (high - low) if high > low else -1.0


def _rounding(number: float) -> float:
    return ROUNDING * max(1.0, abs(number))


def _edge(margin: Callable[[float], float], start: float, step: float) -> float:
    """Where the margin, which is positive at the start, reaches 0 in the direction of the step."""
    inside = outside = start
    for _ in range(DOUBLINGS):
        outside = inside + step
        if margin(outside) < 0:
            break
        inside, step = outside, 2 * step
    else:
        return inf if step > 0 else -inf
    # Where nothing but the ratio itself is possible, the interval has no width.
    if abs(outside - start) <= _rounding(start):
        return start
    # The Illinois method, by hand: scipy.optimize takes half a second to import. The ratio itself is always inside,
    # though the skewness may say otherwise.
    ends = {True: (inside, 1.0 if inside == start else margin(inside)), False: (outside, margin(outside))}
    precision, last = PRECISION * abs(outside - inside), None
    while True:
        (inside, high), (outside, low) = ends[True], ends[False]
        rate = outside - low * (outside - inside) / (low - high)
        if low == 0 or min(abs(outside - inside), abs(rate - (inside if last else outside))) <= precision:
            return rate
        height = margin(rate)
        is_inside = height >= 0
        if is_inside is last:
            end, size = ends[not is_inside]
            ends[not is_inside] = end, size / 2
        ends[is_inside], last = (rate, height), is_inside


# Intervals of a share of texts, and of how far it is on the way from luck to 1.


def wilson_ends(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Ends of Wilson's (1927) interval of a share of n texts.

    >>> tuple(round(end, 4) for end in wilson_ends(0.5, 10))
    (0.2366, 0.7634)
    >>> wilson_ends(1.0, 20)[1]
    1.0
    """
    z = float(ndtri((1 + level) / 2))
    center, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (center - half) / (1 + z * z / n), (center + half) / (1 + z * z / n)
    # The ends of a share of 0 or 1 are 0 or 1 themselves, which rounding must not change.
    return min(max(low, 0.0), share), max(min(high, 1.0), share)


def share_interval(cells: Cells, level: float = 0.95) -> Estimate:
    """The mean of cells that are 0, 1 or undefined (NaN), and its interval.

    One seed: Wilson's. Several seeds: Student's t with the variance of crossed seeds and texts, clipped to 0..1, united
    with Wilson's for the number of texts that have a defined cell: it is never narrower than the texts alone allow.

    >>> import torch
    >>> share_interval(torch.tensor([[1.0, 0.0] * 5 + [torch.nan]]))
    Estimate(value=0.5, low=0.236..., high=0.763..., n=10)
    """
    n = defined_texts(cells)
    if not n:
        return Estimate(nan, nan, nan, 0)
    value = cells.nanmean().item()
    low, high = wilson_ends(value, n, level)
    if len(cells) > 1 and n > 1:
        half = _half_width(crossed(cells).moments(), level)
        low, high = min(low, max(0.0, value - half)), max(high, min(1.0, value + half))
    return Estimate(value, low, high, n)


def beyond_luck(cells: Cells, luck: Cells, level: float = 0.95) -> Estimate:
    """How far a share is on the way from luck to 1, and its interval: (share - luck) / (1 - luck).

    0 at luck, 1 if every text points. The ends of Wilson's interval are mapped by the same formula; with several seeds
    they are united with Student's t around the ratio, with the crossed variance of its linearized cells.

    Args:
        luck: luck of each cell; the mean is over the cells that are defined.

    >>> import torch
    >>> beyond_luck(torch.tensor([[1.0, 0.0] * 5]), torch.full((1, 10), 0.25))  # (0.5 - 0.25) / 0.75
    Estimate(value=0.333..., low=-0.017..., high=0.684..., n=10)
    """
    n = defined_texts(cells)
    luck = luck.masked_fill(cells.isnan(), nan)
    mean = luck.nanmean().item()
    if not n or not mean < 1:
        return Estimate(nan, nan, nan, n)
    share = cells.nanmean().item()
    value, low, high = ((end - mean) / (1 - mean) for end in (share, *wilson_ends(share, n, level)))
    if len(cells) > 1 and n > 1:
        linear = ((cells - luck) - value * (1 - luck)) / (1 - mean)
        half = _half_width(crossed(linear).moments(), level)
        low, high = min(low, value - half), max(high, min(1.0, value + half))
    return Estimate(value, low, high, n)


def seeds_dominate(cells: Cells) -> bool:
    """Whether the seeds' part of the variance of the mean is larger than that of the texts."""
    if len(cells) < 2 or defined_texts(cells) < 2:
        return False
    spread = crossed(cells)
    return spread.seeds[0] > spread.texts[0]


def _half_width(moments: Moments, level: float) -> float:
    return t_quantile((1 - level) / 2, moments.df) * sqrt(moments.variance)
