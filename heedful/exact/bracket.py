"""The most different attention with the same answer, for three classes or more: between two bounds.

No list of corners is enough, since the predictions within eps are not a convex set of logits; but they lie between
two polytopes (see polytope.py). Over the outer one the divergence is bounded from above: for three classes and a
short text by listing the corners, else by a linear program. Whatever decodes to within eps bounds it from below.
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
from heedful.exact.polytope import (
    Limits,
    Polytope,
    Row,
    Solution,
    inner_limits,
    is_within,
    largest_weights,
    least_violation,
    maximise,
    nearest_found,
    outer_limits,
    outer_polytope,
    row_of,
    within_limits,
)
from heedful.measures import js_divergence

# Up to so many items the corners for three classes are listed: some 250,000, in hundredths of a second.
LISTED = 64


@dataclass(frozen=True)
class Bracket:
    """The largest divergence lies between `lower` and `upper`; all three numbers are NaN where there is one item.

    Args:
        lower: the divergence of `attention`, which is within eps when decoded.
        upper: no attention within eps is further from the base.
        gap: upper - lower.
        attention: the most different that was found.
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
    search for it by gradient; for question answering they take eps = 0.05. Texts are taken one by one, in hundredths
    of a second each. For three classes the gap is small; for five and a text of ten items it is a third of the value.

    >>> agreeing = torch.tensor([[[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]]])  # all weight may move to the lighter item
    >>> found = eps_max_js_bracket(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]]), eps=0.01)
    >>> found.lower, found.attention
    (tensor([0.3804], dtype=torch.float64), tensor([[0., 1.]], dtype=torch.float64))
    """
    base, logits = normalised_attention(attention, items), checked_item_logits(item_logits, items)
    _check(eps)
    lower, upper, found = torch.full_like(base[:, 0], nan), torch.full_like(base[:, 0], nan), base.clone()
    for text in (items.sum(-1) > 1).nonzero().flatten().tolist():
        real = items[text]
        row = row_of(base[text, real], logits[text, real], eps)
        found[text, real], upper[text] = _bracketed(row)
        lower[text] = js_divergence(base[text], found[text])
    # The two are computed in two ways; where they meet, rounding must not turn them round.
    upper = torch.maximum(upper, lower)
    return Bracket(lower, upper, upper - lower, found)


def answer_stands_without_top_bracket(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    m: int,
    eps: float,
) -> Float[Tensor, " batch"]:
    """1 where some attention with no weight on the m most attended items keeps the prediction within eps, 0 where none.

    1 where an attention was found that decodes to within eps; 0 where not even the outer polytope can be reached; NaN
    where neither is known, which is seldom. Ties and texts of m items or fewer as in `answer_stands_without_top`.

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
        stands[text] = _stands(row_of(base[text, real], logits[text, real], eps), rest[text, real])
    return stands


def _check(eps: float) -> None:
    if not 0 < eps < 1:
        raise ValueError(
            f"eps must be above 0 and below 1; it was {eps}. It bounds how far the prediction may move, say 0.01."
        )


def _bracketed(row: Row) -> tuple[Float[Tensor, " item"], float]:
    """The most different attention found within eps, and the upper bound."""
    outer, inner = outer_limits(row), inner_limits(row)
    furthest, upper = _most_different(row, outer, outer_polytope(row))
    nearer, _ = _most_different(row, inner, within_limits(row.logits, inner))
    candidates = [row.weight, nearer, *_singles(row)]
    best = _best_within(row, torch.stack(candidates))
    # From the best so far towards the corner of the outer polytope, as far as eps allows.
    best = _best_within(row, torch.stack([best, _last_within(row, best, furthest)]))
    edge = best_edge(row, outer, float(js_divergence(row.weight, best)))
    return (best if edge is None else _best_within(row, torch.stack([best, edge]))), upper


def _most_different(row: Row, limits: Limits, polytope: Polytope) -> Solution:
    """An attention within the limits far from the base, and a bound on how far any in the polytope is."""
    if row.p.numel() == 3 and row.weight.numel() <= LISTED:
        corner = most_different_corner(row.weight, row.logits, limits)
        if corner is not None:
            return corner
    # Up to its largest weight an item takes from ln 2 at least in proportion to what it takes there, by convexity.
    largest = largest_weights(row.logits, limits).clamp_min(1e-12)
    slopes = log(2) + loss_of_overlap(row.weight, largest) / largest
    return maximise(slopes, polytope)


def _singles(row: Row) -> list[Float[Tensor, " item"]]:
    """The lightest item that is within eps alone, if any is."""
    alone = torch.eye(row.weight.numel(), dtype=row.weight.dtype)
    js = js_of_single(row.weight).where(is_within(row, alone), -torch.inf)
    return [alone[js.argmax()]] if js.max() > -torch.inf else []


def _best_within(row: Row, candidates: Float[Tensor, "n item"]) -> Float[Tensor, " item"]:
    """The candidate furthest from the base among those that decode to within eps, of which the base is one or was."""
    js = js_divergence(row.weight.expand_as(candidates), candidates)
    return candidates[js.where(is_within(row, candidates), -torch.inf).argmax()]


def _last_within(row: Row, start: Float[Tensor, " item"], end: Float[Tensor, " item"]) -> Float[Tensor, " item"]:
    """A point on the way from `start`, which is within eps, to `end`, beyond which it is left."""
    if is_within(row, end):
        return end
    inside, outside = 0.0, 1.0
    for _ in range(50):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_within(row, start + middle * (end - start)) else (inside, middle)
    return start + inside * (end - start)


def _stands(row: Row, rest: Bool[Tensor, " item"]) -> float:
    """1 where attention on `rest` alone was found within eps, 0 where there is none, else NaN."""
    row = row._replace(weight=row.weight[rest], logits=row.logits[rest])
    if is_within(row, torch.eye(row.weight.numel(), dtype=row.weight.dtype)).any():
        return 1.0
    # Rounding in the bound's own sums is near 1e-15; the margin keeps a tie from being called impossible.
    if least_violation(outer_polytope(row)).bound > 1e-12:
        return 0.0
    central = least_violation(within_limits(row.logits, inner_limits(row))).attention
    return 1.0 if is_within(row, nearest_found(row, central)) else nan
