"""Effects on several datasets: their intervals contain the truth as often as they should."""

from math import isnan, sqrt

import numpy as np
import pytest
import torch
from scipy import stats

from heedful.measures import auroc_values
from heedful.measures.set_effects import Effect, effect_of, mean_of_sets, moderated
from support.synthetic_results import known

SETS, SIMULATIONS = 4, 400
REVIEW = {2: 0.947, 3: 0.961, 5: 0.965}
"""Coverage of 95% intervals if the seeds' deviations differ by a factor of two between datasets, by number of seeds."""


def made(generator, seeds, *, texts=0.0, deviation=1.0):
    """[seed text] around 0: seeds differ by this much, and all share the error of the texts."""
    shift, shared = generator.normal(size=(seeds, 1)), generator.normal(size=(1, 20))
    return torch.from_numpy(deviation * shift + texts * shared)


def test_moderated_intervals_of_few_seeds_cover_as_often_as_the_review_measured():
    for seeds, expected in REVIEW.items():
        generator, covered = np.random.default_rng(seeds), []
        for _ in range(SIMULATIONS):
            deviations = np.exp(0.7 * generator.normal(size=SETS))
            effects = [known(effect_of(made(generator, seeds, deviation=each))) for each in deviations]
            ends = [effect.ends() for effect in moderated(effects)]
            covered += [low <= 0 <= high for low, high in ends]
        assert np.mean(covered) == pytest.approx(expected, abs=0.02), seeds


def test_seeds_and_texts_both_count():
    generator, covered = np.random.default_rng(1), []
    for _ in range(200):
        effects = [known(effect_of(made(generator, 3, texts=3.0))) for _ in range(SETS)]
        covered += [low <= 0 <= high for low, high in (effect.ends() for effect in moderated(effects))]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_the_variance_between_seeds_is_drawn_toward_the_mean_of_all_by_hand():
    first, second = Effect(0.0, 2, 9, 1.0, 0.0, 1.0), Effect(0.0, 4, 9, 3.0, 0.0, 3.0)
    single = Effect(0.0, 1, 9, float("nan"), 0.5, 0.0)
    moved = moderated([first, second, single])
    assert [effect.of_seeds for effect in moved] == pytest.approx([(2 * 2 + 1) / 3, (2 * 2 + 3 * 3) / 5, 2.0])
    assert [effect.df for effect in moved] == [3, 4, 2]
    (alone,) = moderated([first])
    assert (alone.of_seeds, alone.df) == (1.0, 1.0)  # nothing is known beyond its own two seeds
    low, high = alone.ends()
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 1, scale=sqrt(1 / 2)))
    assert isnan(moderated([single])[0].ends()[0])


def test_shares_stay_inside_their_range_and_a_share_of_1_is_not_certain():
    generator = np.random.default_rng(0)
    for chance in (0.02, 0.5, 0.98):
        values = torch.from_numpy((generator.random((3, 60)) < chance).astype(float))
        effect = known(effect_of(values, is_share=True))
        low, high = effect.ends()
        assert 0 <= low <= effect.mean <= high <= 1
    low, high = known(effect_of(torch.ones(3, 50), is_share=True)).ends()
    assert 0.8 < low < 1 == high
    assert known(effect_of(torch.ones(3, 50), is_share=True)).tail(0.5) < 0.025


def test_delong_by_hand():
    """Its variance of AUROC, S10 / m + S01 / n, from the values of `auroc_values`; and it covers the truth."""
    group = torch.arange(12) < 5
    scores = torch.randn(12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = auroc_values(scores, group, ~group)
    wins = (scores[group][:, None] > scores[~group][None, :]).double()
    assert values.mean().item() == pytest.approx(wins.mean().item())
    own = values.var().item() / 12
    delong = (wins.mean(1).var() / 5 + wins.mean(0).var() / 7).item()
    assert own == pytest.approx(delong, rel=0.15)  # n - 1 for each group, or for both together
    generator, covered = torch.Generator().manual_seed(1), []
    truth, group = stats.norm.cdf(1 / sqrt(2)), torch.arange(60) < 20
    for _ in range(200):
        scores = torch.randn(60, generator=generator, dtype=torch.float64) + group
        effect = known(effect_of(auroc_values(scores, group, ~group).repeat(2, 1), is_share=True))
        low, high = effect.ends()
        covered.append(low <= truth <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_what_is_enough_and_the_mean_of_sets():
    effect = Effect(0.1, 3, 100, 0.01, 0.0, 4.0)
    seeds, factor = known(effect.enough(0.05, 0.95))
    assert factor == 1 and 10 < seeds < 25
    assert stats.t.ppf(0.975, seeds + 1) * sqrt(0.01 / seeds) <= 0.05
    of_texts = Effect(0.1, 3, 100, 1e-6, 0.01, 4.0)
    assert known(of_texts.enough(0.05, 0.95))[1] > 1
    assert effect.enough(1e-6, 0.95) is None and effect.enough(-1.0, 0.95) is None
    assert mean_of_sets([effect]) == (None, None)
