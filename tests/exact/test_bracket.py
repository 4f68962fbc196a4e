import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import heedful.exact.several_classes as bracket
from heedful.exact import (
    answer_stands_without_top_bracket,
    eps_max_js,
    eps_max_js_bracket,
    prediction_survives_on_items,
    prediction_survives_without_top,
    without_top,
)
from heedful.exact.corner_search import Reached
from heedful.measures import js_divergence
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows

EPS = 0.05


def moved(attention: Tensor, weight: Tensor, logits: Tensor) -> Tensor:
    return ((attention @ logits).softmax(-1) - (weight @ logits).softmax(-1)).abs().sum(-1) / 2


def sampled(weight: Tensor, logits: Tensor, eps: float, seed: int) -> Tensor:
    """Random attentions within eps: sparse and dense, pulled towards the base until they are."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(2000, len(weight), generator=generator, dtype=torch.float64).log().neg()
    points = points ** torch.tensor([1.0, 8.0]).repeat(1000).unsqueeze(-1)
    points = points / points.sum(-1, keepdim=True)
    share = torch.ones(len(points), 1).double()
    within = torch.zeros(len(points)).bool()
    for _ in range(60):
        within = moved(weight + share * (points - weight), weight, logits) <= eps
        share = share.where(within.unsqueeze(-1), share * 0.8)
    return (weight + share * (points - weight))[within]


@pytest.mark.parametrize("classes", [3, 5])
@settings(max_examples=12)
@given(data=st.data(), eps=st.sampled_from([0.01, 0.1]))
def test_what_is_found_is_within_eps_and_nothing_within_eps_is_above(classes, data: st.DataObject, eps):
    rows = data.draw(any_rows(classes, max_items=6, min_items=2))
    result = eps_max_js_bracket(*rows.linear(), eps)
    assert (result.lower <= result.upper).all()
    assert_close(result.gap, result.upper - result.lower)
    assert (result.attention[~rows.items] == 0).all()
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        own = result.attention[row, places]
        assert own.sum() == pytest.approx(1)
        assert (own >= 0).all()
        assert moved(own, weight, logits) <= eps
        assert_close(js_divergence(weight, own), result.lower[row], atol=1e-12, rtol=0)
        points = sampled(weight, logits, eps, seed=row)
        assert (js_divergence(weight.expand_as(points), points) <= result.upper[row] + 1e-9).all()


@settings(max_examples=20)
@given(any_rows(max_items=6, min_items=2))
def test_for_two_classes_the_exact_answer_lies_between(rows: LinearBatch):
    exact, result = eps_max_js(*rows.linear(), EPS), eps_max_js_bracket(*rows.linear(), EPS)
    # A pair is all that two classes need, and every pair is tried: the lower bound is the exact answer.
    assert_close(result.lower, exact.js, atol=1e-6, rtol=0)
    assert (exact.js <= result.upper + 1e-9).all()


def test_a_masked_class_changes_nothing():
    rows = random_rows(batch=3, count=7, classes=3, seed=1)
    masked = torch.cat([rows.item_logits, torch.full((3, 7, 2), -1e9).double()], -1)
    result = eps_max_js_bracket(rows.attention, masked, rows.items, EPS)
    plain = eps_max_js_bracket(*rows.linear(), EPS)
    assert_close(result.lower, plain.lower)
    assert_close(result.upper, plain.upper)


def test_an_item_that_gives_the_answer_alone_is_found_without_any_pair(monkeypatch):
    monkeypatch.setattr(bracket, "best_pair", lambda programs, weight, largest, known: known)
    monkeypatch.setattr(bracket, "most_different", lambda programs, weight, gains, corner: Reached(weight, corner))
    # The lightest item alone gives the answer of all; others, as light or lighter together, would give another.
    logits = torch.tensor([[[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0], [0.7, 0.7, 0.6, 0]]]).double()
    weight = torch.tensor([[0.33, 0.33, 0.29, 0.05]]).double()
    result = eps_max_js_bracket(weight, logits, torch.ones(1, 4).bool(), EPS)
    assert result.attention.tolist() == [[0, 0, 0, 1]]


def test_one_item_leaves_it_undefined():
    result = eps_max_js_bracket(torch.ones(1, 1), torch.zeros(1, 1, 3), torch.ones(1, 1).bool(), EPS)
    assert all(number.isnan().all() for number in (result.lower, result.upper, result.gap))
    assert result.attention.tolist() == [[1.0]]


@pytest.mark.parametrize("classes", [3, 5])
@settings(max_examples=6)
@given(data=st.data())
def test_padding_and_other_rows_change_nothing(classes, data: st.DataObject):
    rows = data.draw(any_rows(classes, max_items=5))
    result, wide = eps_max_js_bracket(*rows.linear(), EPS), eps_max_js_bracket(*padded(rows).linear(), EPS)
    assert_close(wide.upper, result.upper, atol=1e-12, rtol=0, equal_nan=True)
    assert_close(wide.lower, result.lower, atol=1e-12, rtol=0, equal_nan=True)
    for row in range(len(rows.items)):
        alone = eps_max_js_bracket(*one_row(rows, row).linear(), EPS)
        assert_close(alone.upper[0], result.upper[row], atol=1e-12, rtol=0, equal_nan=True)
        assert_close(alone.lower[0], result.lower[row], atol=1e-12, rtol=0, equal_nan=True)


@pytest.mark.parametrize(("count", "classes"), [(7, 3), (20, 5), (40, 4), (13, 12)])
def test_a_text_has_the_same_numbers_in_any_batch(count, classes):
    rows = random_rows(batch=9, count=count, classes=classes, seed=7)
    result = eps_max_js_bracket(*rows.linear(), 0.01)
    stands = answer_stands_without_top_bracket(*rows.linear(), 1, 0.01)
    for row in range(9):
        alone = one_row(rows, row)
        single = eps_max_js_bracket(*alone.linear(), 0.01)
        for name in ("lower", "upper", "attention"):
            assert_close(getattr(single, name)[0], getattr(result, name)[row], atol=1e-12, rtol=0)
        own = answer_stands_without_top_bracket(*alone.linear(), 1, 0.01)
        assert_close(own[0], stands[row], equal_nan=True)


def test_texts_that_do_not_fit_at_once_are_solved_in_turn(monkeypatch):
    rows = random_rows(batch=5, count=7, classes=4, seed=3)
    at_once = eps_max_js_bracket(*rows.linear(), EPS)
    monkeypatch.setattr(bracket, "NUMBERS_AT_ONCE", 2 * 7 * 4)
    in_turn = eps_max_js_bracket(*rows.linear(), EPS)
    assert_close(in_turn.lower, at_once.lower, atol=1e-12, rtol=0)
    assert_close(in_turn.upper, at_once.upper, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("count", "classes", "gap"), [(7, 3, 1e-3), (11, 3, 1e-3), (7, 5, 0.06), (20, 4, 0.03)])
def test_the_gap_is_small(count, classes, gap):
    rows = random_rows(batch=16, count=count, classes=classes, seed=0)
    assert eps_max_js_bracket(*rows.linear(), 0.01).gap.mean() < gap


def rest_of(rows: LinearBatch, row: int, m: int) -> Tensor:
    weight = rows.attention[row, rows.items[row]]
    return torch.tensor(sorted(range(len(weight)), key=lambda item: (-weight[item], item))[m:], dtype=torch.long)


@settings(max_examples=25)
@given(any_rows(max_items=6), st.integers(1, 2))
def test_for_two_classes_whether_the_answer_stands_is_never_wrong(rows: LinearBatch, m):
    exact = prediction_survives_without_top(*rows.linear(), m, EPS)
    result = answer_stands_without_top_bracket(*rows.linear(), m, EPS)
    known = ~result.isnan()
    assert torch.equal(result[known] == 1, exact[known])


@pytest.mark.parametrize("classes", [3, 5])
@settings(max_examples=20)
@given(data=st.data(), m=st.integers(1, 2))
def test_the_answer_is_not_reported_lost_where_it_can_be_kept(classes, data: st.DataObject, m):
    rows = data.draw(any_rows(classes, max_items=6))
    result = answer_stands_without_top_bracket(*rows.linear(), m, 0.2)
    generator = torch.Generator().manual_seed(0)
    for row, (weight, logits, _, _) in enumerate(rows.texts()):
        rest = rest_of(rows, row, m)
        if not len(rest):
            assert result[row] == 0
            continue
        points = torch.zeros(3000, len(weight)).double()
        drawn = torch.rand(3000, len(rest), generator=generator, dtype=torch.float64).log().neg() ** 3
        points[:, rest] = drawn / drawn.sum(-1, keepdim=True)
        if (moved(points, weight, logits) <= 0.2).any():
            assert result[row] != 0


def test_most_texts_get_a_definite_answer():
    rows = random_rows(batch=31, count=7, classes=5, seed=2)
    result = answer_stands_without_top_bracket(*rows.linear(), 1, EPS)
    assert (result == 1).any()
    assert (result == 0).any()
    assert result.isnan().sum() <= 2


@pytest.mark.parametrize("classes", [3, 5])
@settings(max_examples=15)
@given(data=st.data(), m=st.integers(1, 3))
def test_a_witness_decides_more_and_nothing_otherwise(classes, data: st.DataObject, m):
    rows = data.draw(any_rows(classes, max_items=6))
    rest = without_top(rows.attention, rows.items, m)
    known = eps_max_js_bracket(*rows.linear(), EPS).attention
    plain = answer_stands_without_top_bracket(*rows.linear(), m, EPS)
    result = prediction_survives_on_items(*rows.linear(), rest, EPS, known=known)
    assert ((result == plain) | plain.isnan()).all()


def test_where_a_witness_has_no_weight_elsewhere_nothing_is_solved(monkeypatch):
    rows = random_rows(batch=5, count=7, classes=4, seed=3)
    known = eps_max_js_bracket(*rows.linear(), EPS).attention
    usable = known > 0
    solved = prediction_survives_on_items(*rows.linear(), usable, EPS)
    monkeypatch.delattr(bracket, "_stands")
    result = prediction_survives_on_items(*rows.linear(), usable, EPS, known=known)
    assert result.tolist() == [1.0] * 5
    assert not (solved == 0).any()


def test_a_witness_that_is_beyond_eps_or_on_other_items_is_not_believed():
    # The first item alone gives the answer; all weight on the others gives another one.
    logits = torch.tensor([[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 4.0, 0.0]]]).double()
    weight, items = torch.tensor([[0.98, 0.01, 0.01]]).double(), torch.ones(1, 3).bool()
    others = torch.tensor([[False, True, True]])
    beyond = torch.tensor([[0.0, 0.5, 0.5]]).double()
    for known in (None, beyond, weight):
        assert prediction_survives_on_items(weight, logits, items, others, EPS, known=known).tolist() == [0.0]


def test_no_usable_item_gives_no_answer():
    rows = random_rows(batch=3, count=5, classes=3, seed=0)
    none = torch.zeros(3, 5).bool()
    result = prediction_survives_on_items(*rows.linear(), none, EPS, known=rows.attention)
    assert result.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("eps", [0.0, 1.0, -0.5])
def test_an_impossible_eps_is_refused(eps):
    rows = random_rows(batch=1, count=3, classes=3, seed=0)
    message = f"eps must be above 0 and below 1; it was {eps}. It bounds how far the prediction may move"
    with pytest.raises(ValueError, match=message):
        eps_max_js_bracket(*rows.linear(), eps)
    with pytest.raises(ValueError, match=message):
        answer_stands_without_top_bracket(*rows.linear(), 1, eps)
