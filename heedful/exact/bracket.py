"""The most different attention with the same answer, for three classes or more: between two bounds.

Listing corners is not enough, since the predictions within eps are not a convex set of logits; but they lie between
two polytopes (see polytope.py). Over the outer polytope the divergence is bounded from above: for three classes and a
short text by listing the corners, else by a linear program. Any attention that decodes to within eps bounds it from
below: single items, pairs and corners, improved by a local search (see local_search.py).
"""

from dataclasses import dataclass
from math import log, nan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.exact.adversary import js_of_single, loss_of_overlap, without_top
from heedful.exact.corners import most_different_corner
from heedful.exact.edges import best_edge
from heedful.exact.linear_form import checked_item_logits, normalised_attention
from heedful.exact.local_search import most_different_nearby
from heedful.exact.polytope import (
    Limits,
    Polytope,
    Solution,
    TextProblem,
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
from heedful.measures import js_divergence

# Up to this many items the corners for three classes are listed: about 250,000, in hundredths of a second.
LISTED = 64


@dataclass(frozen=True)
class Bracket:
    """The largest divergence lies between `lower` and `upper`; all three numbers are NaN where there is a single item.

    Args:
        lower: the divergence of `attention`, which is within eps when decoded.
        upper: no attention within eps is further from the base.
        gap: upper - lower.
        attention: the most different attention that the search reached.
    """

    lower: Float[Tensor, " batch"]
    upper: Float[Tensor, " batch"]
    gap: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch item"]


def eps_max_js_bracket(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    eps: float,
) -> Bracket:
    """Bounds on the largest divergence from `attention` of any attention that keeps the prediction within eps.

    max over q of JSD(attention, q), subject to TVD(softmax(q), softmax(attention)) <= eps.

    For two classes `eps_max_js` gives it exactly and faster. Jain and Wallace (2019, arXiv:1902.10186, section 4.2.2)
    search for it by gradient; for question answering they take eps = 0.05. Texts are solved in turn, in hundredths of
    a second each. For three classes the gap is small; for five and a text of ten items it is a fifth of the value.

    >>> agreeing = torch.tensor([[[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]]])  # all weight may move to the lighter item
    >>> bracket = eps_max_js_bracket(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]]), eps=0.01)
    >>> bracket.lower, bracket.attention
    (tensor([0.3804], dtype=torch.float64), tensor([[0., 1.]], dtype=torch.float64))
    """
    base, logits = normalised_attention(attention, items), checked_item_logits(item_logits, items)
    _check(eps)
    lower, upper, furthest = torch.full_like(base[:, 0], nan), torch.full_like(base[:, 0], nan), base.clone()
    for text in (items.sum(-1) > 1).nonzero().flatten().tolist():
        real = items[text]
        problem = text_problem(base[text, real], logits[text, real], eps)
        furthest[text, real], upper[text] = _bracketed(problem)
        lower[text] = js_divergence(base[text], furthest[text])
    # The two are computed differently; where they meet, rounding must not swap them.
    upper = torch.maximum(upper, lower)
    return Bracket(lower, upper, upper - lower, furthest)


def answer_stands_without_top_bracket(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    m: int,
    eps: float,
) -> Float[Tensor, " batch"]:
    """1 where some attention with no weight on the m most attended items keeps the prediction within eps, 0 where none.

    1 where the search reaches an attention that decodes to within eps; 0 where even the outer polytope is out of reach;
    NaN where neither is known, which is rare. Ties and texts of m items or fewer as in `answer_stands_without_top`.

    >>> logits = torch.tensor([[[0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]])
    >>> three = torch.ones(1, 3, dtype=torch.bool)
    >>> answer_stands_without_top_bracket(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, m=1, eps=0.01)
    tensor([1.], dtype=torch.float64)
    >>> answer_stands_without_top_bracket(torch.tensor([[0.5, 0.5, 0.0]]), logits, three, m=2, eps=0.01)
    tensor([0.], dtype=torch.float64)
    """
    base, logits = normalised_attention(attention, items), checked_item_logits(item_logits, items)
    _check(eps)
    rest = without_top(base, items, m)
    stands = torch.zeros_like(base[:, 0])
    for text in rest.any(-1).nonzero().flatten().tolist():
        real = items[text]
        stands[text] = _stands(text_problem(base[text, real], logits[text, real], eps), rest[text, real])
    return stands


def _check(eps: float) -> None:
    if not 0 < eps < 1:
        raise ValueError(
            f"eps must be above 0 and below 1; it was {eps}. It bounds how far the prediction may move, say 0.01."
        )


def _bracketed(problem: TextProblem) -> tuple[Float[Tensor, " item"], float]:
    """The most different attention known within eps, and the upper bound."""
    outer, inner = outer_limits(problem), inner_limits(problem)
    furthest, upper = _most_different(problem, outer, outer_polytope(problem))
    nearer, _ = _most_different(problem, inner, within_limits(problem.logits, inner))
    starts = torch.stack([problem.weight, nearer, *_singles(problem)])
    best = _best_within(problem, starts)
    edge = best_edge(problem, outer, float(js_divergence(problem.weight, best)))
    starts = starts if edge is None else torch.cat([edge.unsqueeze(0), starts])
    reached = most_different_nearby(problem, starts[is_within(problem, starts)], furthest.unsqueeze(0))
    return _best_within(problem, torch.cat([starts, reached.unsqueeze(0)])), upper


def _most_different(problem: TextProblem, limits: Limits, polytope: Polytope) -> Solution:
    """An attention within the limits far from the base, and a bound on how far any in the polytope is."""
    if problem.p.numel() == 3 and problem.weight.numel() <= LISTED:
        corner = most_different_corner(problem.weight, problem.logits, limits)
        if corner is not None:
            return corner
    # By convexity, an item's loss of overlap up to its largest weight is at most the chord to the loss there.
    largest = largest_weights(problem.logits, limits).clamp_min(1e-12)
    slopes = log(2) + loss_of_overlap(problem.weight, largest) / largest
    return maximise(slopes, polytope)


def _singles(problem: TextProblem) -> list[Float[Tensor, " item"]]:
    """The lightest item that is within eps alone, if any is."""
    alone = torch.eye(problem.weight.numel(), dtype=problem.weight.dtype)
    js = js_of_single(problem.weight).where(is_within(problem, alone), -torch.inf)
    return [alone[js.argmax()]] if js.max() > -torch.inf else []


def _best_within(problem: TextProblem, candidates: Float[Tensor, "n item"]) -> Float[Tensor, " item"]:
    """The candidate furthest from the base among those that decode to within eps; at least one candidate must."""
    js = js_divergence(problem.weight.expand_as(candidates), candidates)
    return candidates[js.where(is_within(problem, candidates), -torch.inf).argmax()]


def _stands(problem: TextProblem, rest: Bool[Tensor, " item"]) -> float:
    """1 where some attention on `rest` alone is within eps, 0 where none is, NaN where neither is known."""
    problem = problem._replace(weight=problem.weight[rest], logits=problem.logits[rest])
    if is_within(problem, torch.eye(problem.weight.numel(), dtype=problem.weight.dtype)).any():
        return 1.0
    # Rounding in the bound's own sums is near 1e-15; the margin keeps a tie from being called impossible.
    if least_violation(outer_polytope(problem)).bound > 1e-12:
        return 0.0
    central = least_violation(within_limits(problem.logits, inner_limits(problem))).attention
    return 1.0 if is_within(problem, nearest_attention(problem, central)) else nan
