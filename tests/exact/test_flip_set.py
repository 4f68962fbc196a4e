from itertools import combinations
from math import inf, isnan

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from heedful.exact import FlipSet, first_flip, log_weights, minimal_flip_set
from support.exact_strategies import (
    DecimalText,
    LogBatch,
    in_logs,
    lattice_rows,
    log_rows,
    padded,
    random_rows,
    sharp_rows,
    smooth_rows,
)


def smallest_of_all_subsets(text: DecimalText) -> int | None:
    decision, n = text.decision_without(set()), len(text.weight)
    for size in range(1, n):
        for gone in combinations(range(n), size):
            if text.decision_without(set(gone)) not in (decision, None):
                return size
    return None


def agrees_with_all_subsets(rows: LogBatch) -> None:
    flip_set = minimal_flip_set(*rows.logarithmic())
    for row, (log_weight, logits, places) in enumerate(rows.texts()):
        text = DecimalText(log_weight, logits)
        size = smallest_of_all_subsets(text)
        gone = flip_set.erased[row, places].nonzero().flatten().tolist()
        if size is None:
            assert flip_set.size[row].isnan()
            assert flip_set.mass[row].isnan()
            assert not gone
            continue
        assert flip_set.size[row] == size == len(gone) == flip_set.erased[row].sum()
        assert_close(flip_set.mass[row], log_weight.softmax(-1)[gone].sum())
        assert text.decision_without(set(gone)) not in (text.decision_without(set()), None)


@settings(max_examples=200)
@given(data=st.data(), classes=st.sampled_from([2, 3, 5]))
def test_with_ties_and_zero_weights_it_is_the_smallest_of_all_subsets(classes, data):
    agrees_with_all_subsets(in_logs(data.draw(lattice_rows(classes, max_items=6))))


@settings(max_examples=200)
@given(data=st.data(), classes=st.sampled_from([2, 3, 5]))
def test_however_sharp_the_weights_it_is_the_smallest_of_all_subsets(classes, data):
    agrees_with_all_subsets(data.draw(sharp_rows(classes)))


@settings(max_examples=60)
@given(data=st.data(), classes=st.sampled_from([2, 3, 5]))
def test_without_ties_it_is_the_smallest_of_all_subsets(classes, data):
    agrees_with_all_subsets(in_logs(data.draw(smooth_rows(classes, max_items=7))))


def test_on_longer_rows_it_is_the_smallest_of_all_subsets():
    for count, classes in ((9, 2), (9, 5), (7, 11)):
        agrees_with_all_subsets(in_logs(random_rows(batch=7, count=count, classes=classes, seed=count)))


def flip_set_of(log_attention: list[float], margin: list[float]) -> FlipSet:
    """Two classes, class 0 at 0."""
    scores, other = (torch.tensor([values], dtype=torch.float64) for values in (log_attention, margin))
    return minimal_flip_set(scores, torch.stack([torch.zeros_like(other), other], -1), torch.ones_like(scores).bool())


def test_a_tie_goes_to_the_first_class():
    halves = log_weights(torch.tensor([0.5, 0.25, 0.25])).tolist()
    # Class 1 wins; without the first item the two are level, and then class 0 wins.
    assert flip_set_of(halves, [2.0, 1.0, -1.0]).size.item() == 1
    # Class 0 wins; level is not enough for class 1, so two must go.
    assert flip_set_of(halves, [-2.0, -1.0, 1.0]).size.item() == 2


def test_a_tie_of_weights_without_exact_logarithms_is_a_tie():
    # 0.3 x 1 = 0.1 x 3 is exact neither in the weights nor in their logarithms.
    weights = log_weights(torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)).tolist()
    assert flip_set_of(weights, [2.0, 1.0, -3.0]).size.item() == 1
    assert flip_set_of(weights, [-2.0, -1.0, 3.0]).size.item() == 2


def test_erasing_everything_is_not_a_way():
    # The third item has no weight: without the others nothing is left to decide.
    assert flip_set_of([0.0, 0.0, -inf], [2.0, 1.0, -5.0]).size.isnan().all()


def test_the_least_weight_decides_once_the_others_are_gone():
    flip_set = flip_set_of([0.0, -4000.0, -8000.0], [2.0, 1.0, -5.0])
    assert (flip_set.size.item(), flip_set.erased.tolist(), flip_set.mass.item()) == (2, [[True, True, False]], 1)


def test_an_item_that_speaks_for_neither_class_does_not_hide_the_others():
    # The second item weighs exp(5000) times as much as the two that decide, and decides nothing.
    assert flip_set_of([-5000.0, 0.0, -5001.0], [2.0, 0.0, -5.0]).erased.tolist() == [[True, False, False]]


def test_items_that_speak_for_neither_class_may_be_all_that_is_left():
    assert flip_set_of([0.0, -700.0], [2.0, 0.0]).size.item() == 1  # a tie, for the first class
    assert flip_set_of([0.0, -inf], [2.0, 0.0]).size.isnan().all()  # nothing


def test_where_nothing_flips_size_and_mass_are_undefined():
    flip_set = flip_set_of([0.0, 0.0], [2.0, 1.0])
    assert isnan(flip_set.size.item())
    assert isnan(flip_set.mass.item())
    assert not flip_set.erased.any()


@given(log_rows(classes=3), st.randoms(use_true_random=False))
def test_no_ranking_flips_sooner(rows, random):
    flip_set = minimal_flip_set(*rows.logarithmic())
    n, width = rows.items.sum(-1), rows.items.shape[1]
    order = torch.argsort((~rows.items).int() * 2 + torch.tensor([[random.random() for _ in range(width)]] * len(n)))
    ranked = first_flip(rows.log_attention, rows.item_logits, order, rows.items)
    assert ((flip_set.size <= ranked.count) | ranked.count.isnan()).all()


@given(lattice_rows(classes=3), st.sampled_from([0.0, 77.7]))
def test_padding_other_rows_and_a_constant_change_nothing(rows, constant):
    own, width = in_logs(rows), rows.items.shape[1]
    log_attention, item_logits, items = in_logs(padded(rows)).logarithmic()
    flip_set, wide = (
        minimal_flip_set(*own.logarithmic()),
        minimal_flip_set(log_attention + constant, item_logits, items),
    )
    assert_close(wide.size, flip_set.size, equal_nan=True)
    # Rounding may decide between sets of the same size, and no more than that.
    for row, (log_weight, logits, places) in enumerate(own.texts()):
        text = DecimalText(log_weight, logits)
        gone = {*wide.erased[row, :width][places].nonzero().flatten().tolist()}
        assert not gone or text.decision_without(gone) not in (text.decision_without(set()), None)
    for row in range(len(rows.items)):
        alone = minimal_flip_set(*(part[row : row + 1] for part in own.logarithmic()))
        assert_close(alone.size[0], flip_set.size[row], equal_nan=True)


def test_scores_are_refused_where_they_are_not_numbers():
    with pytest.raises(ValueError, match="log_attention must be finite, or -inf .* item 1 of row 0 has nan. Take log_"):
        flip_set_of([0.0, float("nan")], [2.0, 1.0])
    with pytest.raises(ValueError, match="item 0 of row 0 has inf"):
        flip_set_of([inf, 0.0], [2.0, 1.0])
    with pytest.raises(ValueError, match="attention must not be negative or NaN; its least weight is -0.5. Did you"):
        log_weights(torch.tensor([[1.5, -0.5]]))
