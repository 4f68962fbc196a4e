"""The bracket of the most different attention as one would first write it: text by text, a linear program a bound.

What `benchmarks/classes.py` measures us against. From above: each item's part of the divergence is at most its chord,
and the classes' logits keep limits that every prediction within eps keeps; the rises of all classes sum to at most eps,
and so do the falls. From below: successive linear programs, each around the attention reached so far.
"""

from math import log

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from heedful.exact import Bracket
from heedful.measures import js_divergence

ROUNDS, STARTS, TANGENT_AT, HALVINGS = 9, 6, (0.3, 0.03, 0.003), 40


def reference_bracket(attention: Tensor, item_logits: Tensor, items: Tensor, eps: float) -> Bracket:
    """As `eps_max_js_bracket`."""
    furthest, upper = torch.zeros_like(attention).double(), torch.zeros(len(items)).double()
    for text, real in enumerate(items):
        weight = attention[text, real].double()
        weight, logits = (weight / weight.sum()).numpy(), item_logits[text, real].double().numpy()
        best, upper[text] = searched(weight, logits, eps), bound(weight, logits, eps)
        furthest[text, real] = torch.from_numpy(best)
    base = attention.double().where(items, 0.0)
    lower = js_divergence(base / base.sum(-1, keepdim=True), furthest)
    upper = torch.maximum(upper, lower)
    return Bracket(lower, upper, upper - lower, furthest)


def predicted(u: np.ndarray) -> np.ndarray:
    raised = np.exp(u - u.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def loss(weight: np.ndarray, share: np.ndarray) -> np.ndarray:
    def times_log(x: np.ndarray) -> np.ndarray:
        return x * np.log(np.where(x > 0, x, 1.0))

    return (times_log(weight) + times_log(share) - times_log(weight + share)) / 2


def largest_weights(logits: np.ndarray, p: np.ndarray, eps: float) -> np.ndarray:
    """By two classes at a time: weight x margin + the rest x the least margin is at most what eps allows."""
    largest = np.ones(len(logits))
    for k in range(len(p)):
        for other in range(len(p)):
            if other == k or p[other] <= eps:
                continue
            margin, limit = logits[:, k] - logits[:, other], np.log(p[k] + eps) - np.log(p[other] - eps)
            least, above = min(margin.min(), limit), margin > limit
            largest[above] = np.minimum(largest[above], (limit - least) / (margin[above] - least))
    return np.maximum(largest, 1e-12)


def bound(weight: np.ndarray, logits: np.ndarray, eps: float) -> float:
    """The value of the linear program: attention, a free constant c, and a rise and a fall of every class."""
    logits = logits - logits.mean(1, keepdims=True)
    p, (count, classes) = predicted(weight @ logits), logits.shape
    largest = largest_weights(logits, p, eps)
    slopes = log(2) + loss(weight, largest) / largest
    high, low, falls = np.log(p + eps), np.log(np.maximum(p - eps, 1e-300)), p > eps
    one, none, unit = np.ones((classes, 1)), np.zeros((classes, classes)), np.eye(classes)
    steep = (2 * eps / (high - low))[:, None]
    rows = [
        (np.hstack([logits.T, -one, none, none]), high),
        (np.hstack([-logits.T, one, none, none])[falls], -low[falls]),
        (np.hstack([p[:, None] * logits.T, -p[:, None], -unit, none]), p * np.log(p)),
        (np.hstack([-steep * logits.T, steep, none, -unit])[falls], (-eps - steep[:, 0] * low)[falls]),
        (np.hstack([np.zeros(count + 1), np.ones(classes), np.zeros(classes)])[None], np.array([eps])),
        (np.hstack([np.zeros(count + 1), np.zeros(classes), np.ones(classes)])[None], np.array([eps])),
    ]
    matrix, right = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    cost = np.concatenate([-slopes, np.zeros(1 + 2 * classes)])
    weights = np.concatenate([np.ones(count), np.zeros(1 + 2 * classes)])[None]
    bounds = [(0, None)] * count + [(None, None)] + [(0, None)] * 2 * classes
    result = linprog(cost, matrix, right, weights, [1.0], bounds)
    return -result.fun if result.success else float(slopes.max())


def within(weight: np.ndarray, end: np.ndarray, logits: np.ndarray, eps: float) -> np.ndarray:
    """From the base towards an attention, as far as eps allows."""

    def is_within(share: float) -> bool:
        moved = predicted((weight + share * (end - weight)) @ logits) - predicted(weight @ logits)
        return np.abs(moved).sum() / 2 <= eps * (1 - 1e-9)

    if is_within(1.0):
        return end
    inside, outside = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_within(middle) else (inside, middle)
    return weight + inside * (end - weight)


def program(objective: np.ndarray, around: np.ndarray, p: np.ndarray, logits: np.ndarray, eps: float) -> np.ndarray:
    """The attention with the largest objective, were predictions linear with the slopes at an attention."""
    here, (count, classes) = predicted(around @ logits), logits.shape
    slope = here * (logits - (logits @ here)[:, None])
    matrix = np.block([[slope.T, -np.eye(classes)], [np.zeros(count), np.ones(classes)]])
    right = np.append(p - here + around @ slope, eps)
    weights = np.append(np.ones(count), np.zeros(classes))[None]
    result = linprog(np.append(-objective, np.zeros(classes)), matrix, right, weights, [1.0])
    if not result.success:
        return around
    found = result.x[:count].clip(0)
    return found / found.sum()


def searched(weight: np.ndarray, logits: np.ndarray, eps: float) -> np.ndarray:
    """The most different attention that successive linear programs reach: from the base, and towards light items."""
    p, best = predicted(weight @ logits), weight
    alone = log(2) + loss(weight, np.ones_like(weight))
    for item in [None, *weight.argsort()[:STARTS]]:
        emphasis = 3.0 * np.eye(len(weight))[item] if item is not None else 0.0
        now = within(weight, program(alone + emphasis, weight, p, logits, eps), logits, eps)
        for turn in range(ROUNDS):
            held = now.clip(TANGENT_AT[turn % len(TANGENT_AT)])
            end = program(np.log(2 * held / (weight + held)) / 2, now, p, logits, eps)
            tried = within(weight, end, logits, eps)
            now = tried if loss(weight, tried).sum() > loss(weight, now).sum() else now
        best = now if loss(weight, now).sum() > loss(weight, best).sum() else best
    return best
