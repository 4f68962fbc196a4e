"""A local search for the most different attention within eps, for any number of classes: from many starts at once.

The divergence is convex, so an attention is improved by maximising its tangent; and for a small eps predictions are
nearly linear in attention. So each round solves a linear program around each attention and another around its
solution, goes there, all the way or in part, and returns until the prediction is within eps again. An attention moves
only where that gains divergence. In numpy, as the simplex method is.
"""

from math import log
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.polytope import SAFETY, TextProblem
from heedful.exact.simplex_method import Programs, solve, table_size

# Items that may gain weight: the lightest, which are the most different, and those that a start weighs.
CANDIDATES = 48
# Starts emphasise one of so many of the lightest items, or weigh one of as many of the heaviest as little as they can.
EXTREMES, EMPHASIS = 8, 3.0
# After so many rounds only so many of the best go on; after so many in all, the best go on from their neighbours.
TRIAL_ROUNDS, KEPT = 1, 10
FIRST_ROUNDS, NEIGHBOURED = 2, 2
# Numbers in the tables of the simplex method; texts of more than a hundred classes get fewer starts, or no search.
NUMBERS = 2**15
ROUNDS, LEAST_GAIN = 3, 1e-6
# The tangent at weight 0 is infinitely steep and would never let an item in: it is taken at these weights in turn.
TANGENT_AT = (0.3, 0.03, 0.003)
# A start that has gained nothing for so many rounds is done.
PATIENCE = 2
# How far to go towards the solution of the first program, and of the second.
FIRST_STEPS, SECOND_STEPS = (1.0, 0.3, 0.05), (1.0, 0.2)
# The second program has a little less than eps, so that most of its solutions need not be pulled in.
SPARED = 1e-3
HALVINGS = 16
# A weight that counts as none.
TRIFLE = 1e-9

Points = Float[np.ndarray, "n item"]
Values = Float[np.ndarray, " n"]


class Text(NamedTuple):
    """A text problem as arrays, and the items that may gain weight."""

    weight: Float[np.ndarray, " item"]
    logits: Float[np.ndarray, "item classes"]
    p: Float[np.ndarray, " classes"]
    eps: float
    candidates: Int[np.ndarray, " candidate"]


def most_different_nearby(
    problem: TextProblem, starts: Float[Tensor, "n item"], goals: Float[Tensor, "m item"]
) -> Float[Tensor, " item"]:
    """The most different attention within eps that the search reaches.

    Args:
        starts: attentions within eps.
        goals: attentions that need not be: from the base towards them is a start too.

    >>> weight, logits = torch.tensor([0.75, 0.25]), torch.tensor([[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]])
    >>> problem = TextProblem(weight, logits, logits[0].softmax(-1), 0.01)
    >>> most_different_nearby(problem, weight.unsqueeze(0), weight.unsqueeze(0))  # both items give the same answer
    tensor([0., 1.])
    """
    points, ends = starts.double().numpy(), goals.double().numpy()
    candidates = _candidates(problem, np.concatenate([points, ends]))
    weight, logits, p = (part.double().numpy() for part in problem[:3])
    text = Text(weight, logits, p, problem.eps, candidates)
    at_once = NUMBERS // table_size(len(text.candidates), len(text.p))
    points = np.concatenate([points, _last_within(text, np.broadcast_to(text.weight, ends.shape), ends)])
    if at_once:
        points = _searched(text, np.concatenate([points, _extremes(text)])[:at_once], FIRST_ROUNDS)
        best = points[_js(text, points).argsort()[-NEIGHBOURED:]]
        points = _searched(
            text, np.concatenate([best, *(_neighbours(text, point) for point in best)])[:at_once], ROUNDS
        )
    return torch.from_numpy(points[_js(text, points).argmax()]).to(problem.weight)


def _candidates(problem: TextProblem, points: Points) -> Int[np.ndarray, " candidate"]:
    lightest = problem.weight.argsort(stable=True)[:CANDIDATES].numpy()
    sparse = points[(points > 0).sum(1) <= CANDIDATES]
    return np.union1d(lightest, np.nonzero(sparse.max(0, initial=0.0))[0])


def _searched(text: Text, points: Points, rounds: int) -> Points:
    """Each point after as many rounds, or after those it took until it gained nothing any more."""
    points, js = points.copy(), _js(text, points)
    idle = np.zeros(len(points), dtype=int)
    for turn in range(rounds):
        if turn == TRIAL_ROUNDS:
            idle[js.argsort()[:-KEPT]] = PATIENCE
        moving = (idle < PATIENCE).nonzero()[0]
        if not len(moving):
            break
        ends = _ends(text, points[moving], TANGENT_AT[turn % len(TANGENT_AT)])
        values = _js(text, ends)
        best = values.argmax(0)
        each = np.arange(len(moving))
        better = values[best, each] > js[moving] + LEAST_GAIN
        gaining = moving[better]
        points[gaining], js[gaining] = ends[best, each][better], values[best, each][better]
        idle[moving] = np.where(better, 0, idle[moving] + 1)
    return points


def _ends(text: Text, points: Points, tangent_at: float) -> Float[np.ndarray, "step n item"]:
    """Where each point may go: some steps towards the solutions of two programs, pulled in until within eps."""
    tangent = _tangent(text, points, tangent_at)
    first = _solved(text, points, tangent)
    second = _solved(text, first, tangent, SPARED)
    towards = [points + step * (first - points) for step in FIRST_STEPS]
    towards += [points + step * (second - points) for step in SECOND_STEPS]
    # Pulled in towards the base; and, which keeps items without weight as they are, towards the point itself.
    base = np.broadcast_to(text.weight, points.shape)
    starts, goals = np.concatenate([base] * len(towards) + [points]), np.concatenate([*towards, second])
    return _last_within(text, starts, goals).reshape(-1, *points.shape)


def _extremes(text: Text) -> Points:
    """Attentions that weigh one of the lightest items most, or one of the heaviest least."""
    order = text.weight[text.candidates].argsort(kind="stable")
    unit = np.eye(len(text.weight))[text.candidates]
    emphasis = EMPHASIS * np.concatenate([unit[order[:EXTREMES]], -unit[order[::-1][:EXTREMES]]])
    alone = log(2) + _loss(text.weight, np.ones_like(text.weight))
    base = np.broadcast_to(text.weight, emphasis.shape)
    return _last_within(text, base, _solved(text, base, alone + emphasis))


def _neighbours(text: Text, point: Float[np.ndarray, " item"]) -> Points:
    """Attentions near the point, but with one of its items weighed least, or one of the others weighed most."""
    light = text.candidates[text.weight[text.candidates].argsort(kind="stable")]
    others = light[point[light] < TRIFLE][:EXTREMES]
    own = [item for item in point.argsort(kind="stable") if point[item] >= TRIFLE][:EXTREMES]
    unit = np.eye(len(point))
    emphasis = EMPHASIS * np.concatenate([unit[others], -unit[own]])
    points = np.broadcast_to(point, emphasis.shape)
    ends = _solved(text, points, _tangent(text, points, TANGENT_AT[1]) + emphasis)
    return _last_within(text, np.broadcast_to(text.weight, ends.shape), ends)


def _tangent(text: Text, points: Points, tangent_at: float) -> Points:
    """The slopes of the divergence at the points, or where their weights are too small at `tangent_at`."""
    weight = points.clip(tangent_at)
    return np.log(2 * weight / (text.weight + weight)) / 2


def _solved(text: Text, points: Points, objective: Points, spared: float = 0.0) -> Points:
    """The attentions with the largest objective, were predictions linear in attention with the slopes at the points."""
    p = _predicted(points @ text.logits)
    slope = p[:, None] * (text.logits - (p @ text.logits.T)[..., None])
    room = text.p - p + (points[:, None] @ slope)[:, 0]
    some = text.candidates
    programs = Programs(objective[:, some], slope[:, some], room, text.eps * (1 - spared))
    result = np.zeros(points.shape)
    result[:, some] = solve(programs, points[:, some].argmax(1))
    return result


def _last_within(text: Text, start: Points, end: Points) -> Points:
    """The last point known to be within eps on the way from each start, which is within eps, to its end."""
    u, change = start @ text.logits, (end - start) @ text.logits

    def within(share: Values) -> Bool[np.ndarray, " n"]:
        moved = np.abs(_predicted(u + share[:, None] * change) - text.p).sum(-1) / 2
        return moved <= text.eps * (1 - 2 * SAFETY)

    outside = np.ones(len(start))
    inside = np.where(within(outside), 1.0, 0.0)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_inside = within(middle)
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    return start + inside[:, None] * (end - start)


def _predicted(u: Float[np.ndarray, "n classes"]) -> Float[np.ndarray, "n classes"]:
    raised = np.exp(u - u.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def _js(text: Text, points: Float[np.ndarray, "*n item"]) -> Float[np.ndarray, "*n"]:
    return log(2) + _loss(text.weight, points).sum(-1)


def _loss(weight: Float[np.ndarray, " item"], share: Float[np.ndarray, "*n item"]) -> Float[np.ndarray, "*n item"]:
    """As `loss_of_overlap`."""
    return (_times_log(weight) + _times_log(share) - _times_log(weight + share)) / 2


def _times_log(x: Float[np.ndarray, "*n item"]) -> Float[np.ndarray, "*n item"]:
    return x * np.log(np.where(x > 0, x, 1.0))
