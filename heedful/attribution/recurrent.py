"""Leave-one-out through recurrent networks: nothing changes before the gap; after it, all shortened texts go together.

Going ahead, the text without item t is the text itself up to t; from there on it is one more row that reads the same
inputs. Going back it is the same, so of a state with two directions one half is always that of the whole text.
Attention is summed up while reading, so that no row's states are kept.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attribution.cells import Cell, cell_of
from heedful.attribution.reading import Reading
from heedful.attribution.scoring import Scoring
from heedful.models.encoders.recurrent import Recurrent, reorder, reversal

ROWS = 1024
"""Shortened texts that are read side by side: enough for the products to be fast, few enough to stay in cache."""


@dataclass(frozen=True)
class Sums:
    """A softmax of scores that grows item by item, and the sum of the states that it weighs.

    Args:
        peak: the highest score so far.
        total: the sum of exp(score - peak).
        context: the sum of exp(score - peak) x state.
    """

    peak: Float[Tensor, "batch item"]
    total: Float[Tensor, "batch item"]
    context: Float[Tensor, "batch item hidden"]


@dataclass(frozen=True)
class Direction:
    """One direction over a chunk of texts, all that does not differ from row to row computed beforehand.

    Args:
        own: the columns of a state that are this direction's; `rest` are the other's, none if there is no other.
        others: for each step, the other direction's states of the whole text.
        known: for each step, what they and the constant add to the linear part of the score.
        barred: for each step, 0 for a text that has an item there and -inf for one that has not.
        places: the steps at which some text has an item.
    """

    cell: Cell
    scoring: Scoring
    own: slice
    rest: slice
    others: tuple[Float[Tensor, "batch rest"], ...]
    known: tuple[Float[Tensor, "batch size"], ...]
    barred: tuple[Float[Tensor, " batch"], ...]
    places: tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    """Texts being read side by side: in row 0 the whole ones, in each other row the same without one item."""

    state: Float[Tensor, "row batch units"]
    memory: Float[Tensor, "row batch units"]
    peak: Float[Tensor, "row batch"]
    total: Float[Tensor, "row batch"]
    context: Float[Tensor, "row batch hidden"]

    def tensors(self) -> tuple[Tensor, ...]:
        """All that a row consists of: where the network stands, then the sums."""
        return self.state, self.memory, self.peak, self.total, self.context

    def first(self, count: int) -> "Rows":
        """A view of the first rows."""
        return Rows(*(tensor[:count] for tensor in self.tensors()))


def contexts(encoder: Recurrent, reading: Reading, rows: int = ROWS) -> Float[Tensor, "batch item hidden"]:
    """The attention-weighed sum of states without each item in turn; NaN where nothing is left.

    Args:
        rows: how many shortened texts are read side by side.
    """
    middle, end = encoder.ahead.hidden_size, encoder.output_size
    if encoder.back is None:
        sums = _read(_direction(encoder.ahead, reading, slice(0, end), slice(0, 0)), rows)
    else:
        ahead, back, order = slice(0, middle), slice(middle, end), reversal(reading.mask)
        after = _read(_direction(encoder.ahead, reading, ahead, back), rows)
        before = _read(_direction(encoder.back, reading.reordered(order), back, ahead), rows)
        sums = _merged(after, _reordered(before, order))
    return sums.context / sums.total[..., None]


def _reordered(sums: Sums, order: Int[Tensor, "batch item"]) -> Sums:
    return Sums(sums.peak.gather(1, order), sums.total.gather(1, order), reorder(sums.context, order))


def _merged(first: Sums, second: Sums) -> Sums:
    """The sums over the items of both."""
    peak = torch.maximum(first.peak, second.peak)
    one, other = (first.peak - peak).exp(), (second.peak - peak).exp()
    context = first.context * one[..., None] + second.context * other[..., None]
    return Sums(peak, first.total * one + second.total * other, context)


def _direction(network: nn.RNNBase, reading: Reading, own: slice, rest: slice) -> Direction:
    others = reading.hidden[..., rest].transpose(0, 1).contiguous()
    known = reading.scoring.project(others, rest) + reading.scoring.constant.transpose(0, 1)
    barred = reading.scores.new_zeros(reading.items.T.shape).masked_fill(~reading.items.T, -torch.inf)
    return Direction(
        cell=cell_of(network, reading.inputs.transpose(0, 1).contiguous()),
        scoring=reading.scoring,
        own=own,
        rest=rest,
        others=others.unbind(0),
        known=known.unbind(0),
        barred=barred.unbind(0),
        places=tuple(reading.items.any(0).nonzero()[:, 0].tolist()),
    )


def _read(direction: Direction, most: int) -> Sums:
    """The sums over what follows each gap, in reading order; over all but the gap if there is no other direction."""
    batch = len(direction.barred[0])
    found = _blank(direction, len(direction.barred))
    whole, begin, width = _blank(direction, 1), 0, max(1, most // batch)
    for group in range(0, len(direction.places), width):
        gaps = direction.places[group : group + width]
        rows = _blank(direction, len(gaps) + 1)
        for tensor, start in zip(rows.tensors(), whole.tensors(), strict=True):
            tensor[:1] = start
        whole, begin = _read_group(direction, rows, gaps, begin), gaps[-1] + 1
        for tensor, part in zip(found.tensors()[2:], rows.tensors()[2:], strict=True):
            tensor[list(gaps)] = part[1:]
    return Sums(found.peak.T, found.total.T, found.context.transpose(0, 1))


def _blank(direction: Direction, count: int) -> Rows:
    """Rows that have read nothing."""
    weight, batch = direction.cell.weight, len(direction.barred[0])
    state, memory = weight.new_zeros(2, count, batch, len(weight)).unbind(0)
    # The lowest finite number and not -inf, so that a difference of peaks is never NaN.
    peak = weight.new_full((count, batch), torch.finfo(weight.dtype).min)
    context = weight.new_zeros(count, batch, direction.scoring.weight.shape[-1])
    return Rows(state, memory, peak, torch.zeros_like(peak), context)


def _read_group(direction: Direction, rows: Rows, gaps: tuple[int, ...], begin: int) -> Rows:
    """Reads to the end, in place, a row joining at each gap; gives back row 0 as it was after the last gap."""
    # With no other direction to see what stands before the gap, a row joins with the sums so far.
    joining = rows.tensors() if direction.rest.start == direction.rest.stop else rows.tensors()[:2]
    places, live, whole = set(direction.places), 1, rows
    for time in range(begin, len(direction.barred)):
        reading = rows.first(live)
        if live <= len(gaps) and time == gaps[live - 1]:
            for tensor in joining:
                tensor[live] = tensor[0]
            live += 1
        direction.cell.step(time, reading.state, reading.memory)
        if time in places:
            _attend(direction, reading, time)
        if time == gaps[-1]:
            whole = Rows(*(tensor[:1].clone() for tensor in rows.tensors()))
    return whole


def _attend(direction: Direction, rows: Rows, time: int) -> None:
    """Adds each row's state at that time to its sums, in place."""
    projected = direction.scoring.project(rows.state, direction.own).add_(direction.known[time])
    score = direction.scoring.end(projected).add_(direction.barred[time])
    peak = torch.maximum(rows.peak, score)
    fade, weight = (rows.peak - peak).exp_(), (score - peak).exp_()
    rows.peak.copy_(peak)
    rows.total.mul_(fade).add_(weight)
    context = rows.context.mul_(fade[..., None])
    context[..., direction.own].addcmul_(weight[..., None], rows.state)
    context[..., direction.rest].addcmul_(weight[..., None], direction.others[time])
