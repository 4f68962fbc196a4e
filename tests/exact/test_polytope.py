import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.exact.polytope import (
    Limits,
    inner_limits,
    is_within,
    largest_weights,
    least_violation,
    maximise,
    nearest_found,
    outer_limits,
    outer_polytope,
    row_of,
    within_limits,
)
from heedful.measures import total_variation
from support.exact_strategies import random_rows
from support.polytopes import attentions, keeps, some_row

EPS = [0.01, 0.1]


def test_both_kinds_of_prediction_are_met():
    row = some_row(count=7, classes=3, seed=0, eps=0.1)
    within = is_within(row, attentions(row, 0))
    assert 100 < int(within.sum()) < 3900


@pytest.mark.parametrize("eps", EPS)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_the_outer_limits_keep_all_within_eps_and_the_inner_ones_nothing_else(eps, classes, seed):
    row = some_row(count=5, classes=classes, seed=seed, eps=eps)
    points = attentions(row, seed)
    within = is_within(row, points)
    assert keeps(row, outer_limits(row), points)[within].all()
    assert within[keeps(row, inner_limits(row), points, slack=-1e-7)].all()


@pytest.mark.parametrize("eps", EPS)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_no_attention_within_the_limits_exceeds_its_largest_weights(eps, classes, seed):
    row = some_row(count=5, classes=classes, seed=seed, eps=eps)
    points, limits = attentions(row, seed), outer_limits(row)
    largest = largest_weights(row.logits, limits)
    assert (points[keeps(row, limits, points, slack=0)] <= largest + 1e-9).all()


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_a_maximum_is_attained_and_its_bound_is_a_bound(classes, seed):
    row = some_row(count=7, classes=classes, seed=seed, eps=0.05)
    slopes, points = torch.randn(7, generator=torch.Generator().manual_seed(seed)).double(), attentions(row, seed)
    found = maximise(slopes, outer_polytope(row))
    assert keeps(row, outer_limits(row), found.attention, slack=1e-6)
    assert float(found.attention @ slopes) == pytest.approx(found.bound, abs=1e-6)
    assert ((points @ slopes)[is_within(row, points)] <= found.bound + 1e-12).all()
    limits = inner_limits(row)
    found = maximise(slopes, within_limits(row.logits, limits))
    assert is_within(row, 0.999 * found.attention + 0.001 * row.weight)
    assert float(found.attention @ slopes) == pytest.approx(found.bound, abs=1e-6)
    assert ((points @ slopes)[keeps(row, limits, points, slack=0)] <= found.bound + 1e-12).all()


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_every_attention_breaks_limits_out_of_reach_by_the_least_violation(classes, seed):
    row = some_row(count=5, classes=classes, seed=seed, eps=0.01)
    limits, shift = inner_limits(row), 4 * torch.arange(classes)
    far = Limits(limits.low + shift, limits.high + shift)
    found, points = least_violation(within_limits(row.logits, far)), attentions(row, seed)
    logits = torch.cat([points, found.attention.unsqueeze(0)]) @ row.logits
    broken = (((logits - far.high).amax(-1) - (logits - far.low).amin(-1)) / 2).clamp_min(0)
    assert found.bound <= broken.min() + 1e-12
    assert broken[-1] == pytest.approx(found.bound, abs=1e-6)
    assert least_violation(outer_polytope(row)).bound <= 1e-12


@settings(max_examples=25)
@given(classes=st.sampled_from([3, 5]), seed=st.integers(0, 999))
def test_the_outer_polytope_is_never_said_to_be_empty_where_some_attention_is_within_eps(classes, seed):
    row = some_row(count=7, classes=classes, seed=seed, eps=0.05)
    rest = row.weight.argsort()[:5]
    row = row._replace(weight=row.weight[rest], logits=row.logits[rest])
    points = torch.rand(20000, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log().neg()
    found = is_within(row, points / points.sum(-1, keepdim=True)).any()
    violation = least_violation(outer_polytope(row)).bound
    assert not (found and violation > 1e-12)


def test_the_nearest_prediction_found_is_nearer_than_any_drawn():
    for seed in range(20):
        row = some_row(count=7, classes=5, seed=seed, eps=1e-6)
        row = row._replace(weight=row.weight[1:], logits=row.logits[1:])
        points = torch.rand(20000, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log().neg()
        points = torch.cat(
            [points / points.sum(-1, keepdim=True), nearest_found(row, torch.ones(6).double() / 6)[None]]
        )
        p = (points @ row.logits).softmax(-1)
        assert total_variation(p, row.p.expand_as(p)).argmin() == 20000


def test_classes_that_never_come_into_play_are_left_out():
    rows = random_rows(batch=1, count=5, classes=3, seed=0)
    masked = torch.cat([rows.item_logits[0], torch.full((5, 2), -1e9).double()], -1)
    row, plain = row_of(rows.attention[0], masked, 0.01), row_of(rows.attention[0], rows.item_logits[0], 0.01)
    assert torch.equal(row.logits, plain.logits)
