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
    nearest_attention,
    outer_limits,
    outer_polytope,
    text_problem,
    within_limits,
)
from heedful.measures import total_variation
from support.exact_strategies import random_rows
from support.polytopes import attentions, keeps, some_problem

EPS = [0.01, 0.1]


def test_both_kinds_of_prediction_are_met():
    problem = some_problem(count=7, classes=3, seed=0, eps=0.1)
    within = is_within(problem, attentions(problem, 0))
    assert 100 < int(within.sum()) < 3900


@pytest.mark.parametrize("eps", EPS)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_the_outer_limits_keep_all_within_eps_and_the_inner_limits_nothing_else(eps, classes, seed):
    problem = some_problem(count=5, classes=classes, seed=seed, eps=eps)
    points = attentions(problem, seed)
    within = is_within(problem, points)
    assert keeps(problem, outer_limits(problem), points)[within].all()
    assert within[keeps(problem, inner_limits(problem), points, slack=-1e-7)].all()


@pytest.mark.parametrize("eps", EPS)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_no_attention_within_the_limits_exceeds_its_largest_weights(eps, classes, seed):
    problem = some_problem(count=5, classes=classes, seed=seed, eps=eps)
    points, limits = attentions(problem, seed), outer_limits(problem)
    largest = largest_weights(problem.logits, limits)
    assert (points[keeps(problem, limits, points, slack=0)] <= largest + 1e-9).all()


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_a_maximum_is_attained_and_its_bound_is_a_bound(classes, seed):
    problem = some_problem(count=7, classes=classes, seed=seed, eps=0.05)
    slopes, points = torch.randn(7, generator=torch.Generator().manual_seed(seed)).double(), attentions(problem, seed)
    solution = maximise(slopes, outer_polytope(problem))
    assert keeps(problem, outer_limits(problem), solution.attention, slack=1e-6)
    assert float(solution.attention @ slopes) == pytest.approx(solution.bound, abs=1e-6)
    assert ((points @ slopes)[is_within(problem, points)] <= solution.bound + 1e-12).all()
    limits = inner_limits(problem)
    solution = maximise(slopes, within_limits(problem.logits, limits))
    assert is_within(problem, 0.999 * solution.attention + 0.001 * problem.weight)
    assert float(solution.attention @ slopes) == pytest.approx(solution.bound, abs=1e-6)
    assert ((points @ slopes)[keeps(problem, limits, points, slack=0)] <= solution.bound + 1e-12).all()


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_every_attention_breaks_limits_out_of_reach_by_the_least_violation(classes, seed):
    problem = some_problem(count=5, classes=classes, seed=seed, eps=0.01)
    limits, shift = inner_limits(problem), 4 * torch.arange(classes)
    far = Limits(limits.low + shift, limits.high + shift)
    solution, points = least_violation(within_limits(problem.logits, far)), attentions(problem, seed)
    logits = torch.cat([points, solution.attention.unsqueeze(0)]) @ problem.logits
    broken = (((logits - far.high).amax(-1) - (logits - far.low).amin(-1)) / 2).clamp_min(0)
    assert solution.bound <= broken.min() + 1e-12
    assert broken[-1] == pytest.approx(solution.bound, abs=1e-6)
    assert least_violation(outer_polytope(problem)).bound <= 1e-12


@settings(max_examples=25)
@given(classes=st.sampled_from([3, 5]), seed=st.integers(0, 999))
def test_the_outer_polytope_is_never_reported_empty_where_some_attention_is_within_eps(classes, seed):
    problem = some_problem(count=7, classes=classes, seed=seed, eps=0.05)
    rest = problem.weight.argsort()[:5]
    problem = problem._replace(weight=problem.weight[rest], logits=problem.logits[rest])
    points = torch.rand(20000, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log().neg()
    reachable = is_within(problem, points / points.sum(-1, keepdim=True)).any()
    violation = least_violation(outer_polytope(problem)).bound
    assert not (reachable and violation > 1e-12)


def test_the_nearest_attention_predicts_nearer_than_any_drawn():
    for seed in range(20):
        problem = some_problem(count=7, classes=5, seed=seed, eps=1e-6)
        problem = problem._replace(weight=problem.weight[1:], logits=problem.logits[1:])
        points = torch.rand(20000, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).log().neg()
        points = torch.cat(
            [points / points.sum(-1, keepdim=True), nearest_attention(problem, torch.ones(6).double() / 6)[None]]
        )
        p = (points @ problem.logits).softmax(-1)
        assert total_variation(p, problem.p.expand_as(p)).argmin() == 20000


def test_classes_that_never_come_into_play_are_left_out():
    rows = random_rows(batch=1, count=5, classes=3, seed=0)
    masked = torch.cat([rows.item_logits[0], torch.full((5, 2), -1e9).double()], -1)
    problem, plain = (
        text_problem(rows.attention[0], masked, 0.01),
        text_problem(rows.attention[0], rows.item_logits[0], 0.01),
    )
    assert torch.equal(problem.logits, plain.logits)
