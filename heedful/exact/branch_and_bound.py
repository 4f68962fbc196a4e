"""An upper bound on the divergence of all attentions whose logits lie in a convex set, by branch and bound, in batches.

The divergence is a sum over the items of a convex function of their weights. Where a weight is between two numbers,
the function is at most its chord there, so the divergence is at most a sum that is linear in attention, and a linear
program bounds it (see hull_programs.py). Of the programs of a text that with the largest bound is split: the range of
the item whose chord is furthest above the function is cut in two, where the program's solution has it. Outside its
range a chord is below the function, so that the attentions allowed may stay what they are: only the gains change.
"""

from math import log
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from heedful.exact.hull_programs import (
    Basis,
    Gains,
    Programs,
    attention_of,
    maximise,
    proven_bound,
)
from heedful.exact.near_predictions import largest_margins
from heedful.exact.overlap import divergence, overlap_loss

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
