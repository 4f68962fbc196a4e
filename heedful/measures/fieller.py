"""The ends of the interval of a score: every rate at which (value - floor) - rate x (best - floor) may have mean 0."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, sqrt

from heedful.measures.mean_moments import is_share, skew_corrected_interval
from heedful.measures.two_way_variance import Cells, Moments, crossed

ROUNDING = 1e-12
"""A difference below this share of the largest magnitude is rounding, not a difference."""
PRECISION = 1e-9
DOUBLINGS = 60


def ratio_interval(value: Cells, floor: Cells, best: Cells, level: float) -> tuple[float, float, float]:
    """Ratio of the mean of value - floor to that of best - floor, and the ends of its interval.

    All three must be defined in the same cells, and best - floor surely have a mean above 0: only then the interval has
    two ends.
    """
    pair = crossed(value - floor, best - floor)
    ratio = -pair.mean[0] / pair.mean[1]
    variance = pair.moments(ratio).variance
    least = _least_variance(value, floor, best, variance, ratio) if is_share(value) else _no_variance

    def margin(rate: float) -> float:
        return _margin(_widened(pair.moments(rate), least(rate)), level)

    step = max(2 * sqrt(max(variance, least(ratio))) / -pair.mean[1], _rounding(ratio))
    return ratio, _edge(margin, ratio, -step), _edge(margin, ratio, step)


def _no_variance(rate: float) -> float:
    return 0.0


def _least_variance(value: Cells, floor: Cells, best: Cells, variance: float, ratio: float) -> Callable[[float], float]:
    """The variance of the mean of 0s and 1s drawn with chances floor + rate (best - floor), by the rate.

    Seeds are neither independent draws nor copies of each other: it is scaled to the variance at the ratio, where that
    is smaller and known.
    """
    texts = int((~value.isnan()).any(0).sum())
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
    from scipy.optimize import root_scalar  # slow to import, and not every verdict needs it

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
    # The ratio itself is always inside, though the skewness may say otherwise.
    bracketed = root_scalar(
        lambda rate: margin(rate) if rate != start else 1.0,
        bracket=(inside, outside),
        method="brentq",
        xtol=PRECISION * abs(outside - inside),
    )
    return bracketed.root
