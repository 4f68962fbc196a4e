from math import log

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.exact.adversary import loss_of_overlap
from heedful.exact.corners import most_different_corner
from heedful.exact.polytope import Limits, inner_limits, outer_limits
from support.polytopes import attentions, keeps, some_problem


@pytest.mark.parametrize("limits_of", [inner_limits, outer_limits])
@settings(max_examples=40)
@given(count=st.sampled_from([2, 3, 5, 7]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.1, 0.4]))
def test_no_attention_within_the_limits_is_further_away(limits_of, count, seed, eps):
    problem = some_problem(count=count, classes=3, seed=seed, eps=eps)
    limits = limits_of(problem)
    corner = most_different_corner(problem.weight, problem.logits, limits)
    assert corner is not None
    assert corner.attention.sum() == pytest.approx(1)
    assert (corner.attention != 0).sum() <= 3
    assert keeps(problem, limits, corner.attention, slack=1e-8)
    js = log(2) + loss_of_overlap(problem.weight, corner.attention).sum()
    assert corner.bound == pytest.approx(float(js), abs=1e-12)
    points = attentions(problem, seed)
    within = points[keeps(problem, limits, points, slack=0)]
    assert (log(2) + loss_of_overlap(problem.weight, within).sum(-1) <= corner.bound + 1e-9).all()


def test_three_items_may_be_needed():
    # Each item leans to another class; only a third of each gives the uniform answer.
    weight = torch.tensor([0.3, 0.3, 0.4]).double()
    level = torch.zeros(3).double()
    corner = most_different_corner(weight, 3 * torch.eye(3).double(), Limits(level, level))
    assert corner is not None
    assert corner.attention.tolist() == pytest.approx([1 / 3] * 3)


def test_limits_out_of_reach_leave_no_corner():
    far = torch.tensor([9.0, 0.0, 0.0]).double()
    assert (
        most_different_corner(torch.tensor([0.5, 0.5]).double(), torch.zeros(2, 3).double(), Limits(far, far)) is None
    )


def test_without_limits_the_lightest_item_is_the_furthest():
    never, always = torch.full((3,), -torch.inf).double(), torch.zeros(3).double()
    weight = torch.tensor([0.5, 0.2, 0.3]).double()
    corner = most_different_corner(weight, torch.eye(3).double(), Limits(never, always))
    assert corner is not None
    assert corner.attention.tolist() == [0, 1, 0]
