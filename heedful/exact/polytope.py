"""Linear programs over the attentions whose prediction is near the base's: bounds on a linear function, feasibility.

The predictions within eps of the base's in total variation are not a convex set of logits. But with c a free number
the set lies between two polytopes, both of the form low[k] <= u[k] - c <= high[k]:

    outer   high = ln(p + eps), low = ln(p - eps), none where p <= eps    (no class moves by more than TVD)
    inner   high, low = ln(p) +- 2 artanh(eps)                            (TVD <= tanh(range of the shift / 4))

The outer polytope is cut further: the rises of all classes sum to at most eps, and so do the falls.

A solver meets its constraints to 1e-7 or so. So no bound here is taken from its optimum: any multipliers of the
constraints prove a bound, and the bound is computed from the solver's.
"""

from math import atanh, inf
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.measures import total_variation

# Within eps means below eps x (1 - SAFETY), so that another order of summation agrees.
SAFETY = 1e-9
# A class whose logit is always this far below another's has a probability that float64 rounds away.
UNREACHABLE = 50.0
# Linear programs solved in search of the nearest prediction; more of them change little.
ROUNDS = 5


class TextProblem(NamedTuple):
    """A single text's weights, logits, prediction p and eps, without padding and without unreachable classes."""

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
    """An attention and a proven bound on the objective of a linear program."""

    attention: Float[Tensor, " item"]
    bound: float


def text_problem(weight: Float[Tensor, " item"], logits: Float[Tensor, "item classes"], eps: float) -> TextProblem:
    """The problem of a text; logits are centred on each item's mean, which changes no prediction.

    >>> problem = text_problem(torch.tensor([0.5, 0.5]), torch.tensor([[1.0, 3.0, -1e9], [2.0, 2.0, -1e9]]), 0.01)
    >>> problem.logits
    tensor([[-1.,  1.],
            [ 0.,  0.]])
    """
    in_play = logits.amax(0) > logits.amin(0).max() - UNREACHABLE
    logits = logits[:, in_play]
    logits = logits - logits.mean(-1, keepdim=True)
    return TextProblem(weight, logits, (weight @ logits).softmax(-1), eps)


def is_within(problem: TextProblem, attention: Float[Tensor, "*n item"]) -> Bool[Tensor, "*n"]:
    """Whether attention decodes to a prediction within eps of the base's."""
    p = (attention @ problem.logits).softmax(-1)
    return total_variation(p, problem.p.expand_as(p)) <= problem.eps * (1 - SAFETY)


def outer_limits(problem: TextProblem) -> Limits:
    """Limits that every prediction within eps keeps."""
    low = (problem.p - problem.eps).clamp_min(0).log()
    return Limits(low, (problem.p + problem.eps).log())


def inner_limits(problem: TextProblem) -> Limits:
    """Limits that only predictions within eps keep."""
    half = 2 * atanh(problem.eps)
    return Limits(problem.p.log() - half, problem.p.log() + half)


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


def outer_polytope(problem: TextProblem) -> Polytope:
    """Attentions among which are all within eps: those that keep the outer limits and, together, rise and fall by eps.

    With x = u[k] - c a class rises by e^x - p >= p (x - ln p), a tangent, and falls by p - e^x, which between the
    limits is above its chord. Each class has an extra number no less than its rise and another no less than its fall;
    each kind sums to eps.
    """
    limits = outer_limits(problem)
    plain, below = within_limits(problem.logits, limits), limits.low.isfinite()
    steep = (2 * problem.eps / (limits.high - limits.low))[below]
    slopes = torch.cat([problem.p, -steep])
    right = torch.cat([torch.xlogy(problem.p, problem.p), -problem.eps - steep * limits.low[below]])
    rising, moving = problem.p.numel(), slopes.numel()
    items = torch.cat([problem.logits, problem.logits[:, below]], 1).T * slopes.unsqueeze(-1)
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
        torch.cat([plain.right, right, slopes.new_full((2,), problem.eps)]),
    )


def maximise(slopes: Float[Tensor, " item"], polytope: Polytope) -> Solution:
    """The attention in the polytope with the largest sum of attention x slopes, and a bound on that sum for all.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0], [-2.0, 2.0]])  # u[0] = u[1]: both sides balance
    >>> level = Limits(torch.zeros(2), torch.zeros(2))
    >>> maximise(torch.tensor([1.0, 0.0, 3.0]), within_limits(logits, level))
    Solution(attention=tensor([0.6667, 0.0000, 0.3333]), bound=1.666...)
    """
    cost = torch.cat([-slopes, slopes.new_zeros(polytope.more.shape[1])])
    optimum = _solve(cost, polytope)
    if optimum is None:
        return Solution(torch.nn.functional.one_hot(slopes.argmax(), slopes.numel()).to(slopes), float(slopes.max()))
    attention, multipliers = optimum[0], _sound(optimum[1], polytope.more)
    return Solution(attention, float((slopes - multipliers @ polytope.items).max() + multipliers @ polytope.right))


def least_violation(polytope: Polytope) -> Solution:
    """The attention that breaks its limits least, and how much any breaks them at least: above 0 if none is inside.

    >>> logits = torch.tensor([[2.0, 0.0], [4.0, 0.0]])  # u[0] - u[1] is at least 2, and should be 0
    >>> least_violation(within_limits(logits, Limits(torch.zeros(2), torch.zeros(2))))
    Solution(attention=tensor([1., 0.]), bound=1.0)
    """
    items, more, right = polytope
    cost = torch.cat([right.new_zeros(items.shape[1] + more.shape[1]), right.new_ones(1)])
    optimum = _solve(cost, Polytope(items, torch.column_stack([more, -torch.ones_like(right)]), right))
    if optimum is None:
        return Solution(torch.full_like(items[0], 1 / items.shape[1]), -inf)
    attention, multipliers = optimum[0], _sound(optimum[1], more)
    least = (multipliers @ items).min() - multipliers @ right
    return Solution(attention, float(least / multipliers.sum().clamp_min(1.0)))


def nearest_attention(problem: TextProblem, start: Float[Tensor, " item"]) -> Float[Tensor, " item"]:
    """An attention whose prediction is near the base's, by successive linear programs (a local search)."""
    attention = start
    for _ in range(ROUNDS):
        p = (attention @ problem.logits).softmax(-1)
        slope = p * (problem.logits - (problem.logits @ p).unsqueeze(-1))
        away = p - attention @ slope - problem.p
        # Each extra number but the first bounds how far a class is off, linearised at the current attention.
        size = torch.cat([p.new_zeros(p.numel(), 1), -torch.eye(p.numel()).to(p)], 1)
        nearby = Polytope(torch.cat([slope.T, -slope.T]), torch.cat([size, size]), torch.cat([-away, away]))
        optimum = _solve(torch.cat([p.new_zeros(slope.shape[0] + 1), p.new_ones(p.numel())]), nearby)
        if optimum is None or is_within(problem, attention):
            break
        attention = _improved(problem, attention, optimum[0])
    return attention


def _improved(
    problem: TextProblem, start: Float[Tensor, " item"], end: Float[Tensor, " item"]
) -> Float[Tensor, " item"]:
    """The best of start, end, and the points halfway, a quarter of the way ... from start to end."""
    shares = torch.cat([start.new_zeros(1), 0.5 ** torch.arange(8).to(start)]).unsqueeze(-1)
    points = start + shares * (end - start)
    p = (points @ problem.logits).softmax(-1)
    return points[total_variation(p, problem.p.expand_as(p)).argmin()]


def _solve(
    cost: Float[Tensor, " column"], polytope: Polytope
) -> tuple[Float[Tensor, " item"], Float[Tensor, " limit"]] | None:
    """Attention and multipliers at the least cost of attention and extra numbers; None if the solver gave up."""
    # Imported here because it is slow to import and two-class problems never need it.
    from scipy.optimize import linprog

    count, extra = polytope.items.shape[1], polytope.more.shape[1]
    bounds = [(0, None)] * count + [(None, None)] + [(0, None)] * (extra - 1)
    weights = torch.cat([cost.new_ones(count), cost.new_zeros(extra)]).unsqueeze(0).numpy()
    matrix = torch.column_stack([polytope.items, polytope.more]).numpy()
    result = linprog(cost.numpy(), matrix, polytope.right.numpy(), weights, [1.0], bounds, method="highs")
    if not result.success:
        return None
    attention = torch.from_numpy(result.x[:count]).clamp_min(0).to(cost)
    multipliers = -torch.from_numpy(result.ineqlin.marginals).clamp_max(0).to(cost)
    return attention / attention.sum(), multipliers


def _sound(multipliers: Float[Tensor, " limit"], more: Float[Tensor, "limit extra"]) -> Float[Tensor, " limit"]:
    """Multipliers scaled down until they prove a bound: the sum over limits must not fall in an extra number.

    It may rise in the extra numbers that are >= 0, but not in the free one.
    """
    for column in more.T.flip(0):
        rise, fall = multipliers @ column.clamp_min(0), multipliers @ (-column).clamp_min(0)
        multipliers = torch.where(column < 0, multipliers * (rise / fall).nan_to_num(1.0).clamp_max(1), multipliers)
    free = more[:, 0]
    rise, fall = multipliers @ free.clamp_min(0), multipliers @ (-free).clamp_min(0)
    return torch.where(free > 0, multipliers * (fall / rise).nan_to_num(1.0).clamp_max(1), multipliers)
