"""Effects on several datasets: the error of each, from seeds and texts, and their mean.

With two or three seeds, the variance between the seeds of one dataset is hardly known. Datasets share what they know
of it: `moderated`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, log, nan, sqrt

import torch
from scipy.special import stdtr

from heedful.measures.interval import LEVEL, Estimate
from heedful.measures.mean_moments import is_share as holds_shares
from heedful.measures.mean_moments import t_quantile
from heedful.measures.two_way_variance import Cells, crossed, defined_texts

PRIOR_DF = 2.0
"""Weight of the mean variance of all datasets, in degrees of freedom."""
MOST_SEEDS, FACTORS = 30, (1, 2, 5, 10, 100)
"""What might decide a claim: more seeds, and more texts by these factors."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean effect on a dataset, over seeds and texts.

    Args:
        of_seeds: variance of the mean of a single seed; NaN if there is only one.
        of_texts: variance of the mean that texts contribute.
        df: degrees of freedom of the first.
        is_share: whether it lies between 0 and 1, as shares and AUROC do: intervals are then on the logit scale.
    """

    mean: float
    seeds: int
    texts: int
    of_seeds: float
    of_texts: float
    df: float
    is_share: bool = False

    def error(self, *, further: bool = False) -> float:
        """Standard error of the mean; with `further`, of its difference from one further run on as many texts."""
        own = self.of_seeds / self.seeds + self.of_texts
        return sqrt(own + self.of_seeds + self.of_texts) if further else sqrt(own)

    def ends(self, level: float = LEVEL, *, further: bool = False) -> tuple[float, float]:
        """Ends of the mean's interval, or of the prediction interval of one further run."""
        half = t_quantile((1 - level) / 2, self._df()) * self._scaled(self.error(further=further))
        center = self._logit(self.mean)
        low, high = self._inverse(center - half), self._inverse(center + half)
        # The ends contain a share of 0 or 1, which the logit scale cannot express.
        return (low, high) if isnan(low) else (min(low, self.mean), max(high, self.mean))

    def tail(self, bound: float) -> float:
        """One-sided p value that the true effect is at most the bound."""
        distance, error = self._logit(self.mean) - self._logit(bound), self._scaled(self.error())
        if error == 0:
            return float(distance <= 0)
        return float(stdtr(self._df(), -distance / error))

    def enough(self, half: float, level: float) -> tuple[int, int] | None:
        """Fewest seeds, and the factor of texts, whose interval reaches at most this far; None if too many."""
        if isnan(self.of_seeds) or half <= 0:
            return None
        for factor in FACTORS:
            for seeds in range(self.seeds, MOST_SEEDS + 1):
                df, texts = max(self.df, seeds + 1.0), self.texts * factor
                grown = replace(self, seeds=seeds, texts=texts, of_texts=self.of_texts / factor, df=df)
                if t_quantile((1 - level) / 2, grown._df()) * grown.error() <= half:
                    return seeds, factor
        return None

    def _df(self) -> float:
        """Satterthwaite's degrees of freedom of the sum of both variances; of the texts if only `_least` counts."""
        of_seeds, total = self.of_seeds / self.seeds, self.error() ** 2
        share = 0.0 if total <= self._least() ** 2 else of_seeds / total
        return 1 / (share**2 / max(1.0, self.df) + (1 - share) ** 2 / max(1, self.texts - 1))

    def _least(self) -> float:
        """The smallest error of a share of 0 or 1: that of a share which half a text moves inside; else 0."""
        inside = self._inside(self.mean)
        is_extreme = self.is_share and abs(inside - self.mean) > 0
        return sqrt(inside * (1 - inside) / (self.texts + 1)) if is_extreme else 0.0

    def _inside(self, share: float) -> float:
        """The share, moved off 0 and 1 by half a text."""
        return min(max(share, 0.5 / (self.texts + 1)), 1 - 0.5 / (self.texts + 1))

    def _logit(self, number: float) -> float:
        return log(self._inside(number) / (1 - self._inside(number))) if self.is_share else number

    def _inverse(self, number: float) -> float:
        return 1 / (1 + exp(-number)) if self.is_share else number

    def _scaled(self, error: float) -> float:
        """The error on the scale of `_logit`."""
        inside = self._inside(self.mean)
        return max(error, self._least()) / (inside * (1 - inside)) if self.is_share else error


def effect_of(values: Cells, *, is_share: bool = False) -> Effect | None:
    """The mean effect of [seed text] values; None if no value is defined.

    Differences of 0s and 1s count with two texts more, a 1 and a -1, as in `spread_of_difference`.
    """
    values = values.detach().cpu().double()
    texts, mean = defined_texts(values), values.nanmean().item()
    if not texts:
        return None
    if not is_share and texts > 1 and holds_shares(values.abs()):
        more = torch.ones(len(values), 1, dtype=values.dtype).masked_fill(values.isnan().all(1, keepdim=True), nan)
        values = torch.cat([values, more, -more], 1)
    spread = crossed(values)
    seeds = spread.seed_count
    of_seeds = spread.seeds[0] * seeds if seeds > 1 else nan
    return Effect(mean, seeds, texts, of_seeds, max(0.0, spread.texts[0] - spread.cells[0]), seeds - 1.0, is_share)


def moderated(effects: Sequence[Effect]) -> list[Effect]:
    """The same effects; the variance between seeds of each is drawn toward the mean of all.

    (2 s0^2 + (S - 1) s^2) / (S + 1) with S + 1 degrees of freedom, at most as many as all datasets have together; s0^2
    is the mean over datasets.
    """
    known = [effect.of_seeds for effect in effects if effect.seeds > 1]
    if not known:
        return list(effects)
    prior, total = sum(known) / len(known), float(sum(effect.seeds - 1 for effect in effects))
    return [
        replace(
            effect,
            of_seeds=(PRIOR_DF * prior + ((effect.seeds - 1) * effect.of_seeds if effect.seeds > 1 else 0.0))
            / (PRIOR_DF + effect.seeds - 1),
            df=min(PRIOR_DF + effect.seeds - 1, total),
        )
        for effect in effects
    ]


def mean_of_sets(effects: Sequence[Effect]) -> tuple[Estimate | None, tuple[float, float] | None]:
    """The mean over datasets with Hartung and Knapp's interval, and the prediction interval of a new dataset.

    Variances between datasets by DerSimonian and Laird (1986, Meta-analysis in clinical trials), the interval by
    Hartung and Knapp (2001, A refined method for the meta-analysis of controlled clinical trials with binary outcome).
    The first needs two datasets, the second three; with fewer they are None.
    """
    errors = [effect.error() for effect in effects]
    if len(effects) < 2 or any(isnan(error) for error in errors):
        return None, None
    means = torch.tensor([effect.mean for effect in effects], dtype=torch.float64)
    own = torch.tensor(errors, dtype=torch.float64).square().clamp_min(1e-18)
    weights, df = 1 / own, len(effects) - 1.0
    fixed = (weights * means).sum() / weights.sum()
    spread = (weights * (means - fixed).square()).sum() - df
    between = (spread / (weights.sum() - weights.square().sum() / weights.sum())).clamp_min(0.0)
    weights = 1 / (own + between)
    mean = ((weights * means).sum() / weights.sum()).item()
    error = sqrt((weights * (means - mean).square()).sum().item() / df / weights.sum().item())
    half = t_quantile((1 - LEVEL) / 2, df) * error
    estimate = Estimate(mean, mean - half, mean + half, len(effects))
    if len(effects) < 3:
        return estimate, None
    half = t_quantile((1 - LEVEL) / 2, df - 1) * sqrt(between.item() + error**2)
    return estimate, (mean - half, mean + half)
