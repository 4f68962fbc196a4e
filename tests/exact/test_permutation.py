from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from heedful.exact import (
    draw_permutations,
    expected_permuted_js,
    logits_of_permutations,
    permuted_logits,
    some_permutation_flips,
    worst_permutation,
)
from heedful.measures import js_divergence
from support import exact_golden as golden
from support.exact_strategies import LinearBatch, any_rows, lattice_rows, padded, random_rows
from support.folders import needs_golden


def every_permutation(weight: Tensor) -> Tensor:
    return weight[torch.tensor(list(permutations(range(len(weight)))))]


def seeded(number: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def test_given_permutations_decode_as_in_a_loop():
    rows = random_rows(batch=3, count=5, classes=7, seed=0)
    drawn = draw_permutations(rows.items, seeded(), 11)
    result = logits_of_permutations(*rows.linear(), drawn)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        for number in range(11):
            assert_close(result[row, number], weight[drawn[row, number]] @ logits)


@given(any_rows(classes=3), st.integers(0, 99))
def test_drawn_permutations_move_weights_among_items_alone(rows: LinearBatch, seed):
    drawn = draw_permutations(rows.items, seeded(seed), 5)
    places = torch.arange(rows.items.shape[1]).expand_as(drawn)
    assert torch.equal(drawn.sort(-1).values, places)
    elsewhere = ~rows.items.unsqueeze(1).expand_as(drawn)
    assert torch.equal(drawn[elsewhere], places[elsewhere])


@given(any_rows(classes=3), st.integers(0, 99))
def test_padding_changes_no_draw(rows: LinearBatch, seed):
    result = permuted_logits(*rows.linear(), seeded(seed), count=5)
    assert_close(permuted_logits(*padded(rows).linear(), seeded(seed), count=5), result, atol=1e-13, rtol=1e-13)
    assert_close(permuted_logits(*rows.linear(), seeded(seed), count=5), result, atol=0, rtol=0)


def test_every_permutation_is_drawn_as_often():
    drawn = draw_permutations(torch.tensor([[True, False, True, True]]), seeded(), 6000)[0]
    counts = torch.unique(drawn, dim=0, return_counts=True)[1]
    assert len(counts) == 6
    # Each count is binomial with mean 1000 and deviation 29; five deviations are not met by chance.
    assert (counts - 1000).abs().max() < 145


def test_a_hundred_are_drawn_by_default_and_none_is_refused():
    rows = random_rows(batch=2, count=3, classes=5, seed=0)
    assert permuted_logits(*rows.linear(), seeded()).shape == (2, 100, 5)
    with pytest.raises(ValueError, match="count must be at least 1; it was 0. It is the number of permutations"):
        draw_permutations(rows.items, seeded(), 0)


@settings(max_examples=25)
@given(any_rows(max_items=5))
def test_for_two_classes_no_permutation_is_worse(rows: LinearBatch):
    result = worst_permutation(*rows.linear())
    assert result.solver == "exact"
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        p = (weight @ logits).softmax(-1)
        moved = ((every_permutation(weight) @ logits).softmax(-1) - p).abs().sum(-1) / 2
        assert_close(result.tvd[row], moved.max(), atol=1e-12, rtol=0)
        own = result.attention[row, places]
        assert_close(own.sort().values, weight.sort().values, atol=0, rtol=0)
        assert_close((own @ logits).softmax(-1)[1].sub(p[1]).abs(), result.tvd[row], atol=1e-12, rtol=0)


def test_the_worst_permutation_may_lead_away_from_the_boundary():
    # u = 15/18; sorted with the margins 30/18, against them 9/18, which is nearer.
    logits = torch.tensor([[[0.0, 3.0], [0.0, 0.0], [0.0, 0.0]]]).double()
    weight = torch.tensor([[5, 3, 10]]).double() / 18
    result = worst_permutation(weight, logits, torch.ones(1, 3).bool())
    assert result.attention[0, 0] == weight[0, 2]


@settings(max_examples=25)
@given(any_rows(classes=3, max_items=4))
def test_for_three_classes_it_is_some_permutation_and_no_claim_is_made(rows: LinearBatch):
    result = worst_permutation(*rows.linear())
    assert result.solver == "search"
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        own, p = result.attention[row, places], (weight @ logits).softmax(-1)
        moved = ((every_permutation(weight) @ logits).softmax(-1) - p).abs().sum(-1) / 2
        assert_close(own.sort().values, weight.sort().values, atol=0, rtol=0)
        assert_close(((own @ logits).softmax(-1) - p).abs().sum() / 2, result.tvd[row], atol=1e-12, rtol=0)
        assert result.tvd[row] <= moved.max() + 1e-12


@settings(max_examples=60)
@given(data=st.data(), classes=st.sampled_from([2, 3, 5]))
def test_some_permutation_flips_if_one_of_all_does(classes, data: st.DataObject):
    rows = data.draw(lattice_rows(classes, max_items=5))
    result = some_permutation_flips(*rows.linear())
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        decisions = (every_permutation(weight) @ logits).argmax(-1)
        assert bool(result[row]) == bool((decisions != (weight @ logits).argmax()).any())


@given(lattice_rows(classes=3))
def test_padding_changes_no_worst_case(rows: LinearBatch):
    wide = padded(rows)
    result = worst_permutation(*rows.linear()).tvd
    assert_close(worst_permutation(*wide.linear()).tvd, result, atol=1e-13, rtol=0)
    assert torch.equal(some_permutation_flips(*wide.linear()), some_permutation_flips(*rows.linear()))


@needs_golden
@pytest.mark.parametrize("name", golden.NAMES)
def test_the_authors_permutations_give_the_authors_predictions(name):
    texts = golden.load(name)
    result = logits_of_permutations(*texts.linear(), texts.stored["perm_idx"].long()).softmax(-1)[..., 1]
    assert_close(result, texts.stored["perm_out_f64"], atol=1e-8, rtol=0)


@given(any_rows(max_items=6))
@settings(max_examples=30)
def test_the_expected_divergence_is_the_mean_over_all_permutations(rows: LinearBatch):
    result = expected_permuted_js(rows.attention, rows.items)
    for value, (weight, *_) in zip(result, rows.texts(), strict=True):
        permuted = every_permutation(weight)
        assert_close(value, js_divergence(permuted, weight.expand_as(permuted)).mean(), atol=1e-12, rtol=0)


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=7))
def test_no_permutation_of_uniform_weights_flips(logits):
    weights = torch.full((1, len(logits)), 1 / len(logits), dtype=torch.float64)
    items = torch.ones(1, len(logits), dtype=torch.bool)
    assert not some_permutation_flips(weights, torch.tensor([logits], dtype=torch.float64), items).any()


def test_no_permutation_of_uniform_weights_flips_an_exact_tie():
    weights = torch.full((1, 2), 0.5, dtype=torch.float64)
    tie = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64)
    assert not some_permutation_flips(weights, tie, torch.ones(1, 2, dtype=torch.bool)).any()
