from math import isnan, nan, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heedful.measures import Estimate, bootstrap_interval, interval, paired_ratio_interval
from support.strategies import text_values


def seeded(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def normal(*shape: int, number: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded(number))


def is_undefined(estimate: Estimate) -> bool:
    return all(isnan(number) for number in (estimate.value, estimate.low, estimate.high))


def plain_scores(value, floor, best, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Score and best - floor of each resample, in a loop, from three separate means; the same draws as ours."""
    seeds, texts = value.shape
    generator = seeded()
    drawn_seeds = torch.randint(seeds, (resamples, seeds), generator=generator)
    drawn_texts = torch.randint(texts, (resamples, texts), generator=generator)
    scores, gaps = [], []
    for of_seeds, of_texts in zip(drawn_seeds, drawn_texts, strict=True):
        cells = [tensor[of_seeds][:, of_texts] for tensor in (value, floor, best)]
        counted = ~sum(cells).isnan()
        mean_value, mean_floor, mean_best = (cell[counted].mean().item() for cell in cells)
        scores.append((mean_value - mean_floor) / (mean_best - mean_floor))
        gaps.append(mean_best - mean_floor)
    return np.array(scores), np.array(gaps)


# the mean


def test_of_two_texts_the_resampled_means_are_known():
    # 0, 1/2 and 1 with chances 1/4, 1/2 and 1/4.
    values = torch.tensor([0.0, 1.0])
    assert bootstrap_interval(values, seeded()) == Estimate(0.5, 0.0, 1.0, 2)
    assert bootstrap_interval(values, seeded(), level=0.4) == Estimate(0.5, 0.5, 0.5, 2)


def test_the_interval_is_that_of_scipy():
    values = normal(211).exp()
    ours = bootstrap_interval(values, seeded(), resamples=4000, level=0.9)
    options = {"n_resamples": 4000, "confidence_level": 0.9, "method": "percentile", "random_state": 0}
    expected = stats.bootstrap((values.numpy(),), np.mean, **options).confidence_interval
    # An end of 4,000 resamples scatters by about 0.03 standard errors, so two of them differ by less than 0.2.
    tolerance = 0.2 * (values.std() / sqrt(211)).item()
    assert ours.value == pytest.approx(values.mean().item(), abs=1e-12)
    assert ours.low == pytest.approx(expected.low, abs=tolerance)
    assert ours.high == pytest.approx(expected.high, abs=tolerance)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    samples = normal(300, 50)
    held = 0
    for number, sample in enumerate(samples):
        estimate = bootstrap_interval(sample, seeded(number), resamples=300, level=0.9)
        held += estimate.low <= 0 <= estimate.high
    # 90 % with a standard error of 1.7; the percentile bootstrap of 50 texts is known to hold a point or two less.
    assert 0.84 <= held / 300 <= 0.95


@given(text_values())
def test_undefined_values_are_left_out_and_the_rest_is_counted(values):
    defined = values[~values.isnan()]
    with_undefined = bootstrap_interval(values, seeded(), resamples=50)
    assert with_undefined == bootstrap_interval(defined, seeded(), resamples=50)
    assert with_undefined.n == len(defined)
    assert with_undefined.value == pytest.approx(defined.mean().item(), abs=1e-12)
    assert defined.min() - 1e-12 <= with_undefined.low <= with_undefined.high <= defined.max() + 1e-12


def test_one_text_has_a_mean_but_no_interval():
    estimate = bootstrap_interval(torch.tensor([nan, 3.0]), seeded())
    assert (estimate.value, estimate.n) == (3.0, 1)
    assert isnan(estimate.low) and isnan(estimate.high)


@pytest.mark.parametrize("values", [torch.tensor([nan, nan]), torch.zeros(0), torch.full((2, 3), nan)])
def test_no_text_has_no_mean(values):
    estimate = bootstrap_interval(values, seeded())
    assert is_undefined(estimate) and estimate.n == 0


def test_the_same_generator_gives_the_same_interval_and_another_one_another():
    values = normal(31)
    assert bootstrap_interval(values, seeded(3)) == bootstrap_interval(values, seeded(3))
    assert bootstrap_interval(values, seeded(3)) != bootstrap_interval(values, seeded(4))


def test_memory_blocks_do_not_change_the_interval(monkeypatch):
    values = normal(3, 31)
    whole = bootstrap_interval(values, seeded())
    monkeypatch.setattr(interval, "BLOCK", 7 * 31 + 5)
    in_blocks = bootstrap_interval(values, seeded())
    assert in_blocks.low == pytest.approx(whole.low, abs=1e-14) and in_blocks.high == pytest.approx(
        whole.high, abs=1e-14
    )


def test_many_texts_are_no_trouble():
    values = normal(25_000)
    estimate = bootstrap_interval(values, seeded())
    # 1.96 standard errors on each side; of 1,000 resamples an end is known to about 0.08 of them.
    assert (estimate.high - estimate.low) * sqrt(25_000) / values.std().item() == pytest.approx(2 * 1.96, abs=0.4)


# seeds


def test_one_seed_is_no_seed():
    values = normal(13)
    assert bootstrap_interval(values.unsqueeze(0), seeded()) == bootstrap_interval(values, seeded())


def test_seeds_that_differ_widen_the_interval():
    by_seed = torch.arange(5.0).unsqueeze(-1).expand(5, 11)
    estimate = bootstrap_interval(by_seed, seeded())
    assert estimate.value == 2 and estimate.n == 11
    # The standard error of five seeds is sqrt(2 / 5) = 0.63; over texts alone it would be 0.
    assert estimate.low == pytest.approx(2 - 1.96 * 0.63, abs=0.25)
    assert estimate.high == pytest.approx(2 + 1.96 * 0.63, abs=0.25)


def test_five_seeds_that_agree_say_no_more_of_the_texts_than_one():
    values = normal(101)
    alone, repeated = bootstrap_interval(values, seeded()), bootstrap_interval(values.expand(5, -1), seeded())
    # Texts drawn for each seed apart would shrink it by sqrt(5).
    assert repeated.high - repeated.low == pytest.approx(alone.high - alone.low, rel=0.15)
    assert repeated.value == pytest.approx(alone.value, abs=1e-14)


def test_undefined_cells_count_neither_in_the_mean_nor_in_its_resamples():
    values = 5 + normal(3, 7)
    values[0, 1], values[2, 1], values[2, 4] = nan, nan, nan
    means, _ = plain_scores(values, torch.zeros_like(values), torch.ones_like(values), 400)
    estimate = bootstrap_interval(values, seeded(), resamples=400, level=0.9)
    assert estimate.value == pytest.approx(values.nanmean().item(), abs=1e-12)
    assert estimate.low == pytest.approx(np.quantile(means, 0.05, method="lower"), abs=1e-12)
    assert estimate.high == pytest.approx(np.quantile(means, 0.95, method="higher"), abs=1e-12)
    assert estimate.n == 7


def test_where_many_resamples_hold_nothing_that_counts_there_is_no_bound():
    # One draw in eight is of a seed and a text that do not meet.
    values = torch.tensor([[1.0, nan], [nan, 3.0]])
    assert bootstrap_interval(values, seeded()) == Estimate(2.0, -torch.inf, torch.inf, 2)


# the score


@pytest.mark.parametrize("seeds", [1, 5])
@pytest.mark.parametrize("undefined", [False, True])
def test_the_score_is_that_of_a_plain_loop_over_resamples(seeds, undefined):
    value, floor, best = (0.3 + 0.1 * normal(seeds, 17, number=2), 0.1 * normal(seeds, 17, number=3), None)
    best = 1 + 0.2 * normal(seeds, 17, number=4)
    if undefined and seeds > 1:
        value[0, 2], floor[1, 3], best[4, 3] = nan, nan, nan
    elif undefined:
        value, floor, best = (torch.cat([tensor, torch.ones(1, 2)], dim=-1) for tensor in (value, floor, best))
        value[0, 17], best[0, 18] = nan, nan
    counted = ~(value + floor + best).isnan()
    means = [tensor[counted].mean().item() for tensor in (value, floor, best)]
    scores, _ = plain_scores(value[:, :17], floor[:, :17], best[:, :17], 400)
    arguments = (value, floor, best) if seeds > 1 else (value[0], floor[0], best[0])
    estimate = paired_ratio_interval(*arguments, seeded(), resamples=400, level=0.9)
    assert estimate.value == pytest.approx((means[0] - means[1]) / (means[2] - means[1]), abs=1e-12)
    assert estimate.low == pytest.approx(np.quantile(scores, 0.05, method="lower"), abs=1e-12)
    assert estimate.high == pytest.approx(np.quantile(scores, 0.95, method="higher"), abs=1e-12)
    assert estimate.n == 17


def test_the_floor_scores_0_and_the_best_scores_1_and_more_can_be_had():
    floor = normal(17)
    best = floor + 1 + normal(17, number=2).abs()
    for value, score in ((floor, 0), (best, 1), (2 * best - floor, 2)):
        estimate = paired_ratio_interval(value, floor, best, seeded())
        # The same for every draw, so the interval has no width.
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((score, score, score), abs=1e-12)


def test_a_best_below_the_floor_counts_the_other_way():
    # Of a divergence the best is 0 and the floor above it.
    estimate = paired_ratio_interval(torch.full((3,), 0.25), torch.ones(3), torch.zeros(3), seeded())
    assert (estimate.value, estimate.low, estimate.high) == (0.75, 0.75, 0.75)


def test_the_score_is_undefined_where_best_minus_floor_may_be_zero():
    value, floor = normal(17), normal(17, number=2)
    for best in (floor, floor + 0.1 * normal(17, number=3), floor + 1e-15, floor - 1e-15):
        estimate = paired_ratio_interval(value, floor, best, seeded())
        assert is_undefined(estimate) and estimate.n == 17


@given(st.integers(0, 50))
def test_the_score_is_undefined_exactly_where_the_interval_of_best_minus_floor_contains_zero(number):
    floor = torch.zeros(11, dtype=torch.float64)
    best = 0.6 + normal(11, number=number)
    _, gaps = plain_scores(*(tensor.unsqueeze(0) for tensor in (best, floor, best)), 200)
    contains = np.quantile(gaps, 0.025, method="lower") <= 0 <= np.quantile(gaps, 0.975, method="higher")
    assert is_undefined(paired_ratio_interval(best, floor, best, seeded(), resamples=200)) == contains


def test_rare_resamples_without_a_score_do_not_spoil_the_interval():
    # All four draws fall on the last text with chance 1/256; best is then the floor.
    best = torch.tensor([1.0, 1.0, 1.0, 0.0])
    estimate = paired_ratio_interval(best / 2, torch.zeros(4), best, seeded())
    assert estimate == Estimate(0.5, 0.5, 0.5, 4)


def test_a_text_undefined_in_one_of_the_three_counts_in_none():
    value, floor, best = torch.tensor([0.5, 0.5, 9.0, nan]), torch.tensor([0.0, 0.0, nan, 9.0]), torch.ones(4)
    assert paired_ratio_interval(value, floor, best, seeded()) == Estimate(0.5, 0.5, 0.5, 2)


def test_one_text_has_no_score():
    estimate = paired_ratio_interval(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([2.0]), seeded())
    assert is_undefined(estimate) and estimate.n == 1


def test_arguments_are_left_untouched():
    arguments = [normal(3, 5, number=number) for number in range(3)]
    before = [tensor.clone() for tensor in arguments]
    paired_ratio_interval(*arguments, seeded())
    bootstrap_interval(arguments[0], seeded())
    assert all(torch.equal(*both) for both in zip(before, arguments, strict=True))
