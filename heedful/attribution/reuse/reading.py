"""Variants of texts read on from their gaps, side by side, each until its state is that of the whole text again."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.reuse.adjoint import Adjoint, adjoint_of
from heedful.attribution.reuse.sums import Sums, extended, joined, no_sums, onward
from heedful.attribution.reuse.whole_texts import Reading

BLOCK = 8
"""Steps between two looks at which variants are done."""

SETTLED = {torch.float64: 1e-13, torch.float32: 1e-6}
"""A variant has settled when state and memory differ from those of the whole text by no more, in any unit."""

FORGOTTEN = 1e-5
"""The same in double precision where what is left of a difference is followed to first order (see `adjoint`): its
square counts. In single precision a variant settles about as soon."""

STRAIGHT = 24
"""A variant with no more than so many tokens to read is read to its end without a look: few settle so soon."""

WATCHED, LOOKS, GROWTH = 32, 16, 16.0
"""The first of so many variants of a text goes on for so many looks after it has settled. Where a small difference
(the square root of what counts as settled, or less; where it is followed, what counts as forgotten) grows so many
times, a text does not forget: its variants are read to the end."""


@dataclass(frozen=True)
class Variants:
    """Variants that are being read.

    Args:
        gap: the token that each is without.
        place: the token that it reads next.
        calm: at how many looks in a row it had settled.
        lowest: the least that it differed at any look.
        sums: over the items that it has read since the gap.
    """

    gap: Int[Tensor, " variant"]
    place: Int[Tensor, " variant"]
    calm: Int[Tensor, " variant"]
    lowest: Float[Tensor, " variant"]
    state: Float[Tensor, "variant units"]
    memory: Float[Tensor, "variant memory"]
    sums: Sums

    def select(self, rows: Int[Tensor, " some"]) -> "Variants":
        """The chosen variants."""
        parts = (self.gap, self.place, self.calm, self.lowest, self.state, self.memory)
        gap, place, calm, lowest, state, memory = (part.index_select(0, rows) for part in parts)
        return Variants(gap, place, calm, lowest, state, memory, self.sums.select(rows))


def read_variants(reading: Reading, gaps: Int[Tensor, " gap"], most: int) -> Sums:
    """For each token, the sums over all that follows it when it is left out; of use for the given gaps alone.

    A variant is read until it has settled. What follows then is as good as the whole text's own: while no later state
    differs by more, a value (a linear map of the state) is off by at most `SETTLED` x the sum of the map's absolute
    weights, and so, with the score's weights, for the logarithm of its attention weight. An LSTM's is read only until
    it has nearly forgotten its gap: what is left of the difference is followed to first order (`adjoint`), and what
    that misses is of the order of its square, 1e-10 in double precision. Whether differences grow again is watched on
    some of each text's variants.

    Args:
        most: how many variants are read side by side.
    """
    finished = no_sums(reading.end.shape[0], reading.imposed.shape[1], reading.known_value)
    left = reading.end[gaps] - gaps - 1
    gaps = gaps[left.argsort(descending=True, stable=True)]
    count = int((left > STRAIGHT).sum())
    long, short = gaps[:count], gaps[count:]
    for some in short.split(most):
        finished.write(some, _read_block(reading, _begin(reading, some), STRAIGHT).sums)
    dtype = finished.peak.dtype
    adjoint = adjoint_of(reading) if reading.is_lstm and count and dtype == torch.float64 else None
    tolerance = SETTLED[dtype] if adjoint is None else FORGOTTEN
    restless = _read(reading, long, finished, most, tolerance, adjoint)
    _read(reading, long[torch.isin(reading.text[long], restless)], finished, most)
    return finished


def _read(
    reading: Reading,
    gaps: Int[Tensor, " gap"],
    finished: Sums,
    most: int,
    tolerance: float | None = None,
    adjoint: Adjoint | None = None,
) -> Int[Tensor, " text"]:
    """Write the sums of each gap into `finished`; returns the texts where differences grew again.

    Whenever some variants are done, others take their places. Those with the most to read always stand first.

    Args:
        gaps: those first that leave the most to read.
        tolerance: None reads every variant to the end.
        adjoint: follows what is left of a difference.
    """
    if not gaps.shape[0]:
        return gaps
    patience, rest = _patience(reading, gaps), onward(reading.scores, reading.values, reading.end)
    restless, running, queue = [gaps[:0]], _begin(reading, gaps[:most]), gaps[most:]
    # Followed to first order, a difference may grow before it is as small as it must be, but not after.
    small = (tolerance or 0.0) ** (0.5 if adjoint is None else 1.0)
    while running.gap.shape[0]:
        running = _read_block(reading, running, BLOCK)
        is_over = running.place == reading.end.index_select(0, running.gap)
        if tolerance is not None:
            distance = _distance(reading, running)
            has_grown = (running.lowest <= small) & (distance > GROWTH * running.lowest.clamp(min=tolerance))
            restless.append(reading.text[running.gap[has_grown]])
            calm = (running.calm + 1).where(distance <= tolerance, 0)
            running = replace(running, calm=calm, lowest=running.lowest.minimum(distance))
            is_over |= running.calm >= patience.index_select(0, running.gap)
        over, on = is_over.nonzero()[:, 0], (~is_over).nonzero()[:, 0]
        if not over.shape[0]:
            continue
        _finish(reading, running.select(over), rest, finished, adjoint)
        running = running.select(on)
        if queue.shape[0]:
            running = _in_order(reading, _both(running, _begin(reading, queue[: most - on.shape[0]])))
            queue = queue[most - on.shape[0] :]
    return torch.cat(restless).unique()


def _patience(reading: Reading, gaps: Int[Tensor, " gap"]) -> Int[Tensor, " token"]:
    """At how many looks in a row the variant without that token must have settled: more if it is watched."""
    gaps = gaps.sort().values
    text, place = reading.text[gaps], torch.arange(len(gaps), device=gaps.device)
    number = place - torch.searchsorted(text, text)
    return torch.ones_like(reading.end).index_copy_(0, gaps, torch.where(number % WATCHED == 0, LOOKS, 1))


def _begin(reading: Reading, gaps: Int[Tensor, " variant"]) -> Variants:
    """The variants without these tokens, as they are just before these."""
    before, rows = reading.before.index_select(0, gaps), gaps.shape[0]
    sums = no_sums(rows, reading.imposed.shape[1], reading.known_value)
    state, memory = reading.state.index_select(0, before), reading.memory.index_select(0, before)
    lowest = state.new_full((rows,), torch.inf)
    return Variants(gaps, gaps + 1, torch.zeros_like(gaps), lowest, state, memory, sums)


def _finish(reading: Reading, variants: Variants, rest: Sums, finished: Sums, adjoint: Adjoint | None) -> None:
    """Write down the sums, with those of the whole text over what was not read.

    Args:
        rest: the sums over the whole text from each token on; a last row more is of nothing.
        adjoint: what the difference that is left changes of these.
    """
    is_on, last = variants.place < reading.end[variants.gap], reading.end.shape[0]
    sums = rest.select(variants.place.where(is_on, last))
    if adjoint is not None:
        difference = torch.cat(_differences(reading, variants), 1) * is_on[:, None]
        sums = adjoint.corrected(sums, variants.place.where(is_on, last - 1), difference)
    finished.write(variants.gap, joined(variants.sums, sums))


def _both(first: Variants, second: Variants) -> Variants:
    return Variants(
        gap=torch.cat([first.gap, second.gap]),
        place=torch.cat([first.place, second.place]),
        calm=torch.cat([first.calm, second.calm]),
        lowest=torch.cat([first.lowest, second.lowest]),
        state=torch.cat([first.state, second.state]),
        memory=torch.cat([first.memory, second.memory]),
        sums=Sums(
            torch.cat([first.sums.peak, second.sums.peak]),
            torch.cat([first.sums.total, second.sums.total]),
            torch.cat([first.sums.value, second.sums.value]),
        ),
    )


def _in_order(reading: Reading, variants: Variants) -> Variants:
    """Those first that have the most to read."""
    left = reading.end[variants.gap] - variants.place
    return variants.select(left.argsort(descending=True, stable=True))


def _distance(reading: Reading, variants: Variants) -> Float[Tensor, " variant"]:
    """How far state and memory are from those of the whole text after the same token, in any unit."""
    state, memory = _differences(reading, variants)
    distance = state.abs_().amax(1)
    return distance.maximum(memory.abs_().amax(1)) if memory.shape[1] else distance


def _differences(
    reading: Reading, variants: Variants
) -> tuple[Float[Tensor, "variant units"], Float[Tensor, "variant memory"]]:
    """What state and memory have beside those of the whole text after the same token."""
    last = variants.place - 1
    state, memory = reading.state.index_select(0, last), reading.memory.index_select(0, last)
    return variants.state - state, variants.memory - memory


def _read_block(reading: Reading, variants: Variants, most: int) -> Variants:
    """The variants after up to so many more tokens; state and memory are overwritten.

    Args:
        variants: those first that have the most to read within the block.
    """
    left = (reading.end.index_select(0, variants.gap) - variants.place).clamp_(max=most)
    rows = left.shape[0]
    counts = _counts(left)
    if not counts:
        return variants
    size = torch.tensor(counts, device=left.device)
    step = torch.arange(len(counts), device=left.device).repeat_interleave(size)
    row = torch.arange(sum(counts), device=left.device) - (size.cumsum(0) - size).index_select(0, step)
    tokens = variants.place.index_select(0, row).add_(step)
    states = variants.state.new_empty(sum(counts), variants.state.shape[1])
    for count, place, kept in zip(counts, tokens.split(counts), states.split(counts), strict=True):
        state = variants.state[:count]
        reading.step.apply(place, state, variants.memory[:count])
        kept.copy_(state)
    scores, values = reading.scores_and_values(states, tokens)
    if counts[-1] < rows:
        cell = step.mul_(rows).add_(row)
        scores = scores.new_full((len(counts) * rows, scores.shape[1]), -torch.inf).index_copy_(0, cell, scores)
        values = values.new_zeros(len(counts) * rows, values.shape[1]).index_copy_(0, cell, values)
    shape = (len(counts), rows, -1)
    sums = extended(variants.sums, scores.view(shape), values.view(shape))
    return replace(variants, place=variants.place + left, sums=sums)


def _counts(left: Int[Tensor, " variant"]) -> list[int]:
    """How many variants take each step, if each takes as many as it has left, until none does."""
    taken = left.bincount().flip(0).cumsum(0).flip(0)
    return taken[1:].tolist()
