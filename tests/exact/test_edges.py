import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import heedful.exact.edges as edges
from heedful.exact.adversary import js_of_pair
from heedful.exact.edges import best_edge
from heedful.exact.polytope import is_within, outer_limits
from heedful.measures import js_divergence
from support.polytopes import some_problem


def listed_pairs(problem, steps: int = 401):
    """Every pair at many shares: attention and divergence."""
    n = problem.weight.numel()
    unit, share = torch.eye(n).double(), torch.linspace(0, 1, steps).double().reshape(-1, 1, 1, 1)
    points = (share * unit.unsqueeze(1) + (1 - share) * unit).reshape(-1, n)
    return points, js_divergence(problem.weight.expand_as(points), points)


@settings(max_examples=40)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.05, 0.2]))
def test_it_is_within_eps_and_as_far_as_any_pair_on_a_grid(classes, seed, eps):
    problem = some_problem(count=5, classes=classes, seed=seed, eps=eps)
    edge = best_edge(problem, outer_limits(problem), at_least=-1.0)
    points, js = listed_pairs(problem)
    within = is_within(problem, points)
    if edge is None:
        assert not within.any()
        return
    assert is_within(problem, edge)
    assert (edge != 0).sum() <= 2
    assert edge.sum() == pytest.approx(1)
    # Many classes may split a pair's interval in two, and the nine shares tried can miss either; two classes cannot.
    missed = js[within] > js_divergence(problem.weight, edge) + 1e-9
    assert not missed.any()


def test_nothing_is_returned_that_is_not_further_than_asked():
    problem = some_problem(count=5, classes=3, seed=1, eps=0.2)
    edge = best_edge(problem, outer_limits(problem), at_least=-1.0)
    assert edge is not None
    js = float(js_divergence(problem.weight, edge))
    assert best_edge(problem, outer_limits(problem), at_least=js + 1e-9) is None
    assert best_edge(problem, outer_limits(problem), at_least=js - 1e-9) is not None


def test_small_blocks_find_the_same(monkeypatch):
    problems = [some_problem(count=11, classes=3, seed=seed, eps=0.1) for seed in range(10)]
    edges_at_once = [best_edge(problem, outer_limits(problem), at_least=-1.0) for problem in problems]
    monkeypatch.setattr(edges, "NUMBERS_AT_ONCE", 1)
    for problem, once in zip(problems, edges_at_once, strict=True):
        again = best_edge(problem, outer_limits(problem), at_least=-1.0)
        assert once is not None
        assert again is not None
        assert torch.equal(once, again)


def test_with_many_classes_only_the_lightest_items_are_paired(monkeypatch):
    problem = some_problem(count=7, classes=5, seed=3, eps=0.9)
    monkeypatch.setattr(edges, "LIGHTEST_TIMES_CLASSES", 10)
    edge = best_edge(problem, outer_limits(problem), at_least=-1.0)
    assert edge is not None
    lightest = problem.weight.argsort()[:2]
    assert set(edge.nonzero().flatten().tolist()) <= set(lightest.tolist())
    first, second = problem.weight[lightest].unbind()
    assert js_divergence(problem.weight, edge) >= js_of_pair(first, second, torch.tensor(0.5).double())
