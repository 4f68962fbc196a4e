from itertools import combinations
from math import isnan

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from heedful.exact import first_flip, minimal_flip_set
from support.exact_strategies import LinearBatch, lattice_rows, one_row, padded, random_rows, smooth_rows


def decision_without(gone: tuple[int, ...], weight: Tensor, logits: Tensor, empty: Tensor) -> int:
    """Argmax after erasing, literally: zero, renormalise, decode."""
    left = weight.clone()
    left[list(gone)] = 0
    return int((empty if left.sum() == 0 else left @ logits).argmax())


def smallest_of_all_subsets(weight: Tensor, logits: Tensor, empty: Tensor) -> int | None:
    decision = decision_without((), weight, logits, empty)
    for size in range(1, len(weight) + 1):
        for gone in combinations(range(len(weight)), size):
            if decision_without(gone, weight, logits, empty) != decision:
                return size
    return None


def agrees_with_all_subsets(rows: LinearBatch) -> None:
    flip_set = minimal_flip_set(*rows.full())
    for row, (weight, logits, empty, places) in enumerate(rows.texts()):
        size = smallest_of_all_subsets(weight, logits, empty)
        gone = tuple(flip_set.erased[row, places].nonzero().flatten().tolist())
        if size is None:
            assert flip_set.size[row].isnan()
            assert flip_set.mass[row].isnan()
            assert not gone
            continue
        assert flip_set.size[row] == size == len(gone) == flip_set.erased[row].sum()
        assert_close(flip_set.mass[row], weight[list(gone)].sum())
        assert decision_without(gone, weight, logits, empty) != decision_without((), weight, logits, empty)


# Exact sums: a tie in the search is a tie in the sorted sums too.
@pytest.mark.parametrize("classes", [2, 3, 5])
@given(data=st.data())
def test_with_ties_and_zero_weights_it_is_the_smallest_of_all_subsets(classes, data):
    agrees_with_all_subsets(data.draw(lattice_rows(classes, max_items=6)))


@pytest.mark.parametrize("classes", [2, 3, 5])
@settings(max_examples=25)
@given(data=st.data())
def test_without_ties_it_is_the_smallest_of_all_subsets(classes, data):
    agrees_with_all_subsets(data.draw(smooth_rows(classes, max_items=7)))


@pytest.mark.parametrize(("count", "classes"), [(9, 2), (9, 5), (7, 11)])
def test_on_longer_rows_it_is_the_smallest_of_all_subsets(count, classes):
    agrees_with_all_subsets(random_rows(batch=7, count=count, classes=classes, seed=count))


def rows_of(attention: list[float], margin: list[float], empty: list[float]) -> LinearBatch:
    """Two classes, class 0 at 0."""
    weight, other = torch.tensor([attention]).double(), torch.tensor([margin]).double()
    items = torch.ones_like(weight).bool()
    return LinearBatch(weight, torch.stack([torch.zeros_like(other), other], -1), torch.tensor([empty]).double(), items)


def test_a_tie_goes_to_the_first_class():
    # Class 1 wins; without the first item the two are level, and then class 0 wins.
    assert minimal_flip_set(*rows_of([0.5, 0.25, 0.25], [2.0, 1.0, -1.0], [0.0, 9.0]).full()).size.item() == 1
    # Class 0 wins; level is not enough for class 1, so two must go.
    assert minimal_flip_set(*rows_of([0.5, 0.25, 0.25], [-2.0, -1.0, 1.0], [9.0, 0.0]).full()).size.item() == 2


def test_erasing_everything_may_be_the_only_way():
    flip_set = minimal_flip_set(*rows_of([0.5, 0.5, 0.0], [2.0, 1.0, -5.0], [1.0, 0.0]).full())
    # The third item has no weight: once the others are gone nothing is left, and the head alone gives class 0.
    assert (flip_set.size.item(), flip_set.erased.tolist(), flip_set.mass.item()) == (2, [[True, True, False]], 1)


def test_where_nothing_flips_size_and_mass_are_undefined():
    flip_set = minimal_flip_set(*rows_of([0.5, 0.5], [2.0, 1.0], [0.0, 1.0]).full())
    assert isnan(flip_set.size.item())
    assert isnan(flip_set.mass.item())
    assert not flip_set.erased.any()


@given(smooth_rows(classes=3, max_items=7), st.randoms(use_true_random=False))
def test_no_ranking_flips_sooner(rows, random):
    flip_set = minimal_flip_set(*rows.full())
    n, width = rows.items.sum(-1), rows.items.shape[1]
    order = torch.argsort((~rows.items).int() * 2 + torch.tensor([[random.random() for _ in range(width)]] * len(n)))
    ranked = first_flip(*rows.full()[:3], order, rows.items)
    assert ((flip_set.size <= ranked.count) | ranked.count.isnan()).all()


@given(lattice_rows(classes=3))
def test_padding_and_other_rows_change_nothing(rows):
    flip_set, wide = minimal_flip_set(*rows.full()), minimal_flip_set(*padded(rows).full())
    assert_close(wide.size, flip_set.size, equal_nan=True)
    assert torch.equal(wide.erased[:, : rows.items.shape[1]], flip_set.erased)
    for row in range(len(rows.items)):
        assert_close(minimal_flip_set(*one_row(rows, row).full()).size[0], flip_set.size[row], equal_nan=True)


def test_a_weight_below_the_floor_counts_as_none():
    flip_set = minimal_flip_set(*rows_of([1.0 - 1e-13, 1e-13], [2.0, -1.0], [0.0, 1.0]).full())
    assert flip_set.size.isnan().all()
