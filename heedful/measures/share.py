"""Intervals of a share of texts, and of how far it is on the way from luck to 1."""

from math import nan, sqrt

from scipy.special import ndtri

from heedful.measures.interval import Estimate
from heedful.measures.mean_moments import t_quantile
from heedful.measures.two_way_variance import Cells, Moments, crossed, defined_texts


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
        luck: of each cell; the mean is over the cells that are defined.

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
