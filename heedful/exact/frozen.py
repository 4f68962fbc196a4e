"""The best that an adversary could do with the encoder and the head frozen, for two classes: exact.

The loss |p(q) - p(base)| - JSD(base, q) / ln 2 depends on q through its logit and its divergence. For each logit the
largest divergence is at a corner with at most two items (see adversary.py), so it is enough to consider pairs of items,
each with a single free number: the logit that the pair is weighted to decode to. Along a pair the divergence is convex.
The move |p(q) - p(base)| is concave outside the interval between the base's logit and 0, so there the least loss is at
an end: an item alone, or the base's logit. Within the interval it is convex, and a tangent to it with a chord of the
divergence bounds the loss from below; bisecting the intervals that could still win converges to the optimum.
"""

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import (
    PAIRS_AT_ONCE,
    Corner,
    best_pair_at,
    bound_of_pairs_at,
    js_of_pair,
    js_of_single,
    spread,
)
from heedful.exact.linear_form import normalised_attention, two_class_margin
from heedful.measures import js_divergence

# The loss returned is within this of the least; rounding alone is near 1e-15.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class FrozenOptimum:
    """The attention with the least loss, and the loss's two parts.

    Args:
        loss: moved - js / ln 2; never above 0, which the base attention itself gives.
        moved: how far p moves, |p(attention) - p(base)|.
        js: how far the attention is from the base.
        attention: at most two weights are not 0.
    """

    loss: Float[Tensor, " batch"]
    moved: Float[Tensor, " batch"]
    js: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch item"]


class Problem(NamedTuple):
    """Base weights, margins, and the logit that the base decodes to."""

    weight: Float[Tensor, "batch item"]
    margin: Float[Tensor, "batch item"]
    items: Bool[Tensor, "batch item"]
    logit: Float[Tensor, " batch"]


class PairIntervals(NamedTuple):
    """Pairs of items, each with the logits from `left` to `right` that the pair might be weighted to decode to."""

    row: Int[Tensor, " n"]
    first: Int[Tensor, " n"]
    second: Int[Tensor, " n"]
    left: Float[Tensor, " n"]
    right: Float[Tensor, " n"]


def frozen_optimum(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item 2"],
    items: Bool[Tensor, "batch item"],
) -> FrozenOptimum:
    """The least loss of any attention over the same items and the same head, and an attention that attains it.

    min over q of |p(q) - p(attention)| - JSD(attention, q) / ln 2.

    Between -1 and 0; near -1 means that other attention gives the same prediction. It is the loss of AtteFa (Amini and
    Kosseim 2022, section 3.2, equation 4) with everything but attention frozen, so its mean is below the loss of every
    attention module trained on these states; unlike the trained adversary's it needs no optimizer and no seed. Within
    1e-12 of the optimum.

    >>> agreeing = torch.tensor([[[0.0, 2.0], [0.0, 2.0]]])  # g(0.25) / ln 2 = 0.3804 / 0.6931
    >>> frozen_optimum(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]])).loss
    tensor([-0.5488], dtype=torch.float64)
    """
    base, margin = normalised_attention(attention, items), two_class_margin(item_logits, items)
    problem = Problem(base, margin, items, (base * margin).sum(-1))
    value, item = _alone(problem).max(-1)
    best = best_pair_at(problem.logit, base, margin, items, Corner(value, item, item, torch.ones_like(value)))
    best_attention = spread(_best_between(problem, best), base.shape[-1])
    moved = _moved((best_attention * margin).sum(-1), problem.logit)
    js = js_divergence(base, best_attention, items)
    return FrozenOptimum(moved - js / log(2), moved, js, best_attention)


def _moved(logit: Float[Tensor, "*shape"], base: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    return (logit.sigmoid() - base.sigmoid()).abs()


def _alone(problem: Problem) -> Float[Tensor, "batch item"]:
    """The value of each item alone: its divergence less ln 2 times the move, so that larger is better."""
    moved = _moved(problem.margin, problem.logit.unsqueeze(-1).expand_as(problem.margin))
    return (js_of_single(problem.weight) - log(2) * moved).where(problem.items, -torch.inf)


def _best_between(problem: Problem, best: Corner) -> Corner:
    """`best`, or a better pair weighted to a logit between the base's and 0; items with the largest bound first."""
    far = _last_worthwhile(problem, best)
    low, high = torch.minimum(problem.logit, far), torch.maximum(problem.logit, far)
    bound, order = _bound_of_pairs(problem, far).sort(dim=-1, descending=True, stable=True)
    best = Corner(*(part.clone() for part in best))
    width = bound.shape[-1]
    rows, start, block = torch.arange(bound.shape[0]), 0, 2
    while start < width and (rows := rows[bound[rows, start] > best.value[rows] + TOLERANCE]).numel():
        block = max(1, min(2 * block, PAIRS_AT_ONCE // (rows.numel() * width)))
        first = order[rows, start : start + block]
        own, partner = problem.margin[rows].gather(-1, first).unsqueeze(-1), problem.margin[rows].unsqueeze(1)
        left = torch.minimum(own, partner).maximum(low[rows, None, None])
        right = torch.maximum(own, partner).minimum(high[rows, None, None])
        real = problem.items[rows].gather(-1, first).unsqueeze(-1) & problem.items[rows].unsqueeze(1)
        row, place, second = (real & (left < right)).nonzero(as_tuple=True)
        intervals = PairIntervals(
            rows[row], first[row, place], second, left[row, place, second], right[row, place, second]
        )
        while intervals.row.numel():
            intervals = _bisect(problem, intervals, best)
        start += block
    return best


def _last_worthwhile(problem: Problem, best: Corner) -> Float[Tensor, " batch"]:
    """The logit, from the base's towards 0, where the largest divergence no longer pays for the move."""
    cap = js_of_single(problem.weight.where(problem.items, torch.inf).amin(-1))
    p, allowed = problem.logit.sigmoid(), (cap - best.value).clamp_min(0) / log(2)
    half = torch.full_like(p, 0.5)
    far = torch.where(problem.logit < 0, (p + allowed).minimum(half), (p - allowed).maximum(half)).logit()
    # The logit of a sigmoid comes back with rounding, which must not carry it past where it came from.
    return torch.where(problem.logit < 0, far.maximum(problem.logit), far.minimum(problem.logit))


def _bound_of_pairs(problem: Problem, far: Float[Tensor, " batch"]) -> Float[Tensor, "batch item"]:
    """For each item, a bound on its pairs weighted to a logit from the base's to `far`.

    The value along a pair is at most its chord plus ln 2 times the most that the move sags below its own chord. A chord
    is highest at an end: the base's logit, `far`, or an item in between, alone. For the first two, an item of the pair
    is below, and its bound counts; for the last, that item's own value does.
    """
    low, high = torch.minimum(problem.logit, far), torch.maximum(problem.logit, far)
    at_base = bound_of_pairs_at(problem.logit, *problem[:3])
    moved = _moved(far, problem.logit)
    at_far = bound_of_pairs_at(far, *problem[:3]) - log(2) * moved.unsqueeze(-1)
    between = (problem.margin >= low.unsqueeze(-1)) & (problem.margin <= high.unsqueeze(-1))
    highest = torch.maximum(at_base, at_far).maximum(_alone(problem).where(between, -torch.inf))
    return highest + log(2) * _sag(problem.logit, far, moved).unsqueeze(-1)


def _sag(
    base: Float[Tensor, " batch"], far: Float[Tensor, " batch"], moved: Float[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """How far |p - p(base)|, convex from the base's logit to `far`, may sag below its chord, by its two tangents."""
    length = (far - base).abs()
    flat, steep = _slope(base), _slope(far)
    meet = ((steep * length - moved) / (steep - flat)).nan_to_num(0.0).clamp_min(0).minimum(length)
    return ((moved / length).nan_to_num(0.0) - flat).clamp_min(0) * meet


def _slope(logit: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    return logit.sigmoid() * (-logit).sigmoid()


def _bisect(problem: Problem, intervals: PairIntervals, best: Corner) -> PairIntervals:
    """The halves of the intervals that could still beat `best`, which is updated with their ends and midpoints."""
    row, first, second, left, right = intervals
    middle, base = (left + right) / 2, problem.logit[row]
    points = torch.stack([left, middle, right])
    own, partner = problem.margin[row, first], problem.margin[row, second]
    shares = ((partner - points) / (partner - own)).clamp(0, 1)
    js = js_of_pair(problem.weight[row, first], problem.weight[row, second], shares)
    moved = _moved(points, base.expand_as(points))
    _keep_better(best, intervals, js - log(2) * moved, shares)
    slope = -base.sign() * _slope(middle)
    tangent = moved[1] + slope * (points[[0, 2]] - middle)
    alive = (js[[0, 2]] - log(2) * tangent).amax(0) > best.value[row] + TOLERANCE
    halves = [(row, first, second, left, middle), (row, first, second, middle, right)]
    return PairIntervals(*(torch.cat([half[alive] for half in parts]) for parts in zip(*halves, strict=True)))


def _keep_better(
    best: Corner, intervals: PairIntervals, value: Float[Tensor, "point n"], shares: Float[Tensor, "point n"]
) -> None:
    """Write the best of many points into `best`, which `_best_between` copied for itself."""
    value, point = value.max(0)
    top = best.value.scatter_reduce(0, intervals.row, value, "amax")
    winners = ((value == top[intervals.row]) & (value > best.value[intervals.row])).nonzero().squeeze(-1)
    # Several points of a row may tie; take the first, so that first, second and share belong together.
    place = torch.full_like(best.first, value.numel()).scatter_reduce(0, intervals.row[winners], winners, "amin")
    rows = (place < value.numel()).nonzero().squeeze(-1)
    place = place[rows]
    best.value[rows] = value[place]
    best.first[rows], best.second[rows] = intervals.first[place], intervals.second[place]
    best.share[rows] = shares[point[place], place]
