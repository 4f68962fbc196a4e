"""Intervals of shares and of their distance from luck."""

from math import isnan

import pytest
import torch
from scipy.stats import binomtest

from heedful.measures.share import beyond_luck, seeds_dominate, share_interval, wilson_ends


@pytest.mark.parametrize("successes, n", [(0, 5), (3, 7), (28, 30), (11, 11)])
def test_wilson_is_scipys(successes, n):
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson_ends(successes / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def cells(seeds, texts, share, seed_sd=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shares = (share + seed_sd * torch.randn(seeds, 1, generator=generator)).clamp(0, 1)
    return (torch.rand(seeds, texts, generator=generator) < shares).double()


def test_one_seed_has_wilsons_interval_of_its_defined_texts():
    values = torch.tensor([[1.0, 0.0, 1.0, torch.nan, 1.0]], dtype=torch.float64)
    low, high = wilson_ends(0.75, 4)
    assert (share_interval(values).low, share_interval(values).high) == pytest.approx((low, high))
    assert share_interval(values).n == 4


def test_several_seeds_are_never_surer_than_their_texts():
    values = cells(3, 50, 0.7).roll(1)
    estimate, (low, high) = share_interval(values), wilson_ends(values.mean().item(), 50)
    assert estimate.low <= low and estimate.high >= high


def test_seeds_that_differ_widen_the_interval():
    values = torch.cat([torch.ones(1, 100), torch.zeros(1, 100), torch.ones(1, 100)]).double()
    estimate = share_interval(values)
    assert estimate.low == 0.0 and estimate.high == 1.0
    assert seeds_dominate(values)
    assert not seeds_dominate(cells(3, 40, 0.5))


def test_no_defined_text_has_no_share():
    assert isnan(share_interval(torch.full((2, 3), torch.nan)).value)
    assert isnan(beyond_luck(torch.full((2, 3), torch.nan), torch.zeros(2, 3)).value)


def test_beyond_luck_is_0_at_luck_and_1_if_all_point():
    luck = torch.full((1, 40), 0.25, dtype=torch.float64)
    quarter = (torch.arange(40) % 4 == 0).double()[None]
    assert beyond_luck(quarter, luck).value == pytest.approx(0.0)
    assert beyond_luck(torch.ones(1, 40).double(), luck).value == 1.0


def test_luck_counts_where_the_share_is_defined():
    values = torch.tensor([[1.0, 0.0, torch.nan]], dtype=torch.float64)
    luck = torch.tensor([[0.2, 0.2, 0.9]], dtype=torch.float64)
    assert beyond_luck(values, luck).value == pytest.approx((0.5 - 0.2) / 0.8)


def test_the_interval_of_several_seeds_covers_the_truth():
    truth, covered = (0.6 - 0.2) / 0.8, 0
    for draw in range(200):
        estimate = beyond_luck(cells(3, 100, 0.6, 0.03, seed=draw), torch.full((3, 100), 0.2))
        covered += estimate.low <= truth <= estimate.high
    assert covered >= 186  # 95% less two standard errors, 1.5% each
