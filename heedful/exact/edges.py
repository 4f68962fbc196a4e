"""Pairs of items whose prediction stays within eps, for any number of classes: a search for the most different pair.

Along a pair the divergence is convex in the share, so the best share is at an end of an interval that is within eps.
The outer limits are linear in the share and enclose the interval; inside them evenly spaced shares are tried, and the
ends are then located by bisection. So every pair returned is within eps, but a better pair may be missed.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.exact.adversary import js_of_pair, js_of_single
from heedful.exact.polytope import SAFETY, Limits, TextProblem
from heedful.measures import total_variation

# Only pairs of the lightest items, which are the most different: a text of thousands of items has millions of pairs.
# As many as keep items x classes within this, and the work within its square.
LIGHTEST_TIMES_CLASSES = 2**10
SHARES = 33
HALVINGS = 32
NUMBERS_AT_ONCE = 2**20


class Pairs(NamedTuple):
    """Pairs of items, with the range of the first item's share that the limits allow."""

    first: Int[Tensor, " n"]
    second: Int[Tensor, " n"]
    least: Float[Tensor, " n"]
    most: Float[Tensor, " n"]


def best_edge(problem: TextProblem, limits: Limits, at_least: float) -> Float[Tensor, " item"] | None:
    """The most different pair of items, of those tried, within eps; None where none is more different than `at_least`.

    >>> logits = torch.tensor([[2.0, 0.0], [-2.0, 0.0]])
    >>> problem = TextProblem(torch.tensor([0.5, 0.5]), logits, torch.tensor([0.5, 0.5]), 0.01)
    >>> best_edge(problem, Limits(torch.tensor([0.49, 0.49]).log(), torch.tensor([0.51, 0.51]).log()), 0.0)
    tensor([0.5100, 0.4900])
    """
    order = problem.weight.argsort(stable=True)[: max(2, LIGHTEST_TIMES_CLASSES // problem.p.numel())]
    alone = js_of_single(problem.weight[order])
    best, attention = at_least, None
    block = max(1, NUMBERS_AT_ONCE // (order.numel() * problem.p.numel() ** 2))
    for start in range(0, order.numel(), block):
        # No pair beats its lighter item alone, and from here on all are heavier.
        if alone[start] <= best:
            break
        pairs = _pairs_within_limits(problem, limits, order, start, block)
        ends = torch.stack([_js(problem, pairs, pairs.least), _js(problem, pairs, pairs.most)]).amax(0)
        pairs = Pairs(*(part[ends > best] for part in pairs))
        js, share, place = _furthest(problem, pairs)
        if js > best:
            best = js
            attention = torch.zeros_like(problem.weight)
            attention[pairs.first[place]], attention[pairs.second[place]] = share, 1 - share
    return attention


def _pairs_within_limits(
    problem: TextProblem, limits: Limits, order: Int[Tensor, " light"], start: int, block: int
) -> Pairs:
    """The pairs of `block` items with any later item, where some share keeps the limits."""
    first_logits = problem.logits[order[start : start + block]].unsqueeze(1)
    second_logits = problem.logits[order].unsqueeze(0)
    # For every two classes k, l: (u_k - u_l) at share 0, plus share x slope, is at most high_k - low_l.
    slope = _differences(first_logits - second_logits)
    room = (limits.high.unsqueeze(-1) - limits.low) - _differences(second_logits)
    ratio = room / slope
    most = ratio.where(slope > 0, torch.inf).amin((-1, -2)).clamp_max(1)
    least = ratio.where(slope < 0, -torch.inf).amax((-1, -2)).clamp_min(0)
    never = ((slope == 0) & (room < 0)).any(-1).any(-1)
    later = torch.arange(order.numel()) > torch.arange(start, start + first_logits.shape[0]).unsqueeze(-1)
    first, second = ((least <= most) & later & ~never).nonzero(as_tuple=True)
    return Pairs(order[first + start], order[second], least[first, second], most[first, second])


def _differences(logits: Float[Tensor, "*n classes"]) -> Float[Tensor, "*n classes classes"]:
    return logits.unsqueeze(-1) - logits.unsqueeze(-2)


def _js(problem: TextProblem, pairs: Pairs, share: Float[Tensor, "*n pairs"]) -> Float[Tensor, "*n pairs"]:
    return js_of_pair(problem.weight[pairs.first], problem.weight[pairs.second], share)


def _excess(problem: TextProblem, pairs: Pairs, share: Float[Tensor, "*n pairs"]) -> Float[Tensor, "*n pairs"]:
    """How far the prediction of each pair at a share is beyond eps; 0 or below where it is within."""
    share = share.unsqueeze(-1)
    p = (share * problem.logits[pairs.first] + (1 - share) * problem.logits[pairs.second]).softmax(-1)
    return total_variation(p, problem.p.expand_as(p)) - problem.eps * (1 - SAFETY)


def _furthest(problem: TextProblem, pairs: Pairs) -> tuple[float, float, int]:
    """The largest divergence of a pair within eps, its share and its place; minus infinity where none is."""
    if not pairs.first.numel():
        return -torch.inf, 0.0, 0
    steps = torch.linspace(0, 1, SHARES, dtype=problem.weight.dtype).unsqueeze(-1)
    shares = pairs.least + steps * (pairs.most - pairs.least)
    within = _excess(problem, pairs, shares) <= 0
    forward = within.int().argmax(0)
    backward = SHARES - 1 - within.flip(0).int().argmax(0)
    ends = _edges_of(problem, pairs, shares, torch.stack([forward, backward]))
    js = _js(problem, pairs, ends).where(within.any(0), -torch.inf)
    place = int(js.argmax())
    return float(js.max()), float(ends.flatten()[place]), place % pairs.first.numel()


def _edges_of(
    problem: TextProblem, pairs: Pairs, shares: Float[Tensor, "steps pairs"], steps: Int[Tensor, "2 pairs"]
) -> Float[Tensor, "2 pairs"]:
    """The last shares within eps from a step that is towards the step before it, and from another to the step after."""
    inside = shares.gather(0, steps)
    outside = shares.gather(0, (steps + torch.tensor([[-1], [1]])).clamp(0, SHARES - 1))
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        within = _excess(problem, pairs, middle) <= 0
        inside, outside = middle.where(within, inside), outside.where(within, middle)
    return inside
