"""From the moments of a mean to the ends of its interval."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import cbrt, expm1, log1p, nan, sqrt

import torch
from scipy.special import stdtrit

from heedful.measures.two_way_variance import Cells, Moments, crossed, defined_texts


@dataclass(frozen=True, slots=True)
class MeanMoments:
    """The moments of a mean over n texts; of a share, also how many independent texts would give the same variance."""

    moments: Moments
    n: int
    independent: float | None = None

    @property
    def mean(self) -> float:
        """The mean itself."""
        return self.moments.mean


@lru_cache(maxsize=1024)
def t_quantile(tail: float, df: float) -> float:
    """The t that a Student t variable with df degrees of freedom, whole or not, exceeds with this probability.

    >>> round(t_quantile(0.25, 1.0), 9), round(t_quantile(0.025, 4.0), 3)
    (1.0, 2.776)
    """
    return -float(stdtrit(df, tail))


def is_share(values: Cells) -> bool:
    """Whether every defined value is 0 or 1."""
    return bool(((values == 0) | (values == 1) | values.isnan()).all())


def moments_of_mean(values: Cells) -> MeanMoments:
    """The spread of the mean of all defined cells; with fewer than two texts its variance is NaN."""
    n = defined_texts(values)
    if n > 1 and is_share(values):
        moments = crossed(values).moments()
        return MeanMoments(moments, n, _independent_texts(values, moments, n))
    return spread_of_difference(values)


def spread_of_difference(values: Cells) -> MeanMoments:
    """The same for values that can be differences of 0s and 1s: they are never treated as shares.

    If every value is -1, 0 or 1, the variance is that with two texts more, a 1 and a -1: they may be rare, and then no
    text shows them. Agresti and Min (2005, Simple improved confidence intervals for comparing matched proportions).
    """
    n = defined_texts(values)
    mean = values.nanmean().item()
    if n < 2:
        return MeanMoments(Moments(mean, nan, nan, nan), n)
    if is_share(values.abs()):
        more = torch.ones(len(values), 1, dtype=values.dtype).masked_fill(values.isnan().all(1, keepdim=True), nan)
        values = torch.cat([values, more, -more], 1)
    return MeanMoments(replace(crossed(values).moments(), mean=mean), n)


def _independent_texts(values: Cells, moments: Moments, n: int) -> float:
    """As many as make the variance p (1 - p) / number, but never more than half way (by factors) from texts to cells.

    A few ones that fall on different seeds do not show that all seeds are independent. And cells that are all equal say
    nothing of how alike the seeds are: then the seeds count as copies of each other.
    """
    if moments.mean in (0.0, 1.0):
        return float(n)
    most = sqrt(n * float((~values.isnan()).sum()))
    single = moments.mean * (1 - moments.mean) * n / (n - 1)
    return single / moments.variance if moments.variance * most > single else most


def ends(spread: MeanMoments, level: float) -> tuple[float, float]:
    """The ends of the interval of the mean; NaN with fewer than two texts."""
    if spread.n < 2:
        return nan, nan
    if spread.independent is None:
        return skew_corrected_interval(spread.moments, level)
    square = t_quantile((1 - level) / 2, spread.moments.df) ** 2
    mean, variance = _shrunk(spread.mean, spread.independent, square)
    half = sqrt(square * variance)
    # Of a share of 0 or 1 the ends are 0 or 1 themselves, which rounding must not change.
    return min(max(mean - half, 0.0), spread.mean), max(min(mean + half, 1.0), spread.mean)


def _shrunk(share: float, texts: float, more: float) -> tuple[float, float]:
    """A share and its variance after adding `more` texts, half of them 1."""
    share = (share * texts + more / 2) / (texts + more)
    return share, share * (1 - share) / (texts + more)


def skew_corrected_interval(moments: Moments, level: float) -> tuple[float, float]:
    """Student's interval with its ends moved by Hall's transformation: outwards in full, inwards by half.

    g(t) = t + l t^2 / 3 + l^2 t^3 / 27 + l / 6, with l the skewness of the mean, takes it out of a studentized mean;
    the ends are where g is Student's quantile. Hall (1992, On the removal of skewness by transformation). Moved
    inwards in full, they would cover too little where the skewness is an accident of the sample.
    """
    t, error = t_quantile((1 - level) / 2, moments.df), sqrt(moments.variance)
    moved = (sign * _untransformed(sign * t, moments.skewness) for sign in (1, -1))
    below, above = (max(end, (end + t) / 2) for end in moved)
    return moments.mean - error * below, moments.mean + error * above


def _untransformed(t: float, skewness: float) -> float:
    """The number that g turns into t."""
    shifted = skewness * (t - skewness / 6)
    if skewness == 0:
        return t
    root = expm1(log1p(shifted) / 3) if shifted > -1 else cbrt(1 + shifted) - 1
    return 3 * root / skewness
