import importlib.util
from math import isnan, nan, sqrt
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from heedful.measures import (
    Estimate,
    bounded_interval,
    difference_interval,
    mean_interval,
    score_interval,
)
from heedful.measures.interval import beyond_luck, seeds_dominate, share_interval, wilson_ends
from heedful.measures.mean_moments import skew_corrected_interval
from heedful.measures.two_way_variance import crossed
from support.strategies import text_values


def normal(*shape: int, number: int = 1) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(number))


def skewed(*shape: int, number: int = 1) -> torch.Tensor:
    return normal(*shape, number=number).exp()


def numbers(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def width(estimate: Estimate) -> float:
    return estimate.high - estimate.low


def is_undefined(estimate: Estimate) -> bool:
    return all(map(isnan, numbers(estimate)))


def agresti_coull(ones: int, n: int) -> tuple[float, float]:
    """With t in place of the normal quantile."""
    t = stats.t.ppf(0.975, n - 1)
    share = (ones + t**2 / 2) / (n + t**2)
    half = t * sqrt(share * (1 - share) / (n + t**2))
    return max(0.0, share - half), min(1.0, share + half)


# the mean over texts


def test_of_symmetric_values_it_is_the_t_interval():
    for level in (0.8, 0.95):
        values = torch.tensor([-3.0, -1.0, 0.0, 1.0, 3.0]) + 7
        expected = stats.t.interval(level, 4, loc=7, scale=stats.sem(values.numpy()))
        assert numbers(mean_interval(values, level=level)) == pytest.approx((7, *expected))


def test_the_interval_reaches_further_on_the_side_of_the_longer_tail():
    estimate = mean_interval(skewed(20))
    assert estimate.high - estimate.value > 1.2 * (estimate.value - estimate.low)


def test_shares_have_the_interval_of_agresti_and_coull():
    for ones in (0, 1, 6, 10, 20):
        values = (torch.arange(20) < ones).double()
        assert numbers(mean_interval(values)) == pytest.approx((ones / 20, *agresti_coull(ones, 20)))


def test_shares_that_are_all_equal_are_not_certain():
    for share in (0.0, 1.0):
        for seeds in (1, 3):
            estimate = mean_interval(torch.full((seeds, 20), share))
            # As many texts as one seed has: nothing says that seeds differ.
            assert width(estimate) == pytest.approx(agresti_coull(20, 20)[1] - agresti_coull(20, 20)[0])
            assert estimate.low <= share <= estimate.high and estimate.low >= 0 and estimate.high <= 1


@given(text_values())
def test_undefined_values_are_left_out_and_the_rest_is_counted(values):
    defined = values[~values.isnan()]
    estimate = mean_interval(values)
    assert numbers(estimate) == pytest.approx(numbers(mean_interval(defined)))
    assert estimate.n == len(defined)
    assert estimate.value == pytest.approx(defined.mean().item(), abs=1e-12)
    assert estimate.low <= estimate.value <= estimate.high


def test_one_text_has_a_mean_but_no_interval():
    for values in (torch.tensor([nan, 3.0]), torch.tensor([[nan, 2.0], [nan, 4.0]])):
        estimate = mean_interval(values)
        assert (estimate.value, estimate.n) == (3.0, 1)
        assert isnan(estimate.low) and isnan(estimate.high)


def test_no_text_has_no_mean():
    for values in (torch.tensor([nan, nan]), torch.zeros(0), torch.full((2, 3), nan)):
        for estimate in (
            mean_interval(values),
            difference_interval(values, values),
            score_interval(values, values, values),
        ):
            assert is_undefined(estimate) and estimate.n == 0


# seeds


def test_one_seed_is_no_seed():
    values = skewed(13)
    assert mean_interval(values.unsqueeze(0)) == mean_interval(values)


def test_the_variance_is_that_of_crossed_random_effects():
    values = normal(3, 7) + torch.tensor([[0.0], [2.0], [3.0]]) + torch.arange(7.0) ** 2
    total = values.mean()
    by_seed, by_text = values.mean(1, keepdim=True), values.mean(0, keepdim=True)
    of_seeds = 7 * ((by_seed - total) ** 2).sum() / 2
    of_texts = 3 * ((by_text - total) ** 2).sum() / 6
    of_cells = ((values - by_seed - by_text + total) ** 2).sum() / 12
    moments = crossed(values).moments()
    assert moments.variance == pytest.approx(((of_seeds + of_texts - of_cells) / 21).item())
    # At most those of the seeds and of the texts together.
    assert 2 <= moments.df <= 8


def test_missing_cells_are_fitted_by_least_squares():
    values = normal(3, 7)
    values[0, 1], values[2, 1], values[2, 4] = nan, nan, nan
    defined = ~values.isnan()
    seed, text = defined.nonzero().unbind(1)
    design = torch.cat([torch.eye(3)[seed], torch.eye(7)[text]], 1).double()
    cells = values[defined]
    fitted = design @ (torch.linalg.pinv(design) @ cells)
    expected = ((cells - fitted) ** 2).sum().item() / (18 - 9) / 18
    assert crossed(values).cells[0] == pytest.approx(expected)
    assert mean_interval(values).value == pytest.approx(cells.mean().item())


def test_seeds_that_differ_widen_the_interval():
    by_seed = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).unsqueeze(-1).expand(5, 11)
    expected = stats.t.interval(0.95, 4, loc=0, scale=sqrt(2.5 / 5))
    assert numbers(mean_interval(by_seed)) == pytest.approx((0, *expected))


def test_five_seeds_that_agree_say_no_more_of_the_texts_than_one():
    values = skewed(101)
    assert numbers(mean_interval(values.expand(5, -1))) == pytest.approx(numbers(mean_interval(values)))


def test_a_seed_without_a_value_is_left_out_wherever_it_stands():
    for place in (0, 1, 3):
        values, undefined = skewed(3, 11), torch.full((1, 11), nan)
        with_gap = torch.cat([values[:place], undefined, values[place:]])
        assert numbers(mean_interval(with_gap)) == pytest.approx(numbers(mean_interval(values)))
        best = values + 3
        assert numbers(score_interval(with_gap, torch.zeros(4, 11), torch.cat([best[:1], best]))) == pytest.approx(
            numbers(
                score_interval(
                    values, torch.zeros(3, 11), torch.cat([best[:1], best])[[k for k in range(4) if k != place]]
                )
            )
        )


# properties

CASES = {"continuous": skewed, "shares": lambda *shape, number=1: (normal(*shape, number=number) > 0.5).double()}


@pytest.mark.parametrize("draw", CASES.values(), ids=CASES)
@given(seeds=st.integers(1, 4), texts=st.integers(2, 9), number=st.integers(0, 99), padding=st.integers(0, 3))
def test_neither_padding_nor_order_changes_anything(draw, seeds, texts, number, padding):
    values = draw(seeds, texts, number=number)
    best = values + skewed(seeds, texts, number=number + 100)
    padded = torch.cat([values, torch.full((seeds, padding), nan)], 1)
    shuffled = padded.roll(1, 0)[:, torch.randperm(texts + padding, generator=torch.Generator().manual_seed(number))]
    assert numbers(mean_interval(shuffled)) == pytest.approx(numbers(mean_interval(values)), rel=1e-6, abs=1e-9)
    assert mean_interval(shuffled).n == texts
    order = torch.arange(texts).roll(1)
    scores = [
        score_interval(v, torch.zeros_like(v), b) for v, b in ((values, best), (values[:, order], best[:, order]))
    ]
    assert numbers(scores[0]) == pytest.approx(numbers(scores[1]), rel=1e-6, abs=1e-9, nan_ok=True)


@given(
    number=st.integers(0, 99),
    factor=st.floats(0.1, 10) | st.floats(-10, -0.1),
    shift=st.floats(-5, 5),
    seeds=st.integers(1, 3),
)
def test_scale_and_shift_carry_over(number, factor, shift, seeds):
    values = skewed(seeds, 11, number=number)
    estimate, moved = mean_interval(values), mean_interval(factor * values + shift)
    ends = sorted((factor * estimate.low + shift, factor * estimate.high + shift))
    assert numbers(moved) == pytest.approx((factor * estimate.value + shift, *ends), abs=1e-9)


@given(number=st.integers(0, 99), factor=st.floats(0.1, 10), shift=st.floats(-5, 5), seeds=st.integers(1, 3))
def test_a_score_has_neither_scale_nor_shift(number, factor, shift, seeds):
    triple = [
        normal(seeds, 11, number=number) + mean for mean, number in ((1, number), (0, number + 1), (3, number + 2))
    ]
    moved = [factor * part + shift for part in triple]
    assert numbers(score_interval(*moved)) == pytest.approx(numbers(score_interval(*triple)), rel=1e-5, nan_ok=True)


@pytest.mark.parametrize("draw", CASES.values(), ids=CASES)
@given(number=st.integers(0, 99), seeds=st.integers(1, 3))
def test_the_width_grows_with_the_level_and_shrinks_with_texts(draw, number, seeds):
    values = draw(seeds, 20, number=number)
    assert width(mean_interval(values, level=0.99)) >= width(mean_interval(values)) - 1e-12
    assert width(mean_interval(values[0].repeat(4))) <= width(mean_interval(values[0])) + 1e-12


# differences


def test_a_difference_is_that_of_the_cells_they_share():
    values, others = skewed(2, 13), normal(2, 13, number=2)
    values[0, 3], others[1, 5] = nan, nan
    assert difference_interval(values, others) == mean_interval(values - others)


def test_a_difference_that_happens_to_be_0_or_1_is_no_share():
    # Two texts of twenty say nothing: the next two might well be -1.
    values = (torch.arange(20) < 2).double()
    assert difference_interval(values, torch.zeros(20)).low < 0 < mean_interval(values).low


def test_rare_differences_of_zeros_and_ones_are_not_certain():
    for seeds in (1, 3):
        for differences in ([0] * 20, [-1] + [0] * 19, [-1, 1] + [0] * 18):
            values = torch.tensor(differences, dtype=torch.float64).expand(seeds, -1)
            estimate = difference_interval(values, torch.zeros(seeds, 20))
            # With a 1 and a -1 more: the standard error is at least sqrt(2 / 22 / 21) = 0.066.
            assert estimate.low <= -0.1 and estimate.high >= 0.08


# the score


def test_the_floor_scores_0_and_the_best_scores_1_and_more_can_be_had():
    floor = normal(17)
    best = floor + 1 + normal(17, number=2).abs()
    for value, score in ((floor, 0), (best, 1), (2 * best - floor, 2)):
        # The same for every text, so the interval has no width.
        assert numbers(score_interval(value, floor, best)) == pytest.approx((score, score, score), abs=1e-9)


def test_at_either_end_of_a_score_zero_is_at_the_end_of_the_interval_of_the_mean():
    for seeds in (1, 4):
        for number in range(5):
            value, floor = skewed(seeds, 23, number=number), 0.1 * normal(seeds, 23, number=number + 10)
            best = value + 2 * skewed(seeds, 23, number=number + 20)
            estimate = score_interval(value, floor, best)
            assert estimate.value == pytest.approx(((value - floor).mean() / (best - floor).mean()).item())
            for rate in (estimate.low, estimate.high):
                ends = skew_corrected_interval(crossed((value - floor) - rate * (best - floor)).moments(), 0.95)
                assert min(map(abs, ends)) < 1e-6 * (ends[1] - ends[0])


def test_between_constants_a_score_is_a_mean_on_another_scale():
    values = (torch.arange(40) < 30).double()
    mean, score = mean_interval(values), score_interval(values, torch.full((40,), 0.5), torch.ones(40))
    assert numbers(score) == pytest.approx(tuple(2 * (number - 0.5) for number in numbers(mean)))


def test_scores_of_zeros_and_ones_are_never_certain():
    for seeds in (1, 3):
        for held in (0, 12):
            best = (torch.arange(20) < 12).double().expand(seeds, -1)
            value = (torch.arange(20) < held).double().expand(seeds, -1)
            estimate = score_interval(value, 0.1 * best, best)
            assert width(estimate) > 0.15


def test_the_score_is_undefined_where_best_minus_floor_may_be_zero_or_less():
    value, floor = normal(17), normal(17, number=2)
    for best in (floor, floor + 0.1 * normal(17, number=3), floor + 1e-15, floor - 1e-15, floor - 1):
        estimate = score_interval(value, floor, best)
        assert is_undefined(estimate) and estimate.n == 17


@given(st.integers(0, 50))
def test_the_score_is_defined_exactly_where_best_is_surely_above_the_floor(number):
    floor, best = torch.zeros(11, dtype=torch.float64), 0.6 + normal(11, number=number)
    assert is_undefined(score_interval(normal(11), floor, best)) != (mean_interval(best).low > 0)


def test_a_text_undefined_in_one_of_the_three_counts_in_none():
    value, floor, best = torch.tensor([0.5, 0.5, 9.0, nan]), torch.tensor([0.0, 0.0, nan, 9.0]), torch.full((4,), 2.0)
    assert score_interval(value, floor, best) == Estimate(0.25, 0.25, 0.25, 2)


def test_one_text_has_no_score():
    estimate = score_interval(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([2.0]))
    assert is_undefined(estimate) and estimate.n == 1


# within a range


def test_bounded_intervals_stay_within_the_range_and_far_from_it_change_nothing():
    high = torch.tensor([[0.9, 1.0, 0.99, 0.2], [1.0, 1.0, 0.98, 0.99]], dtype=torch.float64)
    assert mean_interval(high).high > 1
    bounded = bounded_interval(high)
    assert 0 < bounded.low < bounded.value < bounded.high < 1 and bounded.value == high.mean()
    assert bounded_interval(2 * high - 1).low > -1 and bounded_interval(2 * high - 1).high < 1  # as tau
    assert bounded_interval(torch.tensor([0.0, 0.0, 5.0])).low == 0.0
    assert bounded_interval(torch.tensor([-3.0, 0.0, 5.0])).low < -3.0
    narrow = 0.5 + 0.001 * normal(2, 50)
    assert numbers(bounded_interval(narrow)) == pytest.approx(numbers(mean_interval(narrow)), abs=1e-5)
    share = torch.tensor([1.0] * 18 + [0.0] * 2)
    assert bounded_interval(share) == mean_interval(share)
    assert bounded_interval(torch.full((4,), 0.0)) == mean_interval(torch.full((4,), 0.0))
    beyond = torch.tensor([1.5, 0.9, 0.4, 0.9, 1.2])  # of AUROC: the mean is inside, the values need not be
    assert bounded_interval(beyond, within=(0.0, 1.0)).high < 1 < mean_interval(beyond).high


def test_arguments_are_left_untouched():
    arguments = [normal(3, 5, number=number) for number in range(3)]
    before = [tensor.clone() for tensor in arguments]
    score_interval(*arguments)
    mean_interval(arguments[0])
    bounded_interval(arguments[0])
    assert all(torch.equal(*both) for both in zip(before, arguments, strict=True))


# A quick version of benchmarks/coverage.py: how often intervals contain the truth in worlds whose truth is known.


PATH = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
SIMULATIONS = 100
LEAST = 0.86
"""0.92 less twice its standard error with 100 simulations."""
WORLDS = [
    ("skewed", 1, 20, "none"),
    ("skewed", 3, 20, "dominating"),
    ("share 0.1", 5, 50, "equal"),
    ("share 0.98", 1, 20, "none"),
    ("permutation", 1, 20, "none"),
    ("erase_one .95", 3, 20, "dominating"),
]


@pytest.fixture(scope="module")
def benchmark():
    specification = importlib.util.spec_from_file_location("benchmark_of_coverage", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("world", "seeds", "texts", "training"), WORLDS)
def test_intervals_contain_the_truth(benchmark, world, seeds, texts, training):
    draw = benchmark.WORLDS[world]
    known = benchmark.truth(draw, 400_000)
    measured = benchmark.coverage(draw, benchmark.Design(seeds, texts, training), SIMULATIONS, known)
    assert measured.value >= LEAST
    assert measured.score is None or measured.score >= LEAST


# Shares of texts.


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


def test_seeds_that_differ_widen_the_interval_of_a_share():
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
