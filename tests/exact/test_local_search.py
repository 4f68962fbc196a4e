import pytest
import torch
from torch import Tensor

import heedful.exact.local_search as local_search
from heedful.exact.local_search import most_different_nearby
from heedful.exact.polytope import TextProblem, is_within
from heedful.measures import js_divergence
from support.polytopes import attentions, some_problem

EPS = 0.05


def reached(problem: TextProblem) -> Tensor:
    return most_different_nearby(problem, problem.weight.unsqueeze(0), problem.weight.unsqueeze(0))


def pulled_in(problem: TextProblem, points: Tensor) -> Tensor:
    """From the base towards each point until the prediction leaves eps."""
    share = torch.ones(len(points), 1).double()
    for _ in range(80):
        within = is_within(problem, problem.weight + share * (points - problem.weight)).unsqueeze(-1)
        share = share.where(within, 0.9 * share)
    points = problem.weight + share * (points - problem.weight)
    return points[is_within(problem, points)]


@pytest.mark.parametrize(("count", "classes"), [(2, 3), (3, 5), (5, 4), (7, 3), (11, 5)])
@pytest.mark.parametrize("eps", [0.01, 0.1])
def test_what_it_reaches_is_within_eps_and_no_random_attention_is_further(count, classes, eps):
    for seed in range(3):
        problem = some_problem(count, classes, seed, eps)
        attention = reached(problem)
        assert attention.sum() == pytest.approx(1)
        assert (attention >= 0).all()
        assert is_within(problem, attention)
        points = pulled_in(problem, attentions(problem, seed))
        most = js_divergence(problem.weight.expand_as(points), points).max()
        assert js_divergence(problem.weight, attention) >= most - 1e-3


def test_it_is_never_worse_than_a_start():
    problem = some_problem(count=7, classes=5, seed=0, eps=EPS)
    starts = pulled_in(problem, attentions(problem, seed=1, number=20))
    attention = most_different_nearby(problem, starts, starts)
    most = js_divergence(problem.weight.expand_as(starts), starts).max()
    assert js_divergence(problem.weight, attention) >= most


def test_the_order_of_the_items_changes_nothing_but_their_order():
    problem, order = some_problem(count=7, classes=4, seed=5, eps=EPS), torch.tensor([3, 0, 6, 2, 5, 1, 4])
    other = problem._replace(weight=problem.weight[order], logits=problem.logits[order])
    values = [js_divergence(each.weight, reached(each)) for each in (problem, other)]
    assert float(values[0]) == pytest.approx(float(values[1]), abs=1e-4)


def test_equal_items_and_items_without_weight_are_no_trouble():
    weight = torch.tensor([0.5, 0.5, 0.0, 0.0, 0.0]).double()
    logits = torch.tensor([[1.0, 0.0, -1.0]]).double().expand(5, 3)
    problem = TextProblem(weight, logits, logits[0].softmax(-1), EPS)
    # All items give the same answer, so all weight may go to an item that had none.
    assert js_divergence(weight, reached(problem)) == pytest.approx(0.6931471805599453)


def test_where_a_table_would_be_too_large_it_returns_the_best_start(monkeypatch):
    monkeypatch.setattr(local_search, "NUMBERS", 1)
    problem = some_problem(count=7, classes=5, seed=0, eps=EPS)
    starts = pulled_in(problem, attentions(problem, seed=1, number=20))
    attention = most_different_nearby(problem, starts, problem.weight.unsqueeze(0))
    best = starts[js_divergence(problem.weight.expand_as(starts), starts).argmax()]
    assert torch.equal(attention, best)


def test_in_a_long_text_only_the_lightest_items_and_those_of_sparse_starts_gain_weight():
    problem = some_problem(count=211, classes=3, seed=1, eps=EPS)
    heaviest = torch.zeros_like(problem.weight).scatter(0, problem.weight.argmax(), 1.0)
    candidates = local_search._candidates(problem, torch.stack([heaviest, problem.weight]).numpy())
    lightest = problem.weight.argsort()[: local_search.CANDIDATES].tolist()
    assert set(candidates.tolist()) == {*lightest, int(problem.weight.argmax())}
    assert is_within(problem, reached(problem))
