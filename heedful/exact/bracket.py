"""The most different attention with the same answer, for three classes or more: between two bounds.

Listing corners is not enough, since the predictions within eps are not a convex set of logits. But their convex hull
has a closed form (see near_predictions.py), and over it branch and bound limits the divergence from above. Any
attention that decodes to within eps bounds it from below: the lightest item that does so alone, or what a search
reaches (see corner_search.py). All texts of a batch are solved together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import without_top
from heedful.exact.branch_and_bound import branched, chords, furthest_corners, largest_weights
from heedful.exact.corner_search import changes, improved, most_different
from heedful.exact.hull_programs import (
    Gains,
    Programs,
    attention_of,
    first_basis,
    first_largest,
    maximise,
    programs_of,
    proven_bound,
)
from heedful.exact.linear_form import checked_item_logits, decode, normalised_attention
from heedful.exact.near_predictions import SAFETY, convex_part, moved
from heedful.exact.overlap import divergence
from heedful.exact.pair_search import best_pair
from heedful.measures import js_divergence, total_variation

# Rounds of branch and bound: three classes are soon precise, more are not and would take ever longer.
ROUNDS_OF_THREE, ROUNDS = 16, 2
# Where the gap is wider than this, the search goes on from so many of the corners met on the way.
WIDE, CORNERS, SHORT = 1e-3, 3, 8
# A class whose logit is always this far below another's has a probability that float64 rounds away.
UNREACHABLE = 50.0
# Items x classes of the texts that are solved together: a hundred megabytes or so.
NUMBERS_AT_ONCE = 2**18
# Rounding in a bound's own sums is near 1e-15; the margin keeps a tie from being called impossible.
ROUNDING = 1e-9


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
    search for it by gradient; for question answering they take eps = 0.05. For three classes the gap is near 0; with
    more classes and fewer items it grows. `benchmarks/classes.py` prints it, and milliseconds a text.

    >>> agreeing = torch.tensor([[[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]]])  # all weight may move to the lighter item
    >>> bracket = eps_max_js_bracket(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]]), eps=0.01)
    >>> bracket.lower, bracket.attention
    (tensor([0.3804], dtype=torch.float64), tensor([[0., 1.]], dtype=torch.float64))
    """
    base, logits = normalised_attention(attention, items), checked_item_logits(item_logits, items)
    _check(eps)
    lower, upper, furthest = torch.full_like(base[:, 0], nan), torch.full_like(base[:, 0], nan), base.clone()
    for texts, classes in _alike(logits, items, items.sum(-1) > 1):
        best, above = _bracketed(*_problem(base[texts], logits[texts][..., classes], items[texts], eps))
        furthest[texts], upper[texts] = torch.from_numpy(best), torch.from_numpy(above)
        lower[texts] = js_divergence(base[texts], furthest[texts])
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

    NaN where neither is known, as in `answer_stands_on_bracket`. Ties and texts of m items or fewer as in
    `answer_stands_without_top`.

    >>> logits = torch.tensor([[[0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]])
    >>> three = torch.ones(1, 3, dtype=torch.bool)
    >>> answer_stands_without_top_bracket(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, m=1, eps=0.01)
    tensor([1.], dtype=torch.float64)
    >>> answer_stands_without_top_bracket(torch.tensor([[0.5, 0.5, 0.0]]), logits, three, m=2, eps=0.01)
    tensor([0.], dtype=torch.float64)
    """
    rest = without_top(normalised_attention(attention, items), items, m)
    return answer_stands_on_bracket(attention, item_logits, items, rest, eps)


def answer_stands_on_bracket(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    usable: Bool[Tensor, "batch item"],
    eps: float,
    *,
    known: Float[Tensor, "batch item"] | None = None,
) -> Float[Tensor, " batch"]:
    """1 where some attention on the usable items alone keeps the prediction within eps, 0 where none does.

    1 where an attention is known or reached that decodes to within eps; 0 where even the convex hull of all that is
    within eps is out of reach; NaN where neither is known, which is rare.

    Args:
        known: attention of any kind; where it has weight on usable items alone and is within eps, nothing is solved.

    >>> logits = torch.tensor([[[0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]])
    >>> three, last = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[False, False, True]])
    >>> answer_stands_on_bracket(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, last, eps=0.01)
    tensor([0.], dtype=torch.float64)
    """
    base, logits, usable = (
        normalised_attention(attention, items),
        checked_item_logits(item_logits, items),
        usable & items,
    )
    _check(eps)
    stands, unsolved = torch.zeros_like(base[:, 0]), usable.any(-1)
    if known is not None:
        other = normalised_attention(known, items)
        apart = total_variation(decode(other, logits).softmax(-1), decode(base, logits).softmax(-1))
        is_witness = (apart <= eps) & ((other == 0) | usable).all(-1)
        stands, unsolved = is_witness.double(), unsolved & ~is_witness
    for texts, classes in _alike(logits, items, unsolved):
        programs, _ = _problem(base[texts], logits[texts][..., classes], usable[texts], eps)
        stands[texts] = torch.from_numpy(_stands(programs))
    return stands


def _check(eps: float) -> None:
    if not 0 < eps < 1:
        raise ValueError(
            f"eps must be above 0 and below 1; it was {eps}. It bounds how far the prediction may move, say 0.01."
        )


def _alike(
    logits: Float[Tensor, "batch item classes"], items: Bool[Tensor, "batch item"], chosen: Bool[Tensor, " batch"]
) -> Iterator[tuple[Int[Tensor, " some"], Int[Tensor, " reachable"]]]:
    """Texts to be solved together, with the classes that are reachable in all of them."""
    real = items.unsqueeze(-1)
    most, least = logits.where(real, -torch.inf).amax(1), logits.where(real, torch.inf).amin(1)
    reachable = most > least.amax(-1, keepdim=True) - UNREACHABLE
    at_once = max(1, NUMBERS_AT_ONCE // (logits.shape[1] * logits.shape[2]))
    for pattern in reachable[chosen].unique(dim=0):
        for texts in ((reachable == pattern).all(-1) & chosen).nonzero()[:, 0].split(at_once):
            yield texts, pattern.nonzero()[:, 0]


def _problem(
    base: Float[Tensor, "some item"],
    logits: Float[Tensor, "some item classes"],
    usable: Bool[Tensor, "some item"],
    eps: float,
) -> tuple[Programs, Float[np.ndarray, "some item"]]:
    weight = base.detach().numpy()
    return programs_of(weight, logits.detach().numpy(), usable.numpy(), eps), weight


def _within(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Bool[np.ndarray, " n"]:
    """Whether weights are an attention that is within eps."""
    within = moved(programs.near, changes(programs, attention)) <= programs.near.eps * (1 - SAFETY)
    return within & (np.abs(attention.sum(1) - 1) < ROUNDING)


def _alone(programs: Programs) -> Bool[np.ndarray, "n item"]:
    """Whether each item is within eps alone."""
    change = np.concatenate([programs.columns[..., :-2], np.zeros((*programs.usable.shape, 1))], 2)
    return (moved(programs.near, change) <= programs.near.eps * (1 - SAFETY)) & programs.usable


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def _bracketed(
    programs: Programs, weight: Float[np.ndarray, "n item"]
) -> tuple[Float[np.ndarray, "n item"], Float[np.ndarray, " n"]]:
    """The most different attention known within eps, and the upper bound."""
    alone = np.where(_alone(programs), weight, np.inf)
    lightest = np.where(programs.usable, weight, np.inf).min(1)
    single = alone.argmin(1)
    is_alone = np.isfinite(alone.min(1))
    best = np.where(is_alone[:, None], np.eye(weight.shape[1])[single], weight)
    upper = divergence(weight, best)
    # The lightest item alone is as far as any attention is.
    rest = (alone.min(1) > lightest).nonzero()[0]
    if len(rest):
        best[rest], upper[rest] = _searched(programs.take(rest), weight[rest], best[rest])
    return best, upper


def _searched(
    programs: Programs, weight: Float[np.ndarray, "n item"], known: Float[np.ndarray, "n item"]
) -> tuple[Float[np.ndarray, "n item"], Float[np.ndarray, " n"]]:
    largest = largest_weights(programs)
    slopes, _ = chords(weight, np.zeros_like(weight), largest)
    reached, corner = most_different(programs, weight, slopes, first_basis(programs))
    best = best_pair(programs, weight, largest, _better(programs, weight, known, reached))
    rounds = ROUNDS_OF_THREE if programs.near.p.shape[1] <= 3 else ROUNDS
    nodes = branched(programs, weight, largest, divergence(weight, best), corner, rounds=rounds)
    upper = nodes.bound.max(1)
    is_wide, is_short = upper > divergence(weight, best) + WIDE, programs.usable.sum(1) <= SHORT
    for chosen, search in ((is_wide, improved), (is_wide & is_short, most_different)):
        texts = chosen.nonzero()[0]
        if len(texts):
            text, slopes, corners = furthest_corners(nodes.take(texts), weight[texts], CORNERS)
            some, own = programs.take(texts[text]), weight[texts[text]]
            reached = search(some, own, slopes, corners).attention
            value = np.where(_within(some, reached), divergence(own, reached), -np.inf).reshape(-1, CORNERS)
            furthest = CORNERS * np.arange(len(texts)) + first_largest(value)
            best[texts] = _better(programs.take(texts), weight[texts], best[texts], reached[furthest])
    return best, np.maximum(upper, divergence(weight, best))


def _better(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    known: Float[np.ndarray, "n item"],
    reached: Float[np.ndarray, "n item"],
) -> Float[np.ndarray, "n item"]:
    """What was reached where it is within eps and more different than what is known."""
    better = _within(programs, reached) & (divergence(weight, reached) > divergence(weight, known))
    return np.where(better[:, None], reached, known)


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def _stands(programs: Programs) -> Float[np.ndarray, " n"]:
    """1 where some attention on usable items is within eps, 0 where none is, NaN where neither is known."""
    stands = np.where(_alone(programs).any(1), 1.0, nan)
    convex = convex_part(programs.near, np.zeros_like(programs.near.p))
    for near, no_gain in ((programs.near, 1e-2), (programs.near, 1e-6), (convex, 1e-6)):
        unknown = np.isnan(stands).nonzero()[0]
        if not len(unknown):
            break
        some = programs._replace(near=near).take(unknown)
        # As near to the base prediction as may be; with the base attention only where there is no other way.
        gains = Gains(np.zeros(some.usable.shape), base=-10.0, centre=1.0)
        basis = maximise(some, gains, first_basis(some), no_gain=no_gain)
        stands[unknown] = np.where(_within(some, attention_of(basis, some.usable.shape[1])), 1.0, nan)
        if near is programs.near:
            impossible = proven_bound(some, gains, basis).bound < -ROUNDING
            stands[unknown[impossible]] = 0
    return stands
