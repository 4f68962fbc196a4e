"""The mean over crossed seeds and texts: how much it varies, and how lopsidedly.

Every seed (a training of the same model) meets every text, so a mean over both has three sources of error: the seeds,
the texts, and what is particular to a seed and a text. Seeds cannot average away the error of the texts, nor texts
that of the seeds.
"""

from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor

SEED_WEIGHT = 3.0
"""How often the seeds' share of the variance counts in the degrees of freedom.

Satterthwaite's formula takes the share as known. It is estimated, and where few seeds dominate, the intervals are too
narrow just when the seeds happen to agree: counted once, the 95% interval of three seeds covers 92%.
"""
ROUNDS = 100
"""Most rounds of removing the means of seeds and texts; where no cell is missing, one is enough."""

Cells = Float[Tensor, "seed text"]


@dataclass(frozen=True, slots=True)
class Moments:
    """An estimated mean, the variance of that estimate with its degrees of freedom, and its skewness."""

    mean: float
    variance: float
    df: float
    skewness: float


@dataclass(frozen=True, slots=True)
class Crossed:
    """What cells say of the mean of first - rate x second: for each number its polynomial in the rate, constant first.

    Args:
        seeds, texts, cells: mean squares of the seeds, of the texts, and of what is left in the cells, each over the
            number of cells.
        cumulant: the third cumulant of the mean, as far as it comes from the texts.
        seed_count, text_count: seeds and texts with some defined cell.
    """

    mean: tuple[float, ...]
    seeds: tuple[float, ...]
    texts: tuple[float, ...]
    cells: tuple[float, ...]
    cumulant: tuple[float, ...]
    seed_count: int
    text_count: int

    def moments(self, rate: float = 0.0) -> Moments:
        """The moments of the mean of first - rate x second; there must be two texts or more.

        variance = (MS_seed + MS_text - MS_cell) / (S T), never below MS_seed / (S T) or MS_text / (S T).

        The degrees of freedom are Satterthwaite's (1946, An approximate distribution of estimates of variance
        components), with the seeds counted SEED_WEIGHT times.
        """
        seeds, texts, cells = (max(0.0, _at(rate, part)) for part in (self.seeds, self.texts, self.cells))
        variance = max(seeds + texts - cells, seeds, texts)
        weighted = SEED_WEIGHT * seeds
        share = weighted / (weighted + texts) if weighted + texts > 0 else 0.0
        df = 1 / (share**2 / max(1, self.seed_count - 1) + (1 - share) ** 2 / (self.text_count - 1))
        skewness = _at(rate, self.cumulant) / variance / sqrt(variance) if variance > 0 else 0.0
        return Moments(_at(rate, self.mean), variance, df, skewness)


def crossed(first: Cells, second: Cells | None = None) -> Crossed:
    """What the cells that are defined (not NaN) in both say of the mean of first - rate x second; second is 0 if None.

    Seeds and texts without a defined cell count for nothing.
    """
    columns = torch.stack([first, torch.zeros_like(first) if second is None else second], dim=-1)
    defined = ~columns.isnan().any(-1)
    own_seeds, own_texts = defined.any(1), defined.any(0)
    defined, columns = defined[own_seeds][:, own_texts], columns[own_seeds][:, own_texts]
    (seeds, texts), count = defined.shape, int(defined.sum())
    mean = columns[defined].mean(0)
    deviations = (columns - mean).where(defined.unsqueeze(-1), 0.0)
    by_seed, by_text = deviations.sum(1) / count, deviations.sum(0) / count
    left = _without_means(deviations, defined) if seeds > 1 else deviations
    left_df = max(1, count - seeds - texts + 1)
    cumulant = torch.einsum("ti,tj,tk->ijk", by_text, by_text, by_text)
    return Crossed(
        mean=(mean[0].item(), -mean[1].item()),
        seeds=_squares(by_seed, seeds / max(1, seeds - 1)) if seeds > 1 else (0.0,),
        texts=_squares(by_text, texts / max(1, texts - 1)),
        cells=_squares(left.flatten(0, 1), 1 / (left_df * count)) if seeds > 1 else (0.0,),
        cumulant=(
            cumulant[0, 0, 0].item(),
            -3 * cumulant[0, 0, 1].item(),
            3 * cumulant[0, 1, 1].item(),
            -cumulant[1, 1, 1].item(),
        ),
        seed_count=seeds,
        text_count=texts,
    )


def defined_texts(cells: Cells) -> int:
    """Number of texts with a defined cell."""
    return int((~cells.isnan()).any(0).sum())


def _without_means(
    deviations: Float[Tensor, "seed text column"], defined: Bool[Tensor, "seed text"]
) -> Float[Tensor, "seed text column"]:
    """What is left when seeds and texts are fitted by least squares: their means removed in turn until none is left."""
    weight = defined.unsqueeze(-1).double()
    tolerance = 1e-12 * deviations.abs().amax().item()
    for _ in range(ROUNDS):
        for axis in (0, 1):
            means = deviations.sum(axis, keepdim=True) / weight.sum(axis, keepdim=True)
            deviations = deviations - means * weight
        if deviations.sum(0).abs().amax().item() <= tolerance * len(deviations):
            break
    return deviations


def _squares(parts: Float[Tensor, "part column"], factor: float) -> tuple[float, float, float]:
    """The factor times the sum of squares of first - rate x second, as a polynomial in the rate."""
    products = factor * (parts.T @ parts)
    return products[0, 0].item(), -2 * products[0, 1].item(), products[1, 1].item()


def _at(rate: float, polynomial: tuple[float, ...]) -> float:
    value = 0.0
    for coefficient in reversed(polynomial):
        value = value * rate + coefficient
    return value
