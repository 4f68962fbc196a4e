"""The most different attention with the same answer, for three classes or more: between two bounds.

Listing corners is not enough, since the predictions within eps are not a convex set of logits. But their convex hull
has a closed form (see near_predictions.py), and over it branch and bound limits the divergence from above. Any
attention that decodes to within eps bounds it from below: the lightest item that does so alone, or what a search
reaches (see corner_search.py). All texts of a batch are solved together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, nan
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import without_top
from heedful.exact.corner_search import changes, improved, most_different
from heedful.exact.hull_programs import (
    SAFETY,
    Basis,
    Gains,
    NearPredictions,
    Programs,
    attention_of,
    convex_part,
    divergence,
    first_basis,
    first_largest,
    largest_margins,
    maximise,
    moved,
    overlap_loss,
    programs_of,
    proven_bound,
)
from heedful.exact.linear_form import checked_item_logits, decode, normalised_attention
from heedful.measures import js_divergence, total_variation_distance

# Pairs of items whose prediction stays within eps, for any number of classes: a search for the most different pair.
#
# Along a pair the divergence is convex in the share, so the best share is at an end of an interval that is within
# eps. The limits of the margins are linear in the share and enclose the interval; inside them evenly spaced shares
# are tried, and the ends are then located by bisection. So every pair returned is within eps, but a better pair may
# be missed.

# Only pairs of the lightest items, which are the most different; of these the most promising of each text.
LIGHTEST, PROMISING = 64, 96
SHARES, HALVINGS = 17, 24
LEAST_GAIN, PAIR_ROUNDING = 1e-9, 1e-9


class Pairs(NamedTuple):
    """Pairs of items: their texts, changes of logits and base weights, and the shares of the first that are allowed."""

    text: Int[np.ndarray, " n"]
    items: Int[np.ndarray, "n 2"]
    near: NearPredictions
    change: Float[np.ndarray, "n 2 classes"]
    weight: Float[np.ndarray, "n 2"]
    least: Float[np.ndarray, " n"]
    most: Float[np.ndarray, " n"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "Pairs":
        """Some of the pairs."""
        numbers = (
            part.take(rows, 0) for part in (self.text, self.items, self.change, self.weight, self.least, self.most)
        )
        text, items, change, weight, least, most = numbers
        return Pairs(text, items, self.near.take(rows), change, weight, least, most)

    def is_within(self, share: Float[np.ndarray, "step n"]) -> Bool[np.ndarray, "step n"]:
        """Whether the prediction at a share is within eps."""
        change = self.change[:, 1] + share[..., None] * (self.change[:, 0] - self.change[:, 1])
        distance = moved(self.near, change.swapaxes(0, 1)).T
        return distance <= self.near.eps * (1 - 2 * SAFETY)

    def js(self, share: Float[np.ndarray, "*step n"]) -> Float[np.ndarray, "*step n"]:
        """The divergence at a share."""
        return _js(self.weight[:, 0], self.weight[:, 1], share)


def best_pair(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    largest: Float[np.ndarray, "n item"],
    known: Float[np.ndarray, "n item"],
) -> Float[np.ndarray, "n item"]:
    """The most different pair of items within eps, of those tried; what is known, where none is more different.

    Args:
        largest: weights that no attention within eps exceeds.
    """
    value = divergence(weight, known)
    light = np.where(programs.usable, weight, np.inf).argsort(1, kind="stable")[:, :LIGHTEST]
    text, items, least, most = _promising(programs, weight, *_candidates(programs, light, largest), value)
    change = np.zeros((len(text), 2, programs.columns.shape[2] - 1))
    change[..., :-1] = programs.columns[text[:, None], items, :-2]
    pairs = Pairs(text, items, programs.near.take(text), change, weight[text[:, None], items], least, most)
    pairs, share = _ends(pairs, value)
    js = pairs.js(share)
    best, result = np.lexsort((np.arange(len(js)), -js, pairs.text)), known.copy()
    best = best[np.unique(pairs.text[best], return_index=True)[1]]
    best = best[js[best] > value[pairs.text[best]] + LEAST_GAIN]
    result[pairs.text[best]] = 0
    result[pairs.text[best][:, None], pairs.items[best]] = np.stack([share[best], 1 - share[best]], 1)
    return result


def _js(
    first: Float[np.ndarray, "*#n"], second: Float[np.ndarray, "*#n"], share: Float[np.ndarray, "*#n"]
) -> Float[np.ndarray, "*#n"]:
    return log(2) + overlap_loss(first, share) + overlap_loss(second, 1 - share)


def _candidates(
    programs: Programs, light: Int[np.ndarray, "n some"], largest: Float[np.ndarray, "n item"]
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m 2"]]:
    """Text and items of the pairs of light items that may have all the weight between them."""
    first, second = np.triu_indices(light.shape[1], 1)
    most = np.take_along_axis(np.where(programs.usable, largest, -np.inf), light, 1)
    text, number = (most.take(first, 1) + most.take(second, 1) >= 1 - PAIR_ROUNDING).nonzero()
    return text, np.stack([light[text, first[number]], light[text, second[number]]], 1)


def _promising(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    text: Int[np.ndarray, " m"],
    items: Int[np.ndarray, "m 2"],
    value: Float[np.ndarray, " n"],
) -> tuple[Int[np.ndarray, " k"], Int[np.ndarray, "k 2"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Text, items, least and largest share of the pairs that may be more different than `value` within the limits."""
    least, most = _shares_within(programs, text, items)
    own = (least <= most).nonzero()[0]
    bound = _bound(weight[text[own][:, None], items[own]], least[own], most[own])
    alive = bound > value[text[own]] + LEAST_GAIN
    own, bound = own[alive], bound[alive]
    own = own[np.lexsort((-bound, text[own]))]
    ahead = np.arange(len(own)) - np.searchsorted(text[own], text[own])
    own = own[ahead < PROMISING]
    return text[own], items[own], least[own], most[own]


def _bound(
    weight: Float[np.ndarray, "m 2"], least: Float[np.ndarray, " m"], most: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """The largest divergence of pairs whose first item's share is in a range: it is convex, so at an end."""
    first, second = weight.T
    return np.maximum(_js(first, second, least), _js(first, second, most))


def _shares_within(
    programs: Programs, text: Int[np.ndarray, " m"], items: Int[np.ndarray, "m 2"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The range of the first item's share in which all margins over the last class keep their limits.

    Where there is none, the least is above the largest.
    """
    limits = largest_margins(programs.near)
    least, most = np.zeros(len(text)), np.ones(len(text))
    for k in range(limits.shape[1] - 1):
        margin = programs.columns[..., k]
        first, second = margin[text, items[:, 0]], margin[text, items[:, 1]]
        # Equal margins keep their limits at all shares or at none: the quotients are infinite.
        slope = first - second
        to_high, to_low = ((end[text] - second) / slope for end in (limits[:, k, -1], -limits[:, -1, k]))
        most = np.fmin(most, np.maximum(to_high, to_low))
        least = np.fmax(least, np.minimum(to_high, to_low))
    return least, most


def _ends(pairs: Pairs, value: Float[np.ndarray, " text"]) -> tuple[Pairs, Float[np.ndarray, " n"]]:
    """The ends of the intervals within eps, of the pairs whose ends may be more different than `value`."""
    shares = pairs.least + np.linspace(0, 1, SHARES)[:, None] * (pairs.most - pairs.least)
    within = pairs.is_within(shares)
    places = np.stack([within.argmax(0), SHARES - 1 - within[::-1].argmax(0)])
    inside = np.take_along_axis(shares, places, 0)
    outside = np.take_along_axis(shares, (places + [[-1], [1]]).clip(0, SHARES - 1), 0)
    may = within.any(0) & (np.maximum(pairs.js(inside), pairs.js(outside)) > value[pairs.text] + LEAST_GAIN)
    end, number = may.nonzero()
    pairs, inside, outside = pairs.take(number), inside[end, number], outside[end, number]
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        is_within = pairs.is_within(middle[None])[0]
        inside, outside = np.where(is_within, middle, inside), np.where(is_within, outside, middle)
    return pairs, inside


# An upper bound on the divergence of all attentions whose logits lie in a convex set, by branch and bound, in
# batches.
#
# The divergence is a sum over the items of a convex function of their weights. Where a weight is between two numbers,
# the function is at most its chord there, so the divergence is at most a sum that is linear in attention, and a
# linear program bounds it (see hull_programs.py). Of the programs of a text that with the largest bound is split: the
# range of the item whose chord is furthest above the function is cut in two, where the program's solution has it.
# Outside its range a chord is below the function, so that the attentions allowed may stay what they are: only the
# gains change.

# A gap that is narrow enough.
PRECISE = 2e-5
# Programs split at once, those with the largest bounds.
AT_ONCE = 8
# Narrower ranges are not split, and cuts keep so far, of the range, from its ends.
NARROW, FROM_END = 1e-9, 0.1
LEAST = 1e-12
# A bound need not be that of the very solution of its linear program.
NO_GAIN, STEPS = 1e-5, 25


class Text(NamedTuple):
    """Base weights, and the divergence of an attention that is known."""

    weight: Float[np.ndarray, "n item"]
    lower: Float[np.ndarray, " n"]


class Nodes(NamedTuple):
    """Programs of texts: the ranges of the items' weights, a solution, and the bound."""

    low: Float[np.ndarray, "n item"]
    high: Float[np.ndarray, "n item"]
    basis: Basis
    bound: Float[np.ndarray, " n"]

    def take(self, rows: Int[np.ndarray, " m"]) -> "Nodes":
        """Those of some texts."""
        return Nodes(self.low[rows], self.high[rows], self.basis.take(rows), self.bound[rows])


def largest_weights(programs: Programs) -> Float[np.ndarray, "n item"]:
    """For each item, a weight that no attention within eps exceeds.

    From each pair of classes alone: weight x margin + (1 - weight) x the least margin of any item <= the pair's limit.
    """
    n, count = programs.usable.shape
    logits = np.concatenate([programs.columns[..., :-2], np.zeros((n, count, 1))], 2)
    limits, largest = largest_margins(programs.near), np.ones((n, count))
    # Class by class: all pairs at once would be a cube of hundreds of classes twice.
    for leading in range(logits.shape[2]):
        margin, limit = logits[..., leading, None] - logits, limits[:, None, leading]
        least = np.where(programs.usable[..., None], margin, np.inf).min(1, keepdims=True)
        least = np.minimum(least, limit)
        beyond = margin > limit
        share = np.where(beyond, limit - least, 1.0) / np.where(beyond, margin - least, 1.0)
        largest = np.minimum(largest, share.min(2))
    return np.maximum(largest, LEAST)


def chords(
    weight: Float[np.ndarray, "n item"], low: Float[np.ndarray, "n item"], high: Float[np.ndarray, "n item"]
) -> tuple[Float[np.ndarray, "n item"], Float[np.ndarray, "n item"]]:
    """Of each item's part of the divergence between two weights: the slope of the chord, and its height at 0."""
    at_low, width = overlap_loss(weight, low), high - low
    slope = (overlap_loss(weight, high) - at_low) / width
    return log(2) + slope, at_low - slope * low


def branched(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    largest: Float[np.ndarray, "n item"],
    lower: Float[np.ndarray, " n"],
    start: Basis,
    *,
    rounds: int,
) -> Nodes:
    """Programs whose largest bound, or else `lower`, is a bound on the divergence; those of a text on the second axis.

    Args:
        largest: weights that no attention exceeds.
        lower: the divergence of an attention that is known.
        start: a corner of each program.
    """
    root = _solved(programs, Text(weight, lower), np.zeros_like(largest), largest, start)
    nodes = _stored(root, 1 + AT_ONCE * rounds)
    for turn in range(rounds):
        order = (-nodes.bound).argsort(1, kind="stable")[:, :AT_ONCE]
        text, which = (_of(nodes.bound, order) > lower[:, None] + PRECISE).nonzero()
        if not len(text):
            break
        place = order[text, which]
        own = Text(weight[text], lower[text])
        below, above = _split(programs.take(text), own, _at(nodes, text, place))
        _store(nodes, text, place, below)
        _store(nodes, text, 1 + AT_ONCE * turn + which, above)
    return nodes


def furthest_corners(
    nodes: Nodes, weight: Float[np.ndarray, "n item"], count: int
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, "m item"], Basis]:
    """Of the programs' solutions the furthest from the base, so many of each text: text, gains of items, corner."""
    n, most = nodes.bound.shape
    every = attention_of(Basis(*(part.reshape(-1, *part.shape[2:]) for part in nodes.basis)), weight.shape[1])
    value = np.where(np.isfinite(nodes.bound), divergence(weight[:, None], every.reshape(n, most, -1)), -np.inf)
    place = (-value.round(9)).argsort(1, kind="stable")[:, :count].reshape(-1)
    text = np.repeat(np.arange(n), count)
    node = _at(nodes, text, place)
    return text, chords(weight[text], node.low, node.high)[0], node.basis


def _of(values: np.ndarray, places: Int[np.ndarray, "n some"]) -> np.ndarray:
    return np.take_along_axis(values, places, 1)


def _stored(root: Nodes, most: int) -> Nodes:
    """Room for as many nodes of each text, the first of which is the root."""

    def room(part: np.ndarray) -> np.ndarray:
        return np.repeat(part[:, None], most, 1)

    nodes = Nodes(room(root.low), room(root.high), Basis(*map(room, root.basis)), room(root.bound))
    nodes.bound[:, 1:] = -np.inf
    return nodes


def _at(nodes: Nodes, text: Int[np.ndarray, " m"], place: Int[np.ndarray, " m"]) -> Nodes:
    basis = Basis(*(part[text, place] for part in nodes.basis))
    return Nodes(nodes.low[text, place], nodes.high[text, place], basis, nodes.bound[text, place])


def _store(nodes: Nodes, text: Int[np.ndarray, " m"], place: Int[np.ndarray, " m"], new: Nodes) -> None:
    """Write nodes to their places, in the room that `branched` made for itself."""
    rooms, values = ((*every.basis, every.low, every.high, every.bound) for every in (nodes, new))
    for room, value in zip(rooms, values, strict=True):
        room[text, place] = value


def _split(programs: Programs, text: Text, node: Nodes) -> tuple[Nodes, Nodes]:
    """The two halves of each node."""
    rows, (low, high) = np.arange(len(node.bound)), node[:2]
    held = attention_of(node.basis, low.shape[1])
    slope, height = chords(text.weight, low, high)
    above = (slope - log(2)) * held + height - overlap_loss(text.weight, held)
    item = np.where((held > low + NARROW) & (held < high - NARROW), above, -np.inf).argmax(1)
    edge = FROM_END * (high - low)[rows, item]
    cut = np.clip(held[rows, item], low[rows, item] + edge, high[rows, item] - edge)
    low, high = np.concatenate([low, low]), np.concatenate([high, high])
    high[rows, item] = low[rows + len(rows), item] = cut
    both = np.concatenate([rows, rows])
    halves = _solved(programs.take(both), Text(*(part[both] for part in text)), low, high, node.basis.take(both))
    halves = halves._replace(bound=np.minimum(halves.bound, node.bound[both]))
    return halves.take(rows), halves.take(rows + len(rows))


def _solved(
    programs: Programs, text: Text, low: Float[np.ndarray, "n item"], high: Float[np.ndarray, "n item"], start: Basis
) -> Nodes:
    """Nodes with these ranges, made narrower: what is further than `lower` has no more of an item than that allows."""
    slope, height = chords(text.weight, low, high)
    gains = Gains(slope)
    basis = maximise(programs, gains, start, no_gain=NO_GAIN, steps=STEPS)
    bound, below = proven_bound(programs, gains, basis)
    bound = bound + height.sum(1)
    room = np.maximum(bound - text.lower, 0)[:, None] + NARROW
    most = room / np.maximum(below, room)
    bound = np.where((most < low).any(1), -np.inf, bound)
    return Nodes(low, np.maximum(np.minimum(high, most), low + LEAST), basis, bound)


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

    NaN where neither is known, as in `prediction_survives_on_items`. Ties and texts of m items or fewer as in
    `prediction_survives_without_top`.

    >>> logits = torch.tensor([[[0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]])
    >>> three = torch.ones(1, 3, dtype=torch.bool)
    >>> answer_stands_without_top_bracket(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, m=1, eps=0.01)
    tensor([1.], dtype=torch.float64)
    >>> answer_stands_without_top_bracket(torch.tensor([[0.5, 0.5, 0.0]]), logits, three, m=2, eps=0.01)
    tensor([0.], dtype=torch.float64)
    """
    rest = without_top(normalised_attention(attention, items), items, m)
    return prediction_survives_on_items(attention, item_logits, items, rest, eps)


def prediction_survives_on_items(
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
    >>> prediction_survives_on_items(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, last, eps=0.01)
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
        apart = total_variation_distance(decode(other, logits).softmax(-1), decode(base, logits).softmax(-1))
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
