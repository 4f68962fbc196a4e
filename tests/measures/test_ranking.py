import warnings
from itertools import combinations, permutations
from math import isnan, nan

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score
from torch.testing import assert_close

from heedful.measures import (
    auroc_per_item,
    kendall_tau,
    rank_descending,
    ties_within,
    top_k_overlap,
)
from support.folders import each_source, golden_folder, golden_pairs, needs_golden
from support.strategies import masks, padded, score_pairs, scores

# Every measure of two rankings, as a number per row.
MEASURES = {
    "tau": lambda a, b, mask: kendall_tau(a, b, mask)[0],
    "p": lambda a, b, mask: kendall_tau(a, b, mask)[1],
    "overlap": lambda a, b, mask: top_k_overlap(a, b, mask, 3),
}
each_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def as_row(values: list[float]) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


def scipy_tau(a, b):
    with warnings.catch_warnings():
        # scipy warns of a single item and of constant values; we compare the NaN that it returns.
        warnings.simplefilter("ignore")
        return kendalltau(a, b)


def tau_of_all_pairs(a: list[float], b: list[float]) -> float:
    """Kendall's tau-b by its definition."""
    signs = [(np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    untied_a, untied_b = sum(x != 0 for x, _ in signs), sum(y != 0 for _, y in signs)
    return sum(x * y for x, y in signs) / (untied_a * untied_b) ** 0.5 if untied_a * untied_b else nan


def top_k_list(values: list[float], k: int) -> list[int]:
    return sorted(range(len(values)), key=lambda position: -values[position])[:k]


# rank_descending


@given(masks().flatmap(lambda mask: st.tuples(scores(mask), st.just(mask))))
def test_order_is_by_value_then_position_with_the_masked_last(pair):
    values, mask = pair
    for row, real, order in zip(values.tolist(), mask.tolist(), rank_descending(values, mask).tolist(), strict=True):
        by_hand = sorted(range(len(row)), key=lambda position: (not real[position], -row[position] * real[position]))
        assert order == by_hand


def test_equal_values_keep_their_order_however_many_there_are():
    values = torch.zeros(2, 5000)
    assert torch.equal(rank_descending(values), torch.arange(5000).expand(2, -1))
    assert torch.equal(rank_descending(values, torch.ones_like(values, dtype=torch.bool)), rank_descending(values))


def test_an_item_of_minus_infinity_still_comes_before_padding():
    values = torch.tensor([[9.0, -torch.inf, 1.0, torch.nan]])
    assert rank_descending(values, torch.tensor([[False, True, True, False]])).tolist() == [[2, 1, 0, 3]]


# ties_within


@given(masks().flatmap(lambda mask: st.tuples(scores(mask), st.just(mask))), st.sampled_from([0.0, 1e-6, 0.03, 0.3]))
def test_tied_are_those_that_a_chain_of_close_values_joins(pair, tolerance):
    values, mask = pair
    ranks = ties_within(values, mask, tolerance)
    assert (ranks[~mask] == 0).all()
    for row in range(len(mask)):
        real = values[row][mask[row]].tolist()
        limit = tolerance * max(abs(value) for value in real)
        group = list(range(len(real)))
        for _ in real:
            for i, j in combinations(range(len(real)), 2):
                if real[i] == real[j] or abs(real[i] - real[j]) < limit:
                    group[i] = group[j] = min(group[i], group[j])
        lowest = {number: min(v for v, g in zip(real, group, strict=True) if g == number) for number in group}
        dense = sorted(lowest.values())
        assert ranks[row][mask[row]].tolist() == [dense.index(lowest[number]) + 1 for number in group]


def test_rounding_does_not_break_a_tie_but_a_difference_does():
    row = as_row([0.1 + 0.2, 0.3, 0.3 + 2e-6, -1.0])
    assert ties_within(row).tolist() == [[2, 2, 3, 1]]
    assert ties_within(row, tolerance=0.0).tolist() == [[3, 2, 4, 1]]
    assert ties_within(row, tolerance=1e-5).tolist() == [[2, 2, 2, 1]]
    assert ties_within(as_row([0.0, 0.25, 1.0]), tolerance=0.25).tolist() == [[1, 2, 3]]  # just not closer
    assert ties_within(as_row([0.0, 0.0, 0.0])).tolist() == [[1, 1, 1]]


def test_the_tolerance_is_a_share_of_the_largest_real_magnitude():
    mask = torch.tensor([[True, True, True, False]])
    assert ties_within(as_row([1e-9, 2e-9, -3e-9, 7.0]), mask).tolist() == [[2, 3, 1, 0]]
    assert ties_within(as_row([1e-9, 2e-9, -3.0, 7.0]), mask).tolist() == [[2, 2, 1, 0]]


def test_nan_has_no_rank_and_infinities_are_apart_from_all_else():
    ranks = ties_within(as_row([nan, 1.0, 2.0])).tolist()[0]
    assert isnan(ranks[0]) and ranks[1:] == [1, 2]
    assert ties_within(as_row([torch.inf, 1.0, torch.inf, -torch.inf])).tolist() == [[3, 2, 3, 1]]


# kendall_tau


@given(score_pairs())
def test_tau_and_p_are_those_of_scipy_and_of_all_pairs(pair):
    a, b, mask = pair
    tau, p = kendall_tau(a, b, mask)
    for row in range(len(mask)):
        real_a, real_b = (tensor[row][mask[row]].tolist() for tensor in (a, b))
        assert tau[row].item() == pytest.approx(tau_of_all_pairs(real_a, real_b), abs=1e-12, nan_ok=True)
        expected = scipy_tau(real_a, real_b)
        assert tau[row].item() == pytest.approx(expected.statistic, abs=1e-12, nan_ok=True)
        assert p[row].item() == pytest.approx(expected.pvalue, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("levels", [None, 3, 11], ids=["no ties", "many ties", "some ties"])
def test_tau_and_p_are_those_of_scipy_for_every_length_up_to_60(levels):
    generator = torch.Generator().manual_seed(0)
    lengths = torch.arange(1, 61)
    mask = torch.arange(60) < lengths.unsqueeze(-1)
    a, b = (torch.rand(60, 60, dtype=torch.float64, generator=generator) for _ in range(2))
    b = torch.where((lengths % 2 == 0).unsqueeze(-1), b, a + b / 2)  # every other row correlated, for small p too
    if levels is not None:
        a, b = (a * levels).floor(), (b * levels).floor()
    tau, p = kendall_tau(a, b, mask)
    for row in range(60):
        expected = scipy_tau(a[row][mask[row]].numpy(), b[row][mask[row]].numpy())
        assert tau[row].item() == pytest.approx(expected.statistic, abs=1e-12, nan_ok=True)
        assert p[row].item() == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300, nan_ok=True)


def test_p_is_exact_beyond_33_items_only_where_at_most_one_pair_is_out_of_line():
    for n in (2, 3, 4, 32, 33, 34, 35, 60, 150, 200):
        for sign in (1, -1):
            for out_of_line in (0, 1, 2):
                order = list(range(n))
                for swap in range(min(out_of_line, n // 2)):
                    order[2 * swap], order[2 * swap + 1] = order[2 * swap + 1], order[2 * swap]
                a, b = as_row(list(range(n))), sign * as_row(order)
                expected = scipy_tau(a[0].numpy(), b[0].numpy())
                tau, p = kendall_tau(a, b)
                assert tau.item() == pytest.approx(expected.statistic, abs=1e-12)
                assert p.item() == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)


def test_exact_p_is_the_share_of_all_orders_at_least_as_extreme():
    for n in (2, 3, 4, 5, 6):
        orders = torch.tensor(list(permutations(range(n))))
        tau, p = kendall_tau(torch.arange(n).expand_as(orders), orders)
        share = (tau.abs() >= tau.abs().unsqueeze(-1) - 1e-12).double().mean(-1)
        assert_close(p, share, atol=1e-12, rtol=0)


def test_tau_of_long_texts_is_that_of_scipy():
    generator = torch.Generator().manual_seed(0)
    a = torch.rand(3, 2000, dtype=torch.float64, generator=generator)
    b = (a + torch.rand(3, 2000, dtype=torch.float64, generator=generator)).mul(100).floor()
    mask = torch.arange(2000) < torch.tensor([[2000], [1999], [1025]])
    tau, p = kendall_tau(a, b, mask)
    for row in range(3):
        expected = scipy_tau(a[row][mask[row]].numpy(), b[row][mask[row]].numpy())
        assert tau[row].item() == pytest.approx(expected.statistic, abs=1e-12)
        assert p[row].item() == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)


def test_tau_is_undefined_for_one_item_or_where_all_is_tied():
    a = torch.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0], [1.0, 2.0, 3.0], [1.0, nan, 3.0], [nan, 2.0, 3.0]])
    b = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [7.0, 7.0, 7.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[False, True, False], [True] * 3, [True] * 3, [True] * 3, [False, True, True]])
    tau, p = kendall_tau(a, b, mask)
    assert tau.isnan().tolist() == p.isnan().tolist() == [True, True, True, True, False]
    assert tau[4] == 1


def test_infinity_is_larger_than_any_number():
    tau, _ = kendall_tau(as_row([torch.inf, torch.finfo(torch.float64).max, 1.0]), as_row([3.0, 2.0, 1.0]))
    assert tau.item() == 1


def test_ranks_of_ties_within_make_tau_blind_to_rounding():
    attention = as_row([0.1 + 0.2, 0.3, 0.1, 0.3])
    importance = as_row([2.0, 2.0 - 1e-15, 1.0, 2.0 + 1e-12])
    assert kendall_tau(attention, importance)[0].item() < 0.99
    assert kendall_tau(ties_within(attention), ties_within(importance))[0].item() == 1


@each_source
def test_tau_is_that_of_the_reference_code(source):
    for pair in golden_pairs(source):
        tau, p = kendall_tau(as_row(pair["a"]), as_row(pair["b"]))
        assert tau.item() == pytest.approx(pair["kendalltau"], abs=1e-12)
        assert p.item() == pytest.approx(pair["p"], abs=1e-9)


@needs_golden
@pytest.mark.parametrize("name", ["jw_sst_tiny_lstm", "jw_sst_tiny_average"])
def test_tau_is_that_of_the_reference_code_on_a_ragged_batch_of_real_texts(name):
    stored = np.load(golden_folder("full") / f"{name}.npz")
    attention, position = torch.tensor(stored["attn_f64"]), torch.arange(stored["attn_f64"].shape[1])
    # Between the start symbol and the end symbol.
    mask = (position > 0) & (position < torch.tensor(stored["lengths"]).unsqueeze(-1) - 1)
    importances = {
        "g_XxE[X]": torch.tensor(stored["grad_norm_XxE[X]_f64"]),
        "loo": (torch.tensor(stored["loo_out_f64"]) - torch.tensor(stored["yhat_f64"]).unsqueeze(-1)).abs(),
    }
    for key, importance in importances.items():
        tau, p = kendall_tau(attention, importance, mask)
        assert_close(tau, torch.tensor(stored[f"tau_{key}_f64"]), atol=1e-12, rtol=0)
        assert_close(p, torch.tensor(stored[f"p_{key}_f64"]), atol=1e-9, rtol=0)


# the top k


@given(score_pairs(), st.integers(1, 13))
def test_the_overlap_of_the_top_k_is_that_of_lists(pair, k):
    a, b, mask = pair
    overlap = top_k_overlap(a, b, mask, k)
    for row in range(len(mask)):
        first, second = (top_k_list(tensor[row][mask[row]].tolist(), k) for tensor in (a, b))
        assert overlap[row].item() == len({*first} & {*second}) / len(first)


def test_of_equal_values_the_lower_position_is_in_the_top():
    tied, clear = as_row([1.0, 1.0, 1.0]), as_row([3.0, 2.0, 1.0])
    assert top_k_overlap(tied, clear, None, 2).item() == 1
    assert top_k_overlap(tied, clear.flip(-1), None, 1).item() == 0


def test_top_k_of_nothing_is_undefined():
    row = as_row([1.0, 2.0, 3.0])
    assert top_k_overlap(row, row, None, 0).isnan().all()
    assert top_k_overlap(row, row, torch.zeros(1, 3, dtype=torch.bool), 2).isnan().all()
    with_nan = as_row([1.0, nan, 3.0])
    assert top_k_overlap(row, with_nan, None, 2).isnan().all()
    assert not top_k_overlap(row, with_nan, torch.tensor([[True, False, True]]), 2).isnan().any()


# all of them


@each_measure
@given(score_pairs())
def test_padding_batch_order_and_batch_size_change_nothing(measure, pair):
    a, b, mask = pair
    whole = measure(a, b, mask)
    assert_same(measure(padded(a), padded(b), padded(mask)), whole)
    assert_same(measure(a.flip(0), b.flip(0), mask.flip(0)).flip(0), whole)
    assert_same(torch.stack([measure(*row) for row in zip(a, b, mask, strict=True)]), whole)
    assert_same(measure(*(tensor.unsqueeze(1).expand(-1, 2, -1) for tensor in pair))[:, 1], whole)


@each_measure
@given(score_pairs())
def test_measures_are_symmetric_and_see_only_the_order(measure, pair):
    a, b, mask = pair
    whole = measure(a, b, mask)
    assert_same(measure(b, a, mask), whole)
    assert_same(measure(2 * a, b, mask), whole)
    assert_same(measure(ties_within(a, mask, 0.0), ties_within(b, mask, 0.0), mask), whole)


@given(pair=score_pairs(), name=st.sampled_from(["tau", "p"]))
def test_tau_does_not_depend_on_the_order_of_the_items(name, pair):
    a, b, mask = pair
    assert_same(MEASURES[name](a.flip(-1), b.flip(-1), mask.flip(-1)), MEASURES[name](a, b, mask))


@each_measure
@given(score_pairs())
def test_arguments_are_left_untouched(measure, pair):
    before = [tensor.clone() for tensor in pair]
    measure(*pair)
    ties_within(pair[0], pair[2])
    rank_descending(pair[0], pair[2])
    assert all(torch.equal(*both) for both in zip(before, pair, strict=True))


def assert_same(ours: torch.Tensor, expected: torch.Tensor) -> None:
    assert_close(ours, expected, atol=1e-14, rtol=0, equal_nan=True)


def reference_shares_below(values: list[float], others: list[bool]) -> list[float]:
    """The share of the others below each value, pair by pair."""
    group = [value for value, is_other in zip(values, others, strict=True) if is_other]
    return [sum((other < value) + (other == value) / 2 for other in group) / len(group) for value in values]


@given(score_pairs())
def test_shares_are_those_of_all_pairs(pair):
    values, _, others = pair
    result = auroc_per_item(values, others)
    for row, is_other, shares in zip(values.tolist(), others.tolist(), result, strict=True):
        assert_close(shares, torch.tensor(reference_shares_below(row, is_other), dtype=torch.float64))


def test_the_mean_over_a_group_is_the_area_under_the_roc_curve():
    draw = torch.Generator().manual_seed(0)
    values, others = torch.randint(0, 7, (50,), generator=draw).double(), torch.rand(50, generator=draw) < 0.3
    wanted = roc_auc_score((~others).numpy(), values.numpy())
    assert_close(auroc_per_item(values, others)[~others].mean().item(), wanted)


@given(score_pairs())
def test_only_the_order_counts(pair):
    values, _, others = pair
    assert_close(auroc_per_item(values, others), auroc_per_item(2 * values, others))
    assert_close(auroc_per_item(values, others) + auroc_per_item(-values, others), torch.ones_like(values))


def test_without_others_or_a_value_there_is_no_share():
    values = torch.tensor([[1.0, torch.nan, 2.0], [1.0, 2.0, 3.0]])
    others = torch.tensor([[True, True, False], [False, False, False]])
    result = auroc_per_item(values, others)
    assert result[0].isnan().tolist() == [False, True, False] and result[0, 2] == 1
    assert result[1].isnan().all()


def test_infinite_values_have_their_place():
    values = torch.tensor([-torch.inf, 0.0, torch.inf, torch.inf])
    assert auroc_per_item(values, torch.tensor([True, True, True, False])).tolist() == [1 / 6, 0.5, 5 / 6, 5 / 6]
