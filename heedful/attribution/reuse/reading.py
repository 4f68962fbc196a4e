"""Variants of texts read on from their gaps, side by side, each until its state is that of the whole text again."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.reuse.recurrent_step import RecurrentStep
from heedful.attribution.reuse.scoring import Readout, mapped
from heedful.attribution.reuse.sums import Sums, extended, joined, no_sums

BLOCK = 8
"""Steps between two looks at which variants are done."""

SETTLED = {torch.float64: 1e-13, torch.float32: 1e-6}
"""A variant has settled when state and memory differ from those of the whole text by no more, in any unit."""

WATCHED, LOOKS, GROWTH = 32, 16, 16.0
"""The first of so many variants of a text goes on for so many looks after it has settled. Where a small difference
(the square root of what counts as settled, or less) grows so many times, a text does not forget: its variants are read
to the end."""


@dataclass(frozen=True)
class Reading:
    """One direction over all tokens of some texts in reading order, text after text.

    Args:
        state, memory: of the whole text after each token; a last row more is that before any.
        end: for each token, the row after the last token of its text.
        onward: the sums over the whole text from each token on; a last row more is of nothing.
        score_weight, value_weight: from this direction's states to the linear part of the score, and to the value.
        known_score, known_value: what all else adds to these.
        imposed: a score to add to this direction's own (0, or -inf if there is no item), then the log weights imposed.
    """

    step: RecurrentStep
    state: Float[Tensor, "rows units"]
    memory: Float[Tensor, "rows memory"]
    text: Int[Tensor, " token"]
    end: Int[Tensor, " token"]
    onward: Sums
    score_weight: Float[Tensor, "size units"] | Float[Tensor, "batch size units"]
    value_weight: Float[Tensor, "values units"] | Float[Tensor, "batch values units"]
    known_score: Float[Tensor, "token size"]
    known_value: Float[Tensor, "token values"]
    imposed: Float[Tensor, "token way"]
    readout: Readout

    def scores_and_values(
        self, states: Float[Tensor, "row units"], tokens: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row way"], Float[Tensor, "row values"]]:
        """Of these states at these tokens: a score for each way to weigh them (-inf if no item), and the value."""
        text = self.text.index_select(0, tokens)
        projected = mapped(self.score_weight, states, text).add_(self.known_score.index_select(0, tokens))
        scores = self.imposed.index_select(0, tokens)
        scores[:, 0] += self.readout(projected)
        return scores, mapped(self.value_weight, states, text).add_(self.known_value.index_select(0, tokens))


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
    weights, and so, with the score's weights, for the logarithm of its attention weight. Whether differences grow again
    is watched on some of each text's variants.

    Args:
        most: how many variants are read side by side.
    """
    finished = no_sums(len(reading.end), reading.imposed.shape[1], reading.known_value)
    restless = _read(reading, gaps, finished, most, SETTLED[finished.peak.dtype])
    if len(restless):
        _read(reading, gaps[torch.isin(reading.text[gaps], restless)], finished, most, None)
    return finished


def _read(
    reading: Reading, gaps: Int[Tensor, " gap"], finished: Sums, most: int, tolerance: float | None
) -> Int[Tensor, " text"]:
    """Write the sums of each gap into `finished`; returns the texts where differences grew again.

    Variants with the most to read begin first; whenever some are done, others take their places.

    Args:
        tolerance: None reads every variant to the end.
    """
    queue = gaps[(reading.end[gaps] - gaps).argsort(descending=True, stable=True)]
    patience = _patience(reading, gaps)
    restless, running = [gaps[:0]], _begin(reading, queue[:most])
    queue = queue[most:]
    while len(running.gap):
        running = _read_block(reading, running)
        is_over = running.place == reading.end[running.gap]
        if tolerance is not None:
            distance = _distance(reading, running)
            has_grown = (running.lowest <= tolerance**0.5) & (distance > GROWTH * running.lowest.clamp(min=tolerance))
            restless.append(reading.text[running.gap[has_grown]])
            calm = (running.calm + 1).where(distance <= tolerance, 0)
            running = replace(running, calm=calm, lowest=running.lowest.minimum(distance))
            is_over |= running.calm >= patience[running.gap]
        over, on = is_over.nonzero()[:, 0], (~is_over).nonzero()[:, 0]
        _finish(reading, running.select(over), finished)
        count = most - len(on)
        running = _in_order(reading, _both(running.select(on), _begin(reading, queue[:count])))
        queue = queue[count:]
    return torch.cat(restless).unique()


def _patience(reading: Reading, gaps: Int[Tensor, " gap"]) -> Int[Tensor, " token"]:
    """At how many looks in a row the variant without that token must have settled: more if it is watched."""
    gaps = gaps.sort().values
    text, place = reading.text[gaps], torch.arange(len(gaps), device=gaps.device)
    number = place - torch.searchsorted(text, text)
    return torch.ones_like(reading.end).index_copy_(0, gaps, torch.where(number % WATCHED == 0, LOOKS, 1))


def _begin(reading: Reading, gaps: Int[Tensor, " variant"]) -> Variants:
    """The variants without these tokens, as they are just before these."""
    is_first = (gaps == 0) | (reading.text[gaps - 1] != reading.text[gaps])
    before = (gaps - 1).where(~is_first, len(reading.end))
    sums = no_sums(len(gaps), reading.imposed.shape[1], reading.known_value)
    state, memory, calm = reading.state[before], reading.memory[before], torch.zeros_like(gaps)
    return Variants(gaps, gaps + 1, calm, state.new_full((len(gaps),), torch.inf), state, memory, sums)


def _finish(reading: Reading, variants: Variants, finished: Sums) -> None:
    """Write down the sums, with those of the whole text over what was not read."""
    rest = variants.place.where(variants.place < reading.end[variants.gap], len(reading.end))
    finished.write(variants.gap, joined(variants.sums, reading.onward.select(rest)))


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
    """Those first that have the most to read within the next block."""
    left = (reading.end[variants.gap] - variants.place).clamp(max=BLOCK)
    return variants.select(left.argsort(descending=True, stable=True))


def _distance(reading: Reading, variants: Variants) -> Float[Tensor, " variant"]:
    """How far state and memory are from those of the whole text after the same token, in any unit."""
    last = variants.place - 1
    distance = (variants.state - reading.state.index_select(0, last)).abs_().amax(1)
    if not variants.memory.shape[1]:
        return distance
    return distance.maximum((variants.memory - reading.memory.index_select(0, last)).abs_().amax(1))


def _read_block(reading: Reading, variants: Variants) -> Variants:
    """The variants after up to BLOCK more tokens; state and memory are overwritten."""
    left = (reading.end[variants.gap] - variants.place).clamp(max=BLOCK)
    ended = left.bincount(minlength=BLOCK + 1).cumsum(0)[:BLOCK].tolist()
    counts = [count for count in (len(left) - gone for gone in ended) if count]
    states, tokens, cells = [], [], []
    for step, count in enumerate(counts):
        place = variants.place[:count] + step
        reading.step.apply(place, variants.state[:count], variants.memory[:count])
        states.append(variants.state[:count].clone())
        tokens.append(place)
        cells.append(torch.arange(count, device=place.device) + step * len(left))
    if not counts:
        return variants
    scores, values = reading.scores_and_values(torch.cat(states), torch.cat(tokens))
    size, cell, shape = len(counts) * len(left), torch.cat(cells), (len(counts), len(left), -1)
    all_scores = scores.new_full((size, scores.shape[1]), -torch.inf).index_copy_(0, cell, scores)
    all_values = values.new_zeros(size, values.shape[1]).index_copy_(0, cell, values)
    sums = extended(variants.sums, all_scores.view(shape), all_values.view(shape))
    return replace(variants, place=variants.place + left, sums=sums)
