"""Percentile bootstrap intervals of a mean over texts, and of a score relative to a floor and a best value.

There is a value per text, or per seed and text (several runs of the same model on the same texts). Texts are drawn with
replacement, and seeds too where there is a seed axis. All drawn seeds of a resample share the same draw of texts, as
the real seeds did: texts drawn afresh for each seed would average away the sampling error of the texts, which more
seeds cannot reduce.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, inf, nan

import torch
from jaxtyping import Float, Int
from torch import Tensor

# The most numbers that a block of resamples may hold (32 MB of float64); results do not depend on it.
BLOCK = 4_000_000

# A difference below this share of the largest magnitude is rounding, not a difference.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and how far it may be off.

    Args:
        value: from all texts that count; NaN where undefined.
        low, high: the bootstrap interval around it; NaN where undefined.
        n: how many texts count: those with a defined (not NaN) value for some seed.
    """

    value: float
    low: float
    high: float
    n: int


def bootstrap_interval(
    values: Float[Tensor, " text"] | Float[Tensor, "seed text"],
    generator: torch.Generator,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """The mean of the values and its percentile bootstrap interval.

    Draw as many texts (and seeds) as there are, with replacement, and take the mean; from `resamples` such means cut
    (1 - level) / 2 off each end. NaN values are left out before drawing; `n` is how many texts remain. With a single
    text the spread is unknown: low and high are NaN. With seeds, the mean is over all cells that are not NaN.
    Efron (1979, Bootstrap methods: another look at the jackknife).

    >>> bootstrap_interval(torch.tensor([2.0, 2.0, 2.0, torch.nan]), torch.Generator().manual_seed(0))
    Estimate(value=2.0, low=2.0, high=2.0, n=3)
    """
    columns, n = _defined(values.unsqueeze(-1))
    if n == 0:
        return Estimate(nan, nan, nan, 0)
    value = _mean(columns).item()
    low, high = _percentiles(_resampled_means(columns, generator, resamples).squeeze(-1), level)
    return Estimate(value, low, high, n) if n > 1 else Estimate(value, nan, nan, n)


def pooled_interval(
    parts: Sequence[Float[Tensor, "..."]], generator: torch.Generator, *, resamples: int = 1000, level: float = 0.95
) -> Estimate:
    """The mean of the means of several sets of texts, equally weighted, and its percentile bootstrap interval.

    Each set is resampled by itself, as in `bootstrap_interval`; sets without a value are left out.

    >>> small, large = torch.tensor([1.0]), torch.full((100,), 3.0)
    >>> pooled_interval([small, large], torch.Generator().manual_seed(0)).value
    2.0
    """
    counted = [columns for columns, n in (_defined(part.unsqueeze(-1)) for part in parts) if n]
    if not counted:
        return Estimate(nan, nan, nan, 0)
    means = torch.stack([_mean(columns)[0] for columns in counted])
    resampled = torch.stack([_resampled_means(columns, generator, resamples)[:, 0] for columns in counted])
    low, high = _percentiles(resampled.mean(0), level)
    n = sum(columns.shape[1] for columns in counted)
    return Estimate(means.mean().item(), low, high, n) if n > 1 else Estimate(means.mean().item(), nan, nan, n)


def paired_ratio_interval(
    value: Float[Tensor, " text"] | Float[Tensor, "seed text"],
    floor: Float[Tensor, " text"] | Float[Tensor, "seed text"],
    best: Float[Tensor, " text"] | Float[Tensor, "seed text"],
    generator: torch.Generator,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> Estimate:
    """Where the value stands between its floor and the best, with its percentile bootstrap interval.

    score = (mean value - mean floor) / (mean best - mean floor): a ratio of means.

    0 at the floor, 1 at the best; not clipped, since a yardstick can be beaten. All three means are taken over the same
    texts, and anew over the same draw in each resample; a text (of a seed) with a NaN in any of the three counts in
    none. Undefined (NaN, with the number of texts that count) where the interval of best - floor contains 0, for then
    there is nothing to measure, and with fewer than two texts. A resample in which best and floor come out the same has
    an infinite score, or none (0 / 0), which counts as beyond both ends.

    >>> value, best = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 8.0, 12.0])
    >>> paired_ratio_interval(value, torch.zeros(3), best, torch.Generator().manual_seed(0))
    Estimate(value=0.25, low=0.25, high=0.25, n=3)
    """
    # Differences text by text, before any sum: where best is the floor their mean is 0 and not a rounding error.
    value, floor, best = value.double(), floor.double(), best.double()
    columns, n = _defined(torch.stack([value - floor, best - floor], dim=-1))
    undefined = Estimate(nan, nan, nan, n)
    if n < 2:
        return undefined
    gained, possible = _mean(columns).unbind(-1)
    resampled_gained, resampled_possible = _resampled_means(columns, generator, resamples).unbind(-1)
    low, high = _percentiles(resampled_possible, level)
    rounding = ROUNDING * torch.stack([floor, best]).nan_to_num().abs().max().item()
    if low <= rounding and high >= -rounding:
        return undefined
    low, high = _percentiles(resampled_gained / resampled_possible, level)
    return Estimate((gained / possible).item(), low, high, n)


def _defined(columns: Float[Tensor, "*seed text column"]) -> tuple[Float[Tensor, "cell_seed cell_text column"], int]:
    """The columns, without texts and seeds of which nothing counts, and how many texts are left.

    A cell with a NaN in any column is NaN in all. There is always a seed axis; if the input has none, it has length 1.
    """
    columns = columns.detach().cpu().double()
    columns = columns.unsqueeze(0) if columns.ndim == 2 else columns
    columns = columns.masked_fill(columns.isnan().any(-1, keepdim=True), nan)
    counts = ~columns[..., 0].isnan()
    columns = columns[counts.any(1)][:, counts.any(0)]
    return columns, columns.shape[1]


def _mean(columns: Float[Tensor, "seed text column"]) -> Float[Tensor, " column"]:
    """The mean of each column over all cells that are not NaN."""
    return columns.flatten(0, 1).nanmean(0)


def _resampled_means(
    columns: Float[Tensor, "seed text column"], generator: torch.Generator, resamples: int
) -> Float[Tensor, "resample column"]:
    """The mean of each column over each draw of seeds and texts; NaN where a draw holds no cell that counts.

    How often a text was drawn is all that matters, so a draw is a row of counts and the sums are a matrix product.
    """
    seeds, texts, width = columns.shape
    counted = torch.cat([columns.nan_to_num(), (~columns[..., :1].isnan()).double()], dim=-1)
    by_text = counted.transpose(0, 1).reshape(texts, seeds * (width + 1))
    drawn_seeds = _draws(seeds, resamples, generator).double()
    sums = torch.cat([counts.double() @ by_text for counts in _blocks(texts, resamples, generator)])
    totals = torch.einsum("rs,rsc->rc", drawn_seeds, sums.reshape(resamples, seeds, width + 1))
    return totals[:, :-1] / totals[:, -1:]


def _blocks(n: int, resamples: int, generator: torch.Generator) -> Iterator[Int[Tensor, "resample n"]]:
    """All draws of n out of n, a bounded number at a time."""
    size = max(1, BLOCK // n)
    for start in range(0, resamples, size):
        yield _draws(n, min(size, resamples - start), generator)


def _draws(n: int, resamples: int, generator: torch.Generator) -> Int[Tensor, "resample n"]:
    """How often each of n things was drawn in n draws with replacement, resample by resample."""
    drawn = torch.randint(n, (resamples, n), generator=generator)
    drawn = drawn + n * torch.arange(resamples).unsqueeze(-1)
    return torch.bincount(drawn.flatten(), minlength=resamples * n).reshape(resamples, n)


def _percentiles(resampled: Float[Tensor, " resample"], level: float) -> tuple[float, float]:
    """The ends of the middle `level` of the resampled numbers, each the next number outwards.

    An undefined number could lie anywhere, so it counts as low for the low end and as high for the high end.
    """
    last = resampled.numel() - 1
    cut = (1 - level) / 2 * last
    low = resampled.nan_to_num(-inf, inf, -inf).sort().values[int(cut)].item()
    high = resampled.nan_to_num(inf, inf, -inf).sort().values[ceil(last - cut)].item()
    return low, high
