from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import Tensor
from torch.testing import assert_close

import heedful.exact.adversary as adversary
from heedful.exact import eps_max_js, prediction_survives_without_top
from heedful.exact.adversary import js_of_single, slab, without_top
from heedful.measures import js_divergence
from support import exact_golden as golden
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows
from support.folders import needs_golden

EPS = 0.01


def plain_js(base: Tensor, other: Tensor) -> Tensor:
    mean = (base + other) / 2
    return (torch.xlogy(base, base) + torch.xlogy(other, other) - 2 * torch.xlogy(mean, mean)).sum(-1) / 2


def chance(attention: Tensor, logits: Tensor) -> Tensor:
    return (attention @ (logits[:, 1] - logits[:, 0])).sigmoid()


def listed_corners(weight: Tensor, logits: Tensor, eps: float) -> Tensor:
    """Every corner of the simplex cut by the slab, listed."""
    margin, p = (logits[:, 1] - logits[:, 0]).numpy(), float(chance(weight, logits))
    ends = [np.log(q / (1 - q)) for q in (p - eps, p + eps) if 0 < q < 1]
    unit, corners = torch.eye(len(weight)).double(), []
    for i in range(len(weight)):
        if abs(float(chance(unit[i], logits)) - p) <= eps * (1 + 1e-9):
            corners.append(unit[i])
        for j in range(len(weight)):
            for end in ends:
                if margin[i] < end < margin[j]:
                    share = (margin[j] - end) / (margin[j] - margin[i])
                    corners.append(share * unit[i] + (1 - share) * unit[j])
    return torch.stack(corners)


def sampled_within(weight: Tensor, logits: Tensor, eps: float, generator: torch.Generator) -> Tensor:
    """Random attentions that keep p within eps: sparse and dense, pulled towards the base until they do."""
    keys = torch.rand(3000, len(weight), generator=generator, dtype=torch.float64)
    points = -(keys.log() ** torch.tensor([1.0, 4.0, 12.0]).repeat(1000).unsqueeze(-1))
    points = points / points.sum(-1, keepdim=True)
    low, high = torch.zeros(len(points), 1).double(), torch.ones(len(points), 1).double()
    for _ in range(30):
        middle = (low + high) / 2
        within = (chance(weight + middle * (points - weight), logits) - chance(weight, logits)).abs() <= eps
        low, high = middle.where(within.unsqueeze(-1), low), high.where(within.unsqueeze(-1), middle)
    return weight + low * (points - weight)


@given(any_rows(), st.sampled_from([0.01, 0.05, 0.3]))
def test_it_is_the_best_of_all_listed_corners(rows: LinearBatch, eps):
    result = eps_max_js(*rows.linear(), eps)
    for js, (weight, logits, _, _) in zip(result.js, rows.texts(), strict=True):
        if len(weight) == 1:
            assert js.isnan()
        else:
            assert_close(js, plain_js(weight, listed_corners(weight, logits, eps)).max(), atol=1e-12, rtol=0)


@settings(max_examples=15)
@given(any_rows(max_items=5, min_items=2), st.sampled_from([0.01, 0.1]))
def test_no_attention_within_eps_is_further_away(rows: LinearBatch, eps):
    generator = torch.Generator().manual_seed(0)
    result = eps_max_js(*rows.linear(), eps)
    for js, (weight, logits, _, _) in zip(result.js, rows.texts(), strict=True):
        points = sampled_within(weight, logits, eps, generator)
        assert plain_js(weight, points).max() <= js + 1e-12


@given(any_rows(), st.sampled_from([0.0, 0.01, 0.3]))
def test_its_attention_attains_it_with_two_weights_at_most_and_keeps_p(rows: LinearBatch, eps):
    result = eps_max_js(*rows.linear(), eps)
    assert ((result.attention != 0).sum(-1) <= 2).all()
    assert (result.attention[~rows.items] == 0).all()
    assert_close(result.attention.sum(-1), torch.ones(len(rows.items)).double())
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        other = result.attention[row, places]
        assert (chance(other, logits) - chance(weight, logits)).abs() <= eps + 1e-12
        if len(weight) > 1:
            assert_close(result.js[row], plain_js(weight, other), atol=1e-12, rtol=0)


@given(any_rows())
def test_the_cap_is_all_weight_on_the_lightest_item(rows: LinearBatch):
    result = eps_max_js(*rows.linear(), 0.999)
    for cap, (weight, _, _, _) in zip(result.cap, rows.texts(), strict=True):
        assert_close(cap, js_of_single(weight.min()), atol=1e-12, rtol=0)
    many = rows.items.sum(-1) > 1
    assert (result.js[many] <= result.cap[many]).all()


@given(any_rows(), st.sampled_from([0.01, 0.1]))
def test_more_freedom_is_never_less_far(rows: LinearBatch, eps):
    less, more = eps_max_js(*rows.linear(), eps), eps_max_js(*rows.linear(), 2 * eps)
    many = rows.items.sum(-1) > 1
    assert (less.js[many] <= more.js[many] + 1e-12).all()


@settings(max_examples=20)
@given(any_rows())
def test_padding_and_other_rows_change_nothing(rows: LinearBatch):
    result, wide = eps_max_js(*rows.linear(), EPS), eps_max_js(*padded(rows).linear(), EPS)
    assert_close(wide.js, result.js, atol=1e-14, rtol=0, equal_nan=True)
    assert_close(wide.cap, result.cap, atol=1e-14, rtol=0)
    assert (wide.attention[:, rows.items.shape[1] :] == 0).all()
    for row in range(len(rows.items)):
        alone = eps_max_js(*one_row(rows, row).linear(), EPS)
        assert_close(alone.js[0], result.js[row], atol=1e-14, rtol=0, equal_nan=True)


@pytest.mark.parametrize("peak", [0.0, 0.3, 3.0])
def test_long_texts_lose_nothing_to_pruning(peak, monkeypatch):
    rows = random_rows(batch=5, count=97, classes=2, seed=3, peak=peak)
    # Two clusters, so that no item is within eps alone and pairs must do.
    rows.item_logits[2:, :, 1] += 9 * rows.item_logits[2:, :, 1].sign()
    result = eps_max_js(*rows.linear(), EPS)
    for js, (weight, logits, _, _) in zip(result.js, rows.texts(), strict=True):
        assert_close(js, plain_js(weight, listed_corners(weight, logits, EPS)).max(), atol=1e-12, rtol=0)
    monkeypatch.setattr(adversary, "PAIRS_AT_ONCE", 1)
    assert_close(eps_max_js(*rows.linear(), EPS).js, result.js, atol=1e-15, rtol=0)


def test_two_items_that_disagree_leave_only_a_little_way():
    # u = 0 and p = 1/2; p may rise to 0.6, where u = ln 1.5 = 2 share - (1 - share) x 2.
    logits = torch.tensor([[[0.0, 2.0], [0.0, -2.0]]]).double()
    result = eps_max_js(torch.tensor([[0.5, 0.5]]).double(), logits, torch.ones(1, 2).bool(), 0.1)
    share = (log(1.5) + 2) / 4
    assert sorted(result.attention[0].tolist()) == pytest.approx([1 - share, share])


def test_a_saturated_prediction_is_no_trouble():
    for size in (40.0, 800.0):
        for eps in (0.0, 0.01):
            logits = torch.tensor([[[0.0, size], [0.0, size + 1], [0.0, -size]]]).double()
            weights = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64)
            result = eps_max_js(weights, logits, torch.ones(1, 3).bool(), eps)
            # With some freedom the second item alone gives the answer; with none, two items of the same logit do.
            assert result.js.item() >= (float(js_of_single(weights[0, 1])) - 1e-12 if eps else 0.1)


@given(any_rows(), st.integers(1, 3), st.sampled_from([0.01, 0.2]))
def test_the_answer_stands_without_the_top_if_a_linear_program_says_so(rows: LinearBatch, m, eps):
    stands = prediction_survives_without_top(*rows.linear(), m, eps)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        rest = sorted(range(len(weight)), key=lambda item: (-weight[item], item))[m:]
        if not rest:
            assert not stands[row]
            continue
        margin, p = (logits[rest, 1] - logits[rest, 0]).numpy(), float(chance(weight, logits))
        limits = [(1, q) for q in [p + eps] if q < 1] + [(-1, q) for q in [p - eps] if q > 0]
        sides = np.array([sign * margin for sign, _ in limits]).reshape(len(limits), len(rest))
        right = [sign * np.log(q / (1 - q)) + 1e-9 for sign, q in limits]
        program = linprog(np.zeros(len(rest)), sides, right, np.ones((1, len(rest))), [1.0])
        assert stands[row] == (program.status == 0)


def test_of_equally_attended_items_the_first_is_the_top():
    weights, items = torch.tensor([[0.25, 0.25, 0.5, 0.0]]), torch.tensor([[True, True, True, False]])
    assert without_top(weights, items, 2).tolist() == [[False, True, False, False]]


def test_an_impossible_eps_is_refused():
    for eps in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match=f"eps must be at least 0 and below 1; it was {eps}. It bounds"):
            slab(torch.zeros(2), eps)


def test_going_without_no_item_is_refused():
    with pytest.raises(ValueError, match="m must be at least 1; it was 0. It counts the most attended items"):
        without_top(torch.ones(1, 2) / 2, torch.ones(1, 2).bool(), 0)


def test_arguments_are_left_as_they_were():
    rows = random_rows(batch=2, count=5, classes=2, seed=0)
    before = [part.clone() for part in rows.linear()]
    eps_max_js(*rows.linear(), EPS)
    assert all(torch.equal(old, new) for old, new in zip(before, rows.linear(), strict=True))


def test_float32_attention_is_taken_as_a_distribution():
    rows = random_rows(batch=3, count=11, classes=2, seed=1)
    exact = eps_max_js(*rows.linear(), EPS)
    coarse = eps_max_js(rows.attention.float(), rows.item_logits.float(), rows.items, EPS)
    assert coarse.js.dtype == torch.float64
    assert_close(coarse.js, exact.js, atol=1e-6, rtol=0)


@needs_golden
@pytest.mark.parametrize(("name", "mean", "standing"), [("lstm", 0.6301, 56), ("average", 0.6156, 64)])
def test_on_the_authors_models_it_is_further_than_their_search_on_every_text(name, mean, standing):
    texts = golden.load(name)
    result = eps_max_js(*texts.linear(), EPS)
    assert (result.js >= texts.stored["emax_jsd_eps0.01_f64"] - 1e-9).all()
    assert float(result.js.mean()) == pytest.approx(mean, abs=1e-4)
    assert int(prediction_survives_without_top(*texts.linear(), 1, EPS).sum()) == standing
    assert_close(result.js, js_divergence(texts.attention, result.attention))


def test_no_answer_stands_where_nothing_is_left():
    for count in (1, 2):
        weights, logits = torch.ones(1, count).double() / count, torch.tensor([[[0.0, 2.0]] * count]).double()
        for eps in (0.01, 0.5, 0.9):
            stands = prediction_survives_without_top(weights, logits, torch.ones(1, count).bool(), count, eps)
            assert stands.tolist() == [False]
