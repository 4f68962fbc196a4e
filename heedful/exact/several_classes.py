"""Adversarial attention for three classes or more: a search, and what it reaches.

Listing corners is not enough, since the predictions within eps are not a convex set of logits. But they have convex
parts (see hull_programs.py), and over a convex part the divergence, which is convex, is largest at a corner. From a
corner of a part all neighbors are tried and the most different is gone to, until none is more different. Then the part
is exchanged for the part around that corner. In the end the near predictions of the corner are moved away from the
base's, until the prediction is at eps, with the same items. What is reached is a witness: the largest divergence is at
least its own. That no attention keeps the prediction is said only with a proof. All texts of a batch are solved
together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, nan

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.hull_programs import (
    EQUAL,
    NEAR,
    NO_PIVOT,
    SAFETY,
    TINY,
    Basis,
    Gains,
    Programs,
    attention_of,
    convex_part,
    direction_of,
    divergence,
    first_basis,
    first_largest,
    furthest_change,
    largest_margins,
    maximise,
    moved,
    near_column,
    overlap_loss,
    pivoted,
    programs_of,
    proven_bound,
    times_log,
)
from heedful.exact.linear_form import checked_item_logits, decode, normalised_attention
from heedful.measures import js_divergence, total_variation_distance

# A class whose logit is always this far below another's has a probability that float64 rounds away.
UNREACHABLE = 50.0
# Items x classes of the texts that are solved together: a hundred megabytes or so.
NUMBERS_AT_ONCE = 2**18
# Rounding in a bound's own sums is near 1e-15; the margin keeps a tie from being called impossible.
ROUNDING = 1e-9
# No item's weight is limited to less.
LEAST = 1e-12
# Items that may gain weight, for each class and at most: those with the least to lose by the linear program.
CANDIDATES_OF_CLASS, CANDIDATES = 4, 32
# Searches also start where one of the LIGHT lightest items gains more, or one of OWN of the corner's own items less.
LIGHT, OWN, EMPHASIS = 2, 2, 3.0
# The KEPT best corners of a text go on to parts around them, PARTS times.
KEPT, PARTS = 3, 4
# Corners on the way; most searches end after a few.
CORNERS, LEAST_GAIN = 30, 1e-5
# The first search only chooses among its starts: with few corners and steps for each class, and the best go on.
FIRST_CORNERS, FIRST_STEPS = 2, 2
# Starts do not have to solve a linear program exactly.
NO_GAIN = 1e-3
# The slope of the divergence at weight 0 is infinite: it is taken no nearer.
LEAST_WEIGHT = 1e-6
# Near predictions are moved several times; each time what is missing to eps falls to a tenth or less.
ADJUSTMENTS, MOST_ADJUSTED = 4, 2.0
# A fall beyond eps is shortened by this number of halvings.
HALVINGS = 10


@dataclass(frozen=True)
class Witness:
    """Attention that keeps the prediction and attends elsewhere.

    Args:
        js: its divergence from the base attention; the largest is at least this. NaN for a single item.
        attention: the farthest attention that the search reached; within eps when decoded.
    """

    js: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch item"]


def eps_max_js_bound(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    eps: float,
) -> Witness:
    """A lower bound on the largest divergence from `attention` of any attention that keeps the prediction within eps.

    max over q of JSD(attention, q), subject to TVD(softmax(q), softmax(attention)) <= eps.

    For two classes `eps_max_js` gives it exactly and faster. Jain and Wallace (2019, arXiv:1902.10186, section 4.2.2)
    search for it by gradient; for question answering they take eps = 0.05. `benchmarks/classes.py` prints milliseconds
    per text.

    >>> agreeing = torch.tensor([[[0.0, 2.0, 1.0], [0.0, 2.0, 1.0]]])  # all weight may move to the lighter item
    >>> witness = eps_max_js_bound(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]]), eps=0.01)
    >>> witness.js, witness.attention
    (tensor([0.3804], dtype=torch.float64), tensor([[0., 1.]], dtype=torch.float64))
    """
    base, logits = normalised_attention(attention, items), checked_item_logits(item_logits, items)
    _check(eps)
    js, furthest = torch.full_like(base[:, 0], nan), base.clone()
    for texts, classes in _alike(logits, items, items.sum(-1) > 1):
        programs = _programs(base[texts], logits[texts][..., classes], items[texts], eps)
        furthest[texts] = torch.from_numpy(_furthest(programs, base[texts].detach().numpy()))
        js[texts] = js_divergence(base[texts], furthest[texts])
    return Witness(js, furthest)


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
    within eps is out of reach; NaN if neither is known, which is rare.

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
        programs = _programs(base[texts], logits[texts][..., classes], usable[texts], eps)
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


def _programs(
    base: Float[Tensor, "some item"],
    logits: Float[Tensor, "some item classes"],
    usable: Bool[Tensor, "some item"],
    eps: float,
) -> Programs:
    return programs_of(base.detach().numpy(), logits.detach().numpy(), usable.numpy(), eps)


def _within(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Bool[np.ndarray, " n"]:
    """Whether weights are an attention that is within eps."""
    within = moved(programs.near, changes(programs, attention)) <= programs.near.eps * (1 - SAFETY)
    return within & (np.abs(attention.sum(1) - 1) < ROUNDING)


def _alone(programs: Programs) -> Bool[np.ndarray, "n item"]:
    """Whether each item is within eps alone."""
    change = np.concatenate([programs.columns[..., :-2], np.zeros((*programs.usable.shape, 1))], 2)
    return (moved(programs.near, change) <= programs.near.eps * (1 - SAFETY)) & programs.usable


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def _furthest(programs: Programs, weight: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n item"]:
    """The adversarial attention within eps: the lightest item that is so alone, or what the search reaches."""
    alone = np.where(_alone(programs), weight, np.inf)
    lightest = np.where(programs.usable, weight, np.inf).min(1)
    is_alone = np.isfinite(alone.min(1))
    best = np.where(is_alone[:, None], np.eye(weight.shape[1])[alone.argmin(1)], weight)
    # The lightest item alone is as far as any attention is.
    rest = (alone.min(1) > lightest).nonzero()[0]
    if len(rest):
        some, own, known = programs.take(rest), weight[rest], best[rest]
        reached = most_different(some, own)
        better = _within(some, reached) & (divergence(own, reached) > divergence(own, known))
        best[rest] = np.where(better[:, None], reached, known)
    return best


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def _stands(programs: Programs) -> Float[np.ndarray, " n"]:
    """1 where some attention on usable items is within eps, 0 where none is, NaN if neither is known."""
    stands = np.where(_alone(programs).any(1), 1.0, nan)
    convex = convex_part(programs.near, np.zeros_like(programs.near.p))
    for near, no_gain in ((programs.near, 1e-2), (programs.near, 1e-6), (convex, 1e-6)):
        unknown = np.isnan(stands).nonzero()[0]
        if not len(unknown):
            break
        some = programs._replace(near=near).take(unknown)
        # As near to the base prediction as possible; with the base attention only if nothing else works.
        gains = Gains(np.zeros(some.usable.shape), base=-10.0, centre=1.0)
        basis = maximise(some, gains, first_basis(some), no_gain=no_gain)
        stands[unknown] = np.where(_within(some, attention_of(basis, some.usable.shape[1])), 1.0, nan)
        if near is programs.near:
            impossible = proven_bound(some, gains, basis).bound < -ROUNDING
            stands[unknown[impossible]] = 0
    return stands


# The search, from corner to corner.


def most_different(programs: Programs, weight: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n item"]:
    """The adversarial attention within eps that the search reaches."""
    convex = programs._replace(near=convex_part(programs.near, np.zeros_like(programs.near.p)))
    gains = slopes_of(programs, weight)
    first = maximise(convex, Gains(gains), first_basis(convex), no_gain=NO_GAIN)
    some, basis, chosen = _reduced(convex, gains, first)
    own = _of(weight, chosen)
    text, basis = _started(some, own, _of(gains, chosen), basis)
    basis = ascended(some.take(text), own[text], basis, corners=FIRST_CORNERS * programs.near.p.shape[1])
    value = divergence(own[text], attention_of(basis, own.shape[1]))
    kept = _best_of(value, text, KEPT)
    text, basis = text[kept], basis.take(kept)
    reached = _widened(some.take(text), own[text], basis)
    best = _best_of(divergence(own[text], reached), text, 1)
    result = np.zeros_like(weight)
    np.put_along_axis(result, chosen, reached[best], 1)
    return result


def slopes_of(programs: Programs, weight: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n item"]:
    """What an item's weight adds to the divergence, about: the slope of the chord from 0 to the most it may have."""
    largest = largest_weights(programs)
    return log(2) + overlap_loss(weight, largest) / largest


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


def _reduced(
    programs: Programs, gains: Float[np.ndarray, "n item"], basis: Basis
) -> tuple[Programs, Basis, Int[np.ndarray, "n some"]]:
    """Programs and corners of the items of the corner and those that come next by the linear program, and which."""
    below = proven_bound(programs, Gains(gains), basis).below
    rows, item = (basis.kind >= 0).nonzero()
    below[rows, basis.kind[rows, item]] = -1
    count = min(CANDIDATES, CANDIDATES_OF_CLASS * programs.near.p.shape[1])
    chosen = np.sort(below.argsort(1, kind="stable")[:, :count], 1)
    kind = np.where(basis.kind >= 0, (basis.kind[..., None] == chosen[:, None]).argmax(-1), basis.kind)
    columns = np.take_along_axis(programs.columns, chosen[..., None], 1)
    some = programs._replace(columns=columns, usable=_of(programs.usable, chosen))
    return some, basis._replace(kind=kind), chosen


def _of(values: np.ndarray, places: Int[np.ndarray, "n some"]) -> np.ndarray:
    return np.take_along_axis(values, places, 1)


def _started(
    programs: Programs, weight: Float[np.ndarray, "n item"], slopes: Float[np.ndarray, "n item"], basis: Basis
) -> tuple[Int[np.ndarray, " m"], Basis]:
    """The text of each start, and its corner: that given, and those where an item gains more, or less."""
    n, count = weight.shape
    held = attention_of(basis, count)
    light = np.where((held > EQUAL) | ~programs.usable, np.inf, weight).argsort(1, kind="stable")[:, :LIGHT]
    heavy = (-held).argsort(1, kind="stable")[:, :OWN]
    changed = np.concatenate([light, heavy], 1)
    emphasis = np.where(np.arange(changed.shape[1]) < light.shape[1], EMPHASIS, -EMPHASIS)
    text = np.repeat(np.arange(n), changed.shape[1])
    gains = slopes[text]
    gains[np.arange(len(text)), changed.reshape(-1)] += np.tile(emphasis, n)
    others = maximise(
        programs.take(text),
        Gains(gains),
        basis.take(text),
        no_gain=NO_GAIN,
        steps=FIRST_STEPS * programs.near.p.shape[1],
    )
    text = np.concatenate([np.arange(n), text])
    return text, Basis(*(np.concatenate(both) for both in zip(basis, others, strict=True)))


def _best_of(values: Float[np.ndarray, " m"], text: Int[np.ndarray, " m"], count: int) -> Int[np.ndarray, " k"]:
    """The places of the `count` largest values of each text, text by text; each text has as many values."""
    order = np.lexsort((np.arange(len(values)), -values.round(12), text)).reshape(text.max() + 1, -1)
    return order[:, :count].reshape(-1)


def ascended(
    programs: Programs, weight: Float[np.ndarray, "n item"], start: Basis, *, corners: int | None = None
) -> Basis:
    """The corners reached from corners by going to the most different neighbour, as long as that gains."""
    basis = Basis(*(part.copy() for part in start))
    live, some, own, now = np.arange(len(basis.kind)), programs, weight, start
    for _ in range(corners or CORNERS):
        column, kind, gain = _best_neighbor(some, own, now)
        moves = (gain > LEAST_GAIN).nonzero()[0]
        if not len(moves):
            break
        if len(moves) < len(live):
            live, some, own, now = live[moves], some.take(moves), own.take(moves, 0), now.take(moves)
            column, kind = column.take(moves, 0), kind.take(moves)
        now, _ = pivoted(now, column, kind)
        for part, new in zip(basis, now, strict=True):
            part[live] = new
    return basis


def _best_neighbor(
    programs: Programs, weight: Float[np.ndarray, "n item"], basis: Basis
) -> tuple[Float[np.ndarray, "n row"], Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The column whose entry gains most divergence, what it is, and what it gains."""
    rows, count, is_item = np.arange(len(weight))[:, None], weight.shape[1], basis.kind >= 0
    own = weight[rows, np.maximum(basis.kind, 0)] * is_item
    share = np.maximum(basis.weight, LEAST_WEIGHT)
    worth = ((np.log(2 * share / (own + share)) * is_item)[:, None] @ basis.inverse)[:, 0]
    near = near_column(furthest_change(programs.near, direction_of(worth)))
    columns = np.concatenate([programs.columns, near[:, None]], 1)
    steps = basis.inverse @ columns.transpose(0, 2, 1)
    length = _lengths(basis, steps)
    length[:, :count] *= programs.usable
    after = np.maximum(basis.weight[..., None] - length[:, None] * steps, 0.0) * is_item[..., None]
    gain = _lost(after, own[..., None]).sum(1) - _lost(basis.weight * is_item, own).sum(1, keepdims=True)
    gain[:, :count] += times_log(weight) + _lost(length[:, :count], weight)
    rows, place = rows[:, 0], first_largest(np.where(length > EQUAL, gain, -np.inf))
    return columns[rows, place], np.where(place == count, NEAR, place), gain[rows, place] / 2


def _lengths(basis: Basis, steps: Float[np.ndarray, "n row column"]) -> Float[np.ndarray, "n column"]:
    """How far each column may enter; 0 where it may without end."""
    nearness = (np.where(steps > NO_PIVOT, steps, 0.0) / np.maximum(basis.weight, TINY)[..., None]).max(1)
    return np.where(nearness > 0, 1.0, 0.0) / np.where(nearness > 0, nearness, 1.0)


def _lost(share: Float[np.ndarray, "*n"], weight: Float[np.ndarray, "*#n"]) -> Float[np.ndarray, "*n"]:
    """Twice the loss of overlap, except for the part that is the same for all shares."""
    return times_log(share) - times_log(weight + share)


def _widened(programs: Programs, weight: Float[np.ndarray, "n item"], basis: Basis) -> Float[np.ndarray, "n item"]:
    """The adversarial attention reached from corners by way of the convex parts around them."""
    best, live, near = attention_of(basis, weight.shape[1]), np.arange(len(weight)), programs.near
    for _ in range(PARTS):
        programs = programs._replace(
            near=convex_part(near, _fall_towards(programs, attention_of(basis, weight.shape[1])))
        )
        basis = ascended(programs, weight, basis)
        before = best[live]
        best[live] = _brought_to_eps(programs, weight, basis, before)
        moves = (divergence(weight, best[live]) > divergence(weight, before) + LEAST_GAIN).nonzero()[0]
        if not len(moves):
            break
        live, programs, weight, basis = live[moves], programs.take(moves), weight[moves], basis.take(moves)
        near = near.take(moves)
    return best


def _fall_towards(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n classes"]:
    """The fall of ln p that attention causes, or as much of it as is within eps."""
    p, log_p, eps = programs.near.p, programs.near.log_p, programs.near.eps
    logits = log_p + changes(programs, attention)
    top = logits.max(1, keepdims=True)
    fall = -np.minimum(logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True)) - log_p, 0)
    beyond = np.flatnonzero(-(p * np.expm1(-fall)).sum(1) > eps)
    inside, outside = np.zeros((len(beyond), 1)), np.ones((len(beyond), 1))
    for _ in range(HALVINGS if len(beyond) else 0):
        middle = (inside + outside) / 2
        within = -(p[beyond] * np.expm1(-middle * fall[beyond])).sum(1, keepdims=True) <= eps
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    fall[beyond] *= inside
    return fall


def _brought_to_eps(
    programs: Programs, weight: Float[np.ndarray, "n item"], basis: Basis, best: Float[np.ndarray, "n item"]
) -> Float[np.ndarray, "n item"]:
    """`best`, or where it is more different the corner's attention, its near predictions moved until it is at eps."""
    eps, count = programs.near.eps, weight.shape[1]
    best, value, scale = best.copy(), divergence(weight, best), np.ones(len(weight))
    for turn in range(ADJUSTMENTS):
        attention = attention_of(_scaled(basis, scale), count)
        real = (attention.min(1) >= 0) & (np.abs(attention.sum(1) - 1) < 1e-9)
        distance = moved(programs.near, changes(programs, attention))
        js = divergence(weight, np.maximum(attention, 0))
        better = real & (distance <= eps * (1 - 2 * SAFETY)) & (js > value)
        best[better], value[better] = attention[better], js[better]
        aim = eps * (1 - (1e-8 if turn else 1e-3))
        scale = np.where(real, scale * aim / np.maximum(distance, eps / MOST_ADJUSTED), (1 + scale) / 2)
    return best


def _scaled(basis: Basis, scale: Float[np.ndarray, " n"]) -> Basis:
    """The corners with their near predictions `scale` times as far from the base's; the inverse is not renewed."""
    columns = basis.columns.copy()
    columns[..., :-2] *= np.where(basis.kind == NEAR, scale[:, None], 1.0)[..., None]
    right = np.zeros((len(scale), columns.shape[1], 1))
    right[:, -2:] = 1
    weight = np.linalg.solve(columns.transpose(0, 2, 1), right)[..., 0]
    return basis._replace(weight=np.where(np.abs(weight) < EQUAL, 0.0, weight))


def changes(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n classes"]:
    """How attention changes the logits, up to a constant."""
    change = (attention[:, None] @ programs.columns)[:, 0, :-1]
    change[:, -1] = 0
    return change
