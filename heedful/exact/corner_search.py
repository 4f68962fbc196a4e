"""A search for the most different attention within eps, for any number of classes: from corner to corner, in batches.

The divergence is convex, so over a convex set it is largest at a corner. The predictions within eps have convex parts
(see near_predictions.py). From a corner of a part all neighbours are tried and the most different is gone to, until
none is more different. Then the part is exchanged for the part around that corner. In the end the near predictions of
the corner are moved away from the base's, until the prediction is at eps, with the same items.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

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
    maximise,
    moved,
    near_column,
    pivoted,
    proven_bound,
    times_log,
)

# Items that may gain weight, for each class and at most: those with the least to lose by the linear program.
CANDIDATES_OF_CLASS, CANDIDATES = 4, 32
# Searches also start where one of so many of the lightest items gains more, or one of the corner's own items less.
LIGHT, OWN, EMPHASIS = 2, 2, 3.0
# So many of the best corners of a text go on to parts around them, so many times.
KEPT, PARTS = 3, 4
# Corners on the way; most searches end after a few.
CORNERS, LEAST_GAIN = 30, 1e-5
# The first search only chooses among its starts: so many corners and steps for each class, and the best go on.
FIRST_CORNERS, FIRST_STEPS = 2, 2
# Starts need not be the very solution of a linear program.
NO_GAIN = 1e-3
# The slope of the divergence at weight 0 is infinite: it is taken no nearer.
LEAST_WEIGHT = 1e-6
# Near predictions are moved so many times; each time what is missing to eps falls to a tenth or less.
ADJUSTMENTS, MOST_ADJUSTED = 4, 2.0
# A fall beyond eps is made shorter by so many halvings.
HALVINGS = 10


class Reached(NamedTuple):
    """The attention reached, all 0 where none is within eps, and the corner that the search began with."""

    attention: Float[np.ndarray, "n item"]
    corner: Basis


def most_different(
    programs: Programs,
    weight: Float[np.ndarray, "n item"],
    gains: Float[np.ndarray, "n item"],
    corner: Basis,
) -> Reached:
    """The most different attention within eps that the search reaches.

    Args:
        gains: what an item's weight adds to the divergence, about.
        corner: the search begins in the convex part around it, or as much of it as is within eps.
    """
    convex = programs._replace(
        near=convex_part(programs.near, _fall_towards(programs, attention_of(corner, weight.shape[1])))
    )
    first = maximise(convex, Gains(gains), first_basis(convex), no_gain=NO_GAIN)
    some, basis, chosen = _reduced(convex, gains, first)
    own = _of(weight, chosen)
    text, basis = _started(some, own, _of(gains, chosen), basis)
    basis = ascended(some.take(text), own[text], basis, corners=FIRST_CORNERS * programs.near.p.shape[1])
    value = divergence(own[text], attention_of(basis, own.shape[1]))
    kept = _best_of(value, text, KEPT)
    text, basis = text[kept], basis.take(kept)
    reached = _widened(some.take(text), own[text], basis, attention_of(basis, own.shape[1]))
    best = _best_of(divergence(own[text], reached), text, 1)
    return Reached(_put(reached[best], chosen, weight), first)


def improved(
    programs: Programs, weight: Float[np.ndarray, "n item"], gains: Float[np.ndarray, "n item"], corner: Basis
) -> Reached:
    """The most different attention within eps reached from corners of the hull, by the convex parts around them.

    All 0 where none is within eps.

    Args:
        gains: what an item's weight adds to the divergence, about.
    """
    some, basis, chosen = _reduced(programs, gains, corner)
    reached = _widened(some, _of(weight, chosen), basis, np.zeros(chosen.shape))
    return Reached(_put(reached, chosen, weight), corner)


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


def _put(
    reached: Float[np.ndarray, "n some"], chosen: Int[np.ndarray, "n some"], weight: Float[np.ndarray, "n item"]
) -> Float[np.ndarray, "n item"]:
    result = np.zeros_like(weight)
    np.put_along_axis(result, chosen, reached, 1)
    return result


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
        column, kind, gain = _best_neighbour(some, own, now)
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


def _best_neighbour(
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
    """Twice the loss of overlap, but for the part that is the same for all shares."""
    return times_log(share) - times_log(weight + share)


def _widened(
    programs: Programs, weight: Float[np.ndarray, "n item"], basis: Basis, known: Float[np.ndarray, "n item"]
) -> Float[np.ndarray, "n item"]:
    """What is known, or what is more different and reached from corners by way of the convex parts around them."""
    best, live, near = known.copy(), np.arange(len(weight)), programs.near
    for _ in range(PARTS):
        programs = programs._replace(
            near=convex_part(near, _fall_towards(programs, attention_of(basis, weight.shape[1])))
        )
        basis = ascended(programs, weight, basis)
        before = best[live]
        best[live] = _brought_to_eps(programs, weight, basis, before)
        moves = (_value(weight, best[live]) > _value(weight, before) + LEAST_GAIN).nonzero()[0]
        if not len(moves):
            break
        live, programs, weight, basis = live[moves], programs.take(moves), weight[moves], basis.take(moves)
        near = near.take(moves)
    return best


def _value(weight: Float[np.ndarray, "n item"], attention: Float[np.ndarray, "n item"]) -> Float[np.ndarray, " n"]:
    """The divergence; minus infinity where there is no attention."""
    return np.where(attention.any(1), divergence(weight, attention), -np.inf)


def _fall_towards(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n classes"]:
    """The fall of ln p that attention causes, or as much of it as is within eps."""
    fall = -np.minimum(_change_of_log_p(programs, attention), 0)
    p, eps = programs.near.p, programs.near.eps
    beyond = np.flatnonzero(-(p * np.expm1(-fall)).sum(1) > eps)
    inside, outside = np.zeros((len(beyond), 1)), np.ones((len(beyond), 1))
    for _ in range(HALVINGS if len(beyond) else 0):
        middle = (inside + outside) / 2
        within = -(p[beyond] * np.expm1(-middle * fall[beyond])).sum(1, keepdims=True) <= eps
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    fall[beyond] *= inside
    return fall


def _change_of_log_p(programs: Programs, attention: Float[np.ndarray, "n item"]) -> Float[np.ndarray, "n classes"]:
    logits = programs.near.log_p + changes(programs, attention)
    top = logits.max(1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True)) - programs.near.log_p


def _brought_to_eps(
    programs: Programs, weight: Float[np.ndarray, "n item"], basis: Basis, best: Float[np.ndarray, "n item"]
) -> Float[np.ndarray, "n item"]:
    """`best`, or where it is more different the corner's attention, its near predictions moved until it is at eps."""
    eps, count = programs.near.eps, weight.shape[1]
    best, value, scale = best.copy(), _value(weight, best), np.ones(len(weight))
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
    """The corners with their near predictions so many times as far from the base's; the inverse is not renewed."""
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
