"""Leave-one-out through recurrent networks: nothing changes before the gap; after it, all shortened texts run together.

In the forward direction the text without item t is the text itself up to t; from there on it is one more variant that
reads the same inputs. The backward direction mirrors this, so one half of a bidirectional state is always that of the
whole text. The softmax of attention is accumulated on the way, so that no variant's states are kept.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.attribution.reuse.recurrent_step import RecurrentStep, recurrent_step
from heedful.attribution.reuse.scoring import Scoring
from heedful.models.encoders.recurrent import Recurrent, reorder, reversal

VARIANTS = 1024
"""Shortened texts run side by side: enough for fast matrix products, few enough to stay in cache."""


@dataclass(frozen=True)
class Sums:
    """A softmax accumulated item by item, and the sum of the states that it weighs, for each way to weigh items.

    Args:
        peak: the highest score so far.
        total: the sum of exp(score - peak).
        context: the sum of exp(score - peak) x state.
    """

    peak: Float[Tensor, "way batch item"]
    total: Float[Tensor, "way batch item"]
    context: Float[Tensor, "way batch item hidden"]


@dataclass(frozen=True)
class Direction:
    """One direction over a chunk of texts, with all that the variants share computed in advance.

    Args:
        own: the columns of a state that belong to this direction; `rest` are the other's, empty if there is none.
        others: for each step, the other direction's states of the whole text.
        known: for each step, what they and the constant add to the linear part of the score.
        barred: for each step, 0 for a text that has an item there and -inf for a text that has not.
        places: the steps at which some text has an item.
        imposed: for each step, the log weights that are imposed.
    """

    step: RecurrentStep
    scoring: Scoring
    own: slice
    rest: slice
    others: tuple[Float[Tensor, "batch rest"], ...]
    known: tuple[Float[Tensor, "batch size"], ...]
    barred: tuple[Float[Tensor, " batch"], ...]
    places: tuple[int, ...]
    imposed: Float[Tensor, "time imposed batch"]


@dataclass(frozen=True)
class Variants:
    """Variants of texts run side by side: number 0 is the whole texts, each other the texts without one item."""

    state: Float[Tensor, "variant batch units"]
    memory: Float[Tensor, "variant batch memory"]
    peak: Float[Tensor, "variant way batch"]
    total: Float[Tensor, "variant way batch"]
    context: Float[Tensor, "variant way batch hidden"]

    def tensors(self) -> tuple[Tensor, ...]:
        """All that a variant consists of: the network's state and memory, then the sums."""
        return self.state, self.memory, self.peak, self.total, self.context

    def first(self, count: int) -> "Variants":
        """A view of the first variants."""
        return Variants(*(tensor[:count] for tensor in self.tensors()))


def contexts(encoder: Recurrent, inputs: EncoderInputs, most: int = VARIANTS) -> Float[Tensor, "way batch item hidden"]:
    """The weighted sum of states without each item in turn (NaN if nothing is left): by attention, by imposed weights.

    Args:
        most: how many shortened texts are run side by side.
    """
    middle, end = encoder.ahead.hidden_size, encoder.output_size
    if encoder.back is None:
        sums = _read(_direction(encoder.ahead, inputs, slice(0, end), slice(0, 0)), most)
    else:
        ahead, back, order = slice(0, middle), slice(middle, end), reversal(inputs.mask)
        after = _read(_direction(encoder.ahead, inputs, ahead, back), most)
        before = _read(_direction(encoder.back, inputs.reordered(order), back, ahead), most)
        sums = _merged(after, _reordered(before, order))
    return sums.context / sums.total[..., None]


def _reordered(sums: Sums, order: Int[Tensor, "batch item"]) -> Sums:
    ways = len(sums.peak)
    peak, total = (values.gather(2, order.expand(ways, -1, -1)) for values in (sums.peak, sums.total))
    return Sums(peak, total, torch.stack([reorder(context, order) for context in sums.context]))


def _merged(first: Sums, second: Sums) -> Sums:
    """The sums over the items of both."""
    peak = torch.maximum(first.peak, second.peak)
    first_scale, second_scale = (first.peak - peak).exp(), (second.peak - peak).exp()
    context = first.context * first_scale[..., None] + second.context * second_scale[..., None]
    return Sums(peak, first.total * first_scale + second.total * second_scale, context)


def _direction(network: nn.RNNBase, inputs: EncoderInputs, own: slice, rest: slice) -> Direction:
    others = inputs.hidden[..., rest].transpose(0, 1).contiguous()
    known = inputs.scoring.project(others, rest) + inputs.scoring.constant.transpose(0, 1)
    barred = inputs.scores.new_zeros(inputs.items.T.shape).masked_fill(~inputs.items.T, -torch.inf)
    return Direction(
        step=recurrent_step(network, inputs.vectors.transpose(0, 1).contiguous()),
        scoring=inputs.scoring,
        own=own,
        rest=rest,
        others=others.unbind(0),
        known=known.unbind(0),
        barred=barred.unbind(0),
        places=tuple(inputs.items.any(0).nonzero()[:, 0].tolist()),
        imposed=_by_time(inputs),
    )


def _by_time(inputs: EncoderInputs) -> Float[Tensor, "time imposed batch"]:
    if not inputs.imposed:
        return inputs.scores.new_zeros(inputs.scores.shape[1], 0, len(inputs.scores))
    return torch.stack(inputs.imposed).permute(2, 0, 1).contiguous()


def _read(direction: Direction, most: int) -> Sums:
    """The sums over what follows each gap, in reading order; over all but the gap if there is no other direction."""
    batch = len(direction.barred[0])
    collected = _blank(direction, len(direction.barred))
    whole, begin, width = _blank(direction, 1), 0, max(1, most // batch)
    for group in range(0, len(direction.places), width):
        gaps = direction.places[group : group + width]
        variants = _blank(direction, len(gaps) + 1)
        for tensor, start in zip(variants.tensors(), whole.tensors(), strict=True):
            tensor[:1] = start
        whole, begin = _read_group(direction, variants, gaps, begin), gaps[-1] + 1
        for tensor, part in zip(collected.tensors()[2:], variants.tensors()[2:], strict=True):
            tensor[list(gaps)] = part[1:]
    return Sums(*(sums.permute(1, 2, 0, *range(3, sums.dim())) for sums in collected.tensors()[2:]))


def _blank(direction: Direction, count: int) -> Variants:
    """Variants that have read nothing."""
    weight, batch = direction.step.weight, len(direction.barred[0])
    state = weight.new_zeros(count, batch, len(weight))
    memory = weight.new_zeros(count, batch, direction.step.memories * len(weight))
    # The lowest finite number and not -inf, so that a difference of peaks is never NaN.
    ways = 1 + direction.imposed.shape[1]
    peak = weight.new_full((count, ways, batch), torch.finfo(weight.dtype).min)
    context = weight.new_zeros(count, ways, batch, direction.scoring.weight.shape[-1])
    return Variants(state, memory, peak, torch.zeros_like(peak), context)


def _read_group(direction: Direction, variants: Variants, gaps: tuple[int, ...], begin: int) -> Variants:
    """Read to the end, in place, a variant joining at each gap; returns number 0 as it was after the last gap."""
    # With no other direction to cover what stands before the gap, a variant joins with the sums so far.
    joining = variants.tensors() if direction.rest.start == direction.rest.stop else variants.tensors()[:2]
    places, live, whole = set(direction.places), 1, variants
    for time in range(begin, len(direction.barred)):
        running = variants.first(live)
        if live <= len(gaps) and time == gaps[live - 1]:
            for tensor in joining:
                tensor[live] = tensor[0]
            live += 1
        direction.step.apply(time, running.state, running.memory)
        if time in places:
            _attend(direction, running, time)
        if time == gaps[-1]:
            whole = Variants(*(tensor[:1].clone() for tensor in variants.tensors()))
    return whole


def _attend(direction: Direction, variants: Variants, time: int) -> None:
    """Add each variant's state at that time to its sums, in place."""
    projected = direction.scoring.project(variants.state, direction.own).add_(direction.known[time])
    own = direction.scoring.readout(projected).add_(direction.barred[time])
    score = torch.cat([own[:, None], direction.imposed[time].expand(len(own), -1, -1)], 1)
    peak = torch.maximum(variants.peak, score)
    fade, weight = (variants.peak - peak).exp_(), (score - peak).exp_()
    variants.peak.copy_(peak)
    variants.total.mul_(fade).add_(weight)
    context = variants.context.mul_(fade[..., None])
    context[..., direction.own].addcmul_(weight[..., None], variants.state[:, None])
    context[..., direction.rest].addcmul_(weight[..., None], direction.others[time])
