from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import heedful.exact.several_classes as several_classes
from heedful.exact import (
    eps_max_js,
    eps_max_js_bound,
    prediction_survives_on_items,
    prediction_survives_without_top,
    without_top,
)
from heedful.exact.hull_programs import (
    Gains,
    Programs,
    attention_of,
    convex_part,
    divergence,
    first_basis,
    maximise,
    programs_of,
)
from heedful.exact.several_classes import ascended, largest_weights, most_different, slopes_of
from heedful.measures import js_divergence
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows
from support.hulls import attentions, is_within, pulled_in, some_programs

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


def survives_without_top(rows: LinearBatch, m: int, eps: float = EPS) -> Tensor:
    return prediction_survives_on_items(*rows.linear(), without_top(rows.attention, rows.items, m), eps)


@settings(max_examples=24)
@given(data=st.data(), classes=st.sampled_from([3, 5]), eps=st.sampled_from([0.01, 0.1]))
def test_what_is_found_is_within_eps_and_about_as_far_as_any_random_attention(data: st.DataObject, classes, eps):
    rows = data.draw(any_rows(classes, max_items=6, min_items=2))
    result = eps_max_js_bound(*rows.linear(), eps)
    assert (result.attention[~rows.items] == 0).all()
    for row, (weight, logits, _, places) in enumerate(rows.texts()):
        own = result.attention[row, places]
        assert own.sum() == pytest.approx(1)
        assert (own >= 0).all()
        assert moved(own, weight, logits) <= eps
        assert_close(js_divergence(weight, own), result.js[row], atol=1e-12, rtol=0)
        points = sampled(weight, logits, eps, seed=row)
        assert (js_divergence(weight.expand_as(points), points) <= result.js[row] + 0.05).all()


@settings(max_examples=20)
@given(any_rows(max_items=6, min_items=2))
def test_for_two_classes_it_is_a_lower_bound_near_the_exact_answer(rows: LinearBatch):
    exact, result = eps_max_js(*rows.linear(), EPS), eps_max_js_bound(*rows.linear(), EPS)
    assert (result.js <= exact.js + 1e-9).all()
    assert (result.js >= exact.js - 0.05).all()


def test_a_masked_class_changes_nothing():
    rows = random_rows(batch=3, count=7, classes=3, seed=1)
    masked = torch.cat([rows.item_logits, torch.full((3, 7, 2), -1e9).double()], -1)
    result = eps_max_js_bound(rows.attention, masked, rows.items, EPS)
    assert_close(result.js, eps_max_js_bound(*rows.linear(), EPS).js)


def test_an_item_that_gives_the_answer_alone_is_found_without_the_search(monkeypatch):
    monkeypatch.setattr(several_classes, "most_different", lambda programs, weight: weight)
    # The lightest item alone gives the answer of all; others, as light or lighter together, would give another.
    logits = torch.tensor([[[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0], [0.7, 0.7, 0.6, 0]]]).double()
    weight = torch.tensor([[0.33, 0.33, 0.29, 0.05]]).double()
    result = eps_max_js_bound(weight, logits, torch.ones(1, 4).bool(), EPS)
    assert result.attention.tolist() == [[0, 0, 0, 1]]


def test_one_item_leaves_it_undefined():
    result = eps_max_js_bound(torch.ones(1, 1), torch.zeros(1, 1, 3), torch.ones(1, 1).bool(), EPS)
    assert result.js.isnan().all()
    assert result.attention.tolist() == [[1.0]]


@settings(max_examples=12)
@given(data=st.data(), classes=st.sampled_from([3, 5]))
def test_padding_and_other_rows_change_nothing(data: st.DataObject, classes):
    rows = data.draw(any_rows(classes, max_items=5))
    result, wide = eps_max_js_bound(*rows.linear(), EPS), eps_max_js_bound(*padded(rows).linear(), EPS)
    assert_close(wide.js, result.js, atol=1e-12, rtol=0, equal_nan=True)
    for row in range(len(rows.items)):
        alone = eps_max_js_bound(*one_row(rows, row).linear(), EPS)
        assert_close(alone.js[0], result.js[row], atol=1e-12, rtol=0, equal_nan=True)


@pytest.mark.parametrize(("count", "classes"), [(7, 3), (20, 5), (13, 12)])
def test_a_text_has_the_same_numbers_in_any_batch(count, classes):
    rows = random_rows(batch=9, count=count, classes=classes, seed=7)
    result, survives = eps_max_js_bound(*rows.linear(), 0.01), survives_without_top(rows, 1, 0.01)
    for row in range(9):
        alone = one_row(rows, row)
        single = eps_max_js_bound(*alone.linear(), 0.01)
        assert_close(single.js[0], result.js[row], atol=1e-12, rtol=0)
        assert_close(single.attention[0], result.attention[row], atol=1e-12, rtol=0)
        assert_close(survives_without_top(alone, 1, 0.01)[0], survives[row], equal_nan=True)


def test_texts_that_do_not_fit_at_once_are_solved_in_turn(monkeypatch):
    rows = random_rows(batch=5, count=7, classes=4, seed=3)
    at_once = eps_max_js_bound(*rows.linear(), EPS)
    monkeypatch.setattr(several_classes, "NUMBERS_AT_ONCE", 2 * 7 * 4)
    assert_close(eps_max_js_bound(*rows.linear(), EPS).js, at_once.js, atol=1e-12, rtol=0)


def rest_of(rows: LinearBatch, row: int, m: int) -> Tensor:
    weight = rows.attention[row, rows.items[row]]
    return torch.tensor(sorted(range(len(weight)), key=lambda item: (-weight[item], item))[m:], dtype=torch.long)


@settings(max_examples=25)
@given(any_rows(max_items=6), st.integers(1, 2))
def test_for_two_classes_whether_the_answer_stands_is_never_wrong(rows: LinearBatch, m):
    exact = prediction_survives_without_top(*rows.linear(), m, EPS)
    result = survives_without_top(rows, m)
    known = ~result.isnan()
    assert torch.equal(result[known] == 1, exact[known])


@settings(max_examples=40)
@given(data=st.data(), classes=st.sampled_from([3, 5]), m=st.integers(1, 2))
def test_the_answer_is_not_reported_lost_where_it_can_be_kept(data: st.DataObject, classes, m):
    rows = data.draw(any_rows(classes, max_items=6))
    result = survives_without_top(rows, m, 0.2)
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
    result = survives_without_top(rows, 1)
    assert (result == 1).any()
    assert (result == 0).any()
    assert result.isnan().sum() <= 2


@settings(max_examples=30)
@given(data=st.data(), classes=st.sampled_from([3, 5]), m=st.integers(1, 3))
def test_a_witness_decides_more_and_nothing_otherwise(data: st.DataObject, classes, m):
    rows = data.draw(any_rows(classes, max_items=6))
    rest = without_top(rows.attention, rows.items, m)
    known = eps_max_js_bound(*rows.linear(), EPS).attention
    plain = survives_without_top(rows, m)
    result = prediction_survives_on_items(*rows.linear(), rest, EPS, known=known)
    assert ((result == plain) | plain.isnan()).all()


def test_where_a_witness_has_no_weight_elsewhere_nothing_is_solved(monkeypatch):
    rows = random_rows(batch=5, count=7, classes=4, seed=3)
    known = eps_max_js_bound(*rows.linear(), EPS).attention
    usable = known > 0
    solved = prediction_survives_on_items(*rows.linear(), usable, EPS)
    monkeypatch.delattr(several_classes, "_stands")
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


def test_an_impossible_eps_is_refused():
    rows = random_rows(batch=1, count=3, classes=3, seed=0)
    for eps in (0.0, 1.0, -0.5):
        message = f"eps must be above 0 and below 1; it was {eps}. It bounds how far the prediction may move"
        with pytest.raises(ValueError, match=message):
            eps_max_js_bound(*rows.linear(), eps)
        with pytest.raises(ValueError, match=message):
            survives_without_top(rows, 1, eps)


# The search.

quietly = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


@quietly
@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.1, 0.4]))
def test_no_attention_within_eps_exceeds_the_largest_weights(classes, seed, eps):
    programs, weight = some_programs(batch=5, count=6, classes=classes, seed=seed, eps=eps)
    largest = largest_weights(programs)
    for draw in range(20):
        assert (pulled_in(programs, weight, attentions(weight, draw)) <= largest + 1e-9).all()


def test_largest_weights_by_hand():
    # Each item is for another class; the margin may grow to ln(0.6 / 0.4), so weight x 2 - rest x 2 is at most that.
    logits = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    programs = programs_of(np.array([[0.5, 0.5]]), logits, np.array([[True, True]]), 0.1)
    assert largest_weights(programs) == pytest.approx(np.full((1, 2), (log(0.6 / 0.4) + 2) / 4))


@quietly
@pytest.mark.parametrize(
    ("count", "classes", "eps"), [(2, 3, 0.1), (3, 5, 0.01), (5, 4, 0.1), (7, 3, 0.01), (11, 5, 0.1), (11, 5, 0.01)]
)
def test_what_it_reaches_is_within_eps_and_few_random_attentions_are_further(count, classes, eps):
    programs, weight = some_programs(batch=23, count=count, classes=classes, seed=0, eps=eps)
    attention = most_different(programs, weight)
    assert attention.sum(1) == pytest.approx(1)
    assert (attention >= 0).all()
    assert is_within(programs, attention).all()
    most = np.max([divergence(weight, pulled_in(programs, weight, attentions(weight, draw))) for draw in range(40)], 0)
    assert (divergence(weight, attention) >= most - 1e-3).mean() > 0.9


def pairs_on_a_grid(programs: Programs, weight: np.ndarray, text: int, steps: int = 201) -> float:
    """The largest divergence of any pair of a text on a grid of shares that is within eps."""
    count, row = weight.shape[1], np.array([text])
    unit, share = np.eye(count), np.linspace(0, 1, steps)[:, None, None, None]
    points = (share * unit[:, None] + (1 - share) * unit).reshape(-1, count)
    rows = np.repeat(row, len(points))
    within = is_within(programs.take(rows), points)
    return float(divergence(weight[rows], points)[within].max(initial=0.0))


@quietly
def test_few_pairs_of_items_are_further():
    found, listed = [], []
    for seed in range(10):
        programs, weight = some_programs(batch=4, count=5, classes=3, seed=seed, eps=0.2)
        found += divergence(weight, most_different(programs, weight)).tolist()
        listed += [pairs_on_a_grid(programs, weight, text) for text in range(4)]
    lost = np.maximum(np.array(listed) - found, 0)
    assert (lost > 1e-3).mean() <= 0.1 and lost.mean() < 5e-3


def around_the_base(programs: Programs) -> Programs:
    return programs._replace(near=convex_part(programs.near, np.zeros_like(programs.near.p)))


@quietly
def test_no_neighbor_of_the_corner_it_ends_at_is_further():
    programs, weight = some_programs(batch=7, count=6, classes=3, seed=1, eps=0.05)
    programs = around_the_base(programs)
    start = maximise(programs, Gains(slopes_of(programs, weight)), first_basis(programs))
    end = ascended(programs, weight, start)
    before, after = (divergence(weight, attention_of(basis, 6)) for basis in (start, end))
    assert (after >= before - 1e-12).all() and (after > before + 1e-3).any()
    again = ascended(programs, weight, end)
    assert np.array_equal(again.kind, end.kind)


@quietly
def test_a_search_that_stops_early_goes_on_from_there():
    programs, weight = some_programs(batch=7, count=9, classes=4, seed=2, eps=0.05)
    programs = around_the_base(programs)
    start = maximise(programs, Gains(slopes_of(programs, weight)), first_basis(programs))
    end = ascended(programs, weight, start)
    for corners in (1, 2, 5):
        some = ascended(programs, weight, start, corners=corners)
        first, last = (divergence(weight, attention_of(basis, 9)) for basis in (some, end))
        assert (first <= last + 1e-12).all()
        assert attention_of(ascended(programs, weight, some), 9) == pytest.approx(attention_of(end, 9))


@quietly
def test_each_text_is_searched_as_if_alone():
    programs, weight = some_programs(batch=17, count=9, classes=4, seed=5, eps=0.03)
    together = most_different(programs, weight)
    for text in range(17):
        row = np.array([text])
        assert most_different(programs.take(row), weight[row])[0] == pytest.approx(together[text], abs=1e-12)


@quietly
def test_in_a_long_text_weight_may_go_to_any_item_that_the_linear_program_prefers():
    programs, weight = some_programs(batch=2, count=211, classes=3, seed=1, eps=0.05)
    attention = most_different(programs, weight)
    assert is_within(programs, attention).all()
    assert ((attention > 0).sum(1) <= 3).all()
    assert (divergence(weight, attention) > 0.6).all()
