"""Equal items and exact ties, where nothing but rounding is left to be scaled up or to decide."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.exact import (
    certified_radius_zero_sum,
    prediction_survives_without_top,
    some_permutation_flips,
    worst_case_zero_sum,
)

PAIR = st.tuples(st.floats(-5, 5), st.floats(-5, 5)).filter(lambda pair: abs(pair[0] - pair[1]) > 1e-3)


def equal_items(pair, count: int):
    """A text of equal items under uneven weights."""
    logits = torch.tensor([[pair] * count], dtype=torch.float64)
    weights = torch.arange(count, 0, -1, dtype=torch.float64)
    return (weights / weights.sum())[None], logits, torch.zeros(1, 2, dtype=torch.float64)


@given(PAIR, st.integers(1, 9), st.sampled_from(["l1", "l2", "linf"]))
def test_no_zero_sum_perturbation_moves_a_text_of_equal_items(pair, count, norm):
    weights, logits, empty = equal_items(pair, count)
    items = torch.ones(1, count, dtype=torch.bool)
    worst = worst_case_zero_sum(weights, logits, empty, items, 0.1, norm)
    assert worst.low.item() == pytest.approx(pair[1] - pair[0], abs=1e-12)
    assert worst.high.item() == pytest.approx(pair[1] - pair[0], abs=1e-12)
    assert certified_radius_zero_sum(weights, logits, empty, items, norm).item() == torch.inf


def test_the_three_items_of_the_report():
    weights = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
    _, logits, empty = equal_items((-2.583598200582093, 0.35057323734856044), 3)
    worst = worst_case_zero_sum(weights, logits, empty, torch.ones(1, 3, dtype=torch.bool), 0.1, "l2")
    assert (worst.low.item(), worst.high.item()) == pytest.approx((2.9341714379306534,) * 2)


@pytest.mark.parametrize("eps", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("count", [1, 2])
def test_no_answer_stands_where_nothing_is_left(eps, count):
    weights, logits, _ = equal_items((0.0, 2.0), count)
    stands = prediction_survives_without_top(weights, logits, torch.ones(1, count, dtype=torch.bool), count, eps)
    assert stands.tolist() == [False]


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=7))
def test_no_permutation_of_uniform_weights_flips(logits):
    weights = torch.full((1, len(logits)), 1 / len(logits), dtype=torch.float64)
    items = torch.ones(1, len(logits), dtype=torch.bool)
    assert not some_permutation_flips(weights, torch.tensor([logits], dtype=torch.float64), items).any()


def test_no_permutation_of_uniform_weights_flips_an_exact_tie():
    weights = torch.full((1, 2), 0.5, dtype=torch.float64)
    tie = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    assert not some_permutation_flips(weights, tie, torch.ones(1, 2, dtype=torch.bool)).any()
