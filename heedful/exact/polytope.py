"""Linear programs over the attentions whose prediction is near the base's: what bounds a sum, and whether any are left.

The predictions within eps of the base's in total variation are not a convex set of logits. But with c a free number
the set lies between two polytopes, both of the form low[k] <= u[k] - c <= high[k]:

    outer   high = ln(p + eps), low = ln(p - eps), none where p <= eps    (no class moves by more than TVD)
    inner   high, low = ln(p) +- 2 artanh(eps)                            (TVD <= tanh(range of the shift / 4))

The outer one is cut further, for all that classes rise, and all that they fall, is at most eps together.

A solver meets its constraints to 1e-7 or so. So no bound here is taken from its optimum: any multipliers of the
constraints prove a bound, and the bound is computed from the solver's.
"""

from math import atanh, inf
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.measures import total_variation

# What counts as within eps stays inside by this part of it, so that another order of summation still finds it inside.
SAFETY = 1e-9
# A class whose logit is always so far below another's has no share in the prediction that float64 could hold.
UNREACHABLE = 50.0
# Linear programs in search of the nearest prediction; more of them change little.
ROUNDS = 5


class Row(NamedTuple):
    """One text without its padding and without classes that no attention brings into play."""

    weight: Float[Tensor, " item"]
    logits: Float[Tensor, "item classes"]
    p: Float[Tensor, " classes"]
    eps: float


class Limits(NamedTuple):
    """low[k] <= u[k] - c <= high[k], for some c."""

    low: Float[Tensor, " classes"]
    high: Float[Tensor, " classes"]


class Polytope(NamedTuple):
    """The attentions with items @ attention + more @ extra <= right for some extra: the first free, the rest >= 0."""

    items: Float[Tensor, "limit item"]
    more: Float[Tensor, "limit extra"]
    right: Float[Tensor, " limit"]


class Solution(NamedTuple):
    """What a linear program found, and the bound that its multipliers prove."""

    attention: Float[Tensor, " item"]
    bound: float


def row_of(weight: Float[Tensor, " item"], logits: Float[Tensor, "item classes"], eps: float) -> Row:
    """The row with its prediction; logits are measured from each item's mean, which changes no prediction.

    >>> row = row_of(torch.tensor([0.5, 0.5]), torch.tensor([[1.0, 3.0, -1e9], [2.0, 2.0, -1e9]]), 0.01)
    >>> row.logits
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    in_play = logits.amax(0) > logits.amin(0).max() - UNREACHABLE
    logits = logits[:, in_play]
    logits = logits - logits.mean(-1, keepdim=True)
    return Row(weight, logits, (weight @ logits).softmax(-1), eps)


def is_within(row: Row, attention: Float[Tensor, "*n item"]) -> Bool[Tensor, "*n"]:
    """Whether attention decodes to a prediction within eps of the base's."""
    p = (attention @ row.logits).softmax(-1)
    return total_variation(p, row.p.expand_as(p)) <= row.eps * (1 - SAFETY)


def outer_limits(row: Row) -> Limits:
    """Limits that every prediction within eps keeps."""
    low = (row.p - row.eps).clamp_min(0).log()
    return Limits(low, (row.p + row.eps).log())


def inner_limits(row: Row) -> Limits:
    """Limits that only predictions within eps keep."""
    half = 2 * atanh(row.eps)
    return Limits(row.p.log() - half, row.p.log() + half)


def largest_weights(logits: Float[Tensor, "item classes"], limits: Limits) -> Float[Tensor, " item"]:
    """For each item, a weight that no attention within the limits exceeds.

    From each pair of classes alone: weight x margin + (1 - weight) x the least margin of any item <= the pair's limit.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]])  # the margin u[0] - u[1] may be at most 0
    >>> largest_weights(logits, Limits(torch.zeros(2), torch.zeros(2)))
    tensor([0.5000, 0.5000])
    """
    largest = torch.ones_like(logits[:, 0])
    # Class by class: all pairs at once would be a cube of hundreds of classes twice.
    for leading in range(logits.shape[1]):
        margin, limit = logits[:, leading, None] - logits, limits.high[leading] - limits.low
        least = margin.amin(0).minimum(limit)
        share = ((limit - least) / (margin - least)).where(margin > limit, 1.0)
        largest = torch.minimum(largest, share.amin(-1))
    return largest


def within_limits(logits: Float[Tensor, "item classes"], limits: Limits) -> Polytope:
    """The attentions that keep the limits; c is the extra number."""
    above, below = limits.high.isfinite(), limits.low.isfinite()
    items = torch.cat([logits[:, above].T, -logits[:, below].T])
    more = torch.cat([-above[above].to(logits), below[below].to(logits)]).unsqueeze(-1)
    return Polytope(items, more, torch.cat([limits.high[above], -limits.low[below]]))


def outer_polytope(row: Row) -> Polytope:
    """Attentions among which are all within eps: those that keep the outer limits and, together, rise and fall by eps.

    With x = u[k] - c a class rises by e^x - p >= p (x - ln p), a tangent, and falls by p - e^x, which between the
    limits is above its chord. One extra number a class is at least its rise, one its fall; each kind sums to eps.
    """
    limits = outer_limits(row)
    plain, below = within_limits(row.logits, limits), limits.low.isfinite()
    steep = (2 * row.eps / (limits.high - limits.low))[below]
    slopes = torch.cat([row.p, -steep])
    right = torch.cat([torch.xlogy(row.p, row.p), -row.eps - steep * limits.low[below]])
    rising, moving = row.p.numel(), slopes.numel()
    items = torch.cat([row.logits, row.logits[:, below]], 1).T * slopes.unsqueeze(-1)
    sums = torch.stack([torch.arange(moving) < rising, torch.arange(moving) >= rising]).to(slopes)
    return Polytope(
        torch.cat([plain.items, items, items.new_zeros(2, items.shape[1])]),
        torch.cat(
            [
                torch.cat([plain.more, slopes.new_zeros(plain.more.shape[0], moving)], 1),
                torch.cat([-slopes.unsqueeze(-1), -torch.eye(moving).to(slopes)], 1),
                torch.cat([slopes.new_zeros(2, 1), sums], 1),
            ]
        ),
        torch.cat([plain.right, right, slopes.new_full((2,), row.eps)]),
    )


def maximise(slopes: Float[Tensor, " item"], polytope: Polytope) -> Solution:
    """The attention in the polytope with the largest sum of attention x slopes, and a bound on that sum for all.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 2.0]])  # u[0] = u[1]: as much to one side as to the other
    >>> level = Limits(torch.zeros(2), torch.zeros(2))
    >>> maximise(torch.tensor([1.0, 0.0, 3.0]), within_limits(logits, level))
    Solution(attention=tensor([0.6667, 0.0000, 0.3333]), bound=1.666...)
    """
    cost = torch.cat([-slopes, slopes.new_zeros(polytope.more.shape[1])])
    found = _solve(cost, polytope)
    if found is None:
        return Solution(torch.nn.functional.one_hot(slopes.argmax(), slopes.numel()).to(slopes), float(slopes.max()))
    attention, multipliers = found[0], _sound(found[1], polytope.more)
    return Solution(attention, float((slopes - multipliers @ polytope.items).max() + multipliers @ polytope.right))


def least_violation(polytope: Polytope) -> Solution:
    """The attention that breaks its limits least, and how much any breaks them at least: above 0 if none is inside.

    >>> logits = torch.tensor([[2.0, 0.0], [4.0, 0.0]])  # u[0] - u[1] is at least 2, and should be 0
    >>> least_violation(within_limits(logits, Limits(torch.zeros(2), torch.zeros(2))))
    Solution(attention=tensor([1., 0.]), bound=1.0)
    """
    items, more, right = polytope
    cost = torch.cat([right.new_zeros(items.shape[1] + more.shape[1]), right.new_ones(1)])
    found = _solve(cost, Polytope(items, torch.column_stack([more, -torch.ones_like(right)]), right))
    if found is None:
        return Solution(torch.full_like(items[0], 1 / items.shape[1]), -inf)
    attention, multipliers = found[0], _sound(found[1], more)
    least = (multipliers @ items).min() - multipliers @ right
    return Solution(attention, float(least / multipliers.sum().clamp_min(1.0)))


def nearest_found(row: Row, start: Float[Tensor, " item"]) -> Float[Tensor, " item"]:
    """An attention whose prediction is as near the base's as linear programs, each about the last's answer, get it."""
    attention = start
    for _ in range(ROUNDS):
        p = (attention @ row.logits).softmax(-1)
        slope = p * (row.logits - (row.logits @ p).unsqueeze(-1))
        away = p - attention @ slope - row.p
        # Each extra number but the first is at least how far one class is off, in a straight line from here.
        size = torch.cat([p.new_zeros(p.numel(), 1), -torch.eye(p.numel()).to(p)], 1)
        nearby = Polytope(torch.cat([slope.T, -slope.T]), torch.cat([size, size]), torch.cat([-away, away]))
        found = _solve(torch.cat([p.new_zeros(slope.shape[0] + 1), p.new_ones(p.numel())]), nearby)
        if found is None or is_within(row, attention):
            break
        attention = _improved(row, attention, found[0])
    return attention


def _improved(row: Row, start: Float[Tensor, " item"], end: Float[Tensor, " item"]) -> Float[Tensor, " item"]:
    """The best of the points halfway, a quarter of the way ... from start to end, or either."""
    shares = torch.cat([start.new_zeros(1), 0.5 ** torch.arange(8).to(start)]).unsqueeze(-1)
    points = start + shares * (end - start)
    p = (points @ row.logits).softmax(-1)
    return points[total_variation(p, row.p.expand_as(p)).argmin()]


def _solve(
    cost: Float[Tensor, " column"], polytope: Polytope
) -> tuple[Float[Tensor, " item"], Float[Tensor, " limit"]] | None:
    """Attention and multipliers at the least cost of attention and extra numbers; None if the solver gave up."""
    # Here and not above: it is slow to import, and no question about two classes needs it.
    from scipy.optimize import linprog

    count, extra = polytope.items.shape[1], polytope.more.shape[1]
    bounds = [(0, None)] * count + [(None, None)] + [(0, None)] * (extra - 1)
    weights = torch.cat([cost.new_ones(count), cost.new_zeros(extra)]).unsqueeze(0).numpy()
    matrix = torch.column_stack([polytope.items, polytope.more]).numpy()
    found = linprog(cost.numpy(), matrix, polytope.right.numpy(), weights, [1.0], bounds, method="highs")
    if not found.success:
        return None
    attention = torch.from_numpy(found.x[:count]).clamp_min(0).to(cost)
    multipliers = -torch.from_numpy(found.ineqlin.marginals).clamp_max(0).to(cost)
    return attention / attention.sum(), multipliers


def _sound(multipliers: Float[Tensor, " limit"], more: Float[Tensor, "limit extra"]) -> Float[Tensor, " limit"]:
    """Multipliers made smaller where they must be for a bound: the sum over limits must not fall in an extra number.

    For those that are 0 or more it may rise, for the free one it must not; a bound that leans on either is none.
    """
    for column in more.T.flip(0):
        rise, fall = multipliers @ column.clamp_min(0), multipliers @ (-column).clamp_min(0)
        multipliers = torch.where(column < 0, multipliers * (rise / fall).nan_to_num(1.0).clamp_max(1), multipliers)
    free = more[:, 0]
    rise, fall = multipliers @ free.clamp_min(0), multipliers @ (-free).clamp_min(0)
    return torch.where(free > 0, multipliers * (fall / rise).nan_to_num(1.0).clamp_max(1), multipliers)
