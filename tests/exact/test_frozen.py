from math import log

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.testing import assert_close

import heedful.exact.adversary as adversary
import heedful.exact.frozen as frozen
from heedful.exact import eps_max_js, frozen_optimum
from support import exact_golden as golden
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows
from support.folders import needs_golden


def loss(points: Tensor, weight: Tensor, logits: Tensor) -> Tensor:
    margin = logits[:, 1] - logits[:, 0]
    mean = (points + weight) / 2
    js = (torch.xlogy(weight, weight) + torch.xlogy(points, points) - 2 * torch.xlogy(mean, mean)).sum(-1) / 2
    return ((points @ margin).sigmoid() - (weight @ margin).sigmoid()).abs() - js / log(2)


def pairs_on_a_grid(weight: Tensor, steps: int) -> Tensor:
    unit = torch.eye(len(weight)).double()
    share = torch.linspace(0, 1, steps).double().reshape(-1, 1, 1, 1)
    return (share * unit.unsqueeze(1) + (1 - share) * unit).reshape(-1, len(weight))


@settings(max_examples=25)
@given(any_rows(max_items=5))
def test_nothing_on_a_grid_of_pairs_or_drawn_at_random_is_better(rows: LinearBatch):
    optimum = frozen_optimum(*rows.linear())
    generator = torch.Generator().manual_seed(0)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        keys = torch.rand(2000, len(weight), generator=generator, dtype=torch.float64)
        drawn = -(keys.log() ** torch.tensor([1.0, 6.0]).repeat(1000).unsqueeze(-1))
        grid = loss(pairs_on_a_grid(weight, 1001), weight, logits).min()
        assert optimum.loss[row] <= loss(drawn / drawn.sum(-1, keepdim=True), weight, logits).min() + 1e-11
        assert optimum.loss[row] <= grid + 1e-11
        # A grid of 1,001 shares misses the optimum by no more than the loss changes over half a step.
        assert grid <= optimum.loss[row] + 0.02


@given(any_rows())
def test_its_attention_attains_it_with_two_weights_at_most(rows: LinearBatch):
    optimum = frozen_optimum(*rows.linear())
    assert ((optimum.attention != 0).sum(-1) <= 2).all()
    assert (optimum.attention[~rows.items] == 0).all()
    assert_close(optimum.loss, optimum.moved - optimum.js / log(2))
    assert (optimum.loss <= 1e-15).all()
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        assert_close(optimum.loss[row], loss(optimum.attention[row, places], weight, logits), atol=1e-12, rtol=0)


@settings(max_examples=25)
@given(any_rows(min_items=2))
def test_the_eps_max_adversary_with_the_same_move_is_no_further(rows: LinearBatch):
    optimum = frozen_optimum(*rows.linear())
    for row in range(len(rows.items)):
        alike = eps_max_js(*one_row(rows, row).linear(), min(float(optimum.moved[row]), 0.99))
        assert_close(alike.js[0], optimum.js[row], atol=1e-9, rtol=0)


def test_the_optimum_is_sometimes_neither_an_item_alone_nor_at_the_base_logit():
    rows = random_rows(batch=200, count=5, classes=2, seed=2, peak=2.0)
    alone = [loss(torch.eye(len(weight)).double(), weight, logits).min() for weight, logits, _, _ in rows.texts()]
    at_the_base = -eps_max_js(*rows.linear(), 0.0).js / log(2)
    better = frozen_optimum(*rows.linear()).loss < torch.minimum(torch.stack(alone), at_the_base) - 1e-4
    # Rare, but a search over those two kinds of points alone would be wrong.
    assert 1 <= int(better.sum()) <= 20


def test_two_items_are_searched_between_the_base_logit_and_0():
    # With two items the bound at the base logit is what the only pair attains, so only the sag leads further.
    rows = random_rows(batch=300, count=2, classes=2, seed=3, peak=2.0)
    optimum = frozen_optimum(*rows.linear())
    inside = (optimum.moved > 1e-9) & ((optimum.attention != 0).sum(-1) == 2)
    assert inside.any()
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        assert optimum.loss[row] <= loss(pairs_on_a_grid(weight, 1001), weight, logits).min() + 1e-11


@pytest.mark.parametrize("peak", [0.0, 0.5, 3.0])
def test_long_texts_lose_nothing_to_pruning(peak, monkeypatch):
    rows = random_rows(batch=3, count=41, classes=2, seed=5, peak=peak)
    optimum = frozen_optimum(*rows.linear())
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        assert optimum.loss[row] <= loss(pairs_on_a_grid(weight, 101), weight, logits).min() + 1e-11
    monkeypatch.setattr(adversary, "PAIRS_AT_ONCE", 1)
    monkeypatch.setattr(frozen, "PAIRS_AT_ONCE", 1)
    assert_close(frozen_optimum(*rows.linear()).loss, optimum.loss, atol=1e-11, rtol=0)


@settings(max_examples=20)
@given(any_rows())
def test_padding_and_other_rows_change_nothing(rows: LinearBatch):
    optimum, wide = frozen_optimum(*rows.linear()), frozen_optimum(*padded(rows).linear())
    assert_close(wide.loss, optimum.loss, atol=1e-11, rtol=0)
    for row in range(len(rows.items)):
        assert_close(frozen_optimum(*one_row(rows, row).linear()).loss[0], optimum.loss[row], atol=1e-11, rtol=0)


def test_one_item_leaves_no_choice():
    optimum = frozen_optimum(torch.ones(1, 1), torch.tensor([[[0.0, 3.0]]]), torch.ones(1, 1).bool())
    assert (optimum.loss.item(), optimum.js.item(), optimum.moved.item()) == (0, 0, 0)


@needs_golden
@pytest.mark.parametrize("name", golden.NAMES)
def test_on_the_authors_models_it_beats_every_eps(name):
    texts = golden.load(name)
    optimum = frozen_optimum(*texts.linear())
    for eps in (0.0, 0.01, 0.05):
        assert (optimum.loss <= eps - eps_max_js(*texts.linear(), eps).js / log(2) + 1e-12).all()
