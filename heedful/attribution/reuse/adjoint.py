"""What the rest of a text adds up to, to first order in the state that it is read from: one way back through an LSTM.

A variant that has almost forgotten its gap need not be read on. With a difference d of state and cell from those of the
whole text, its sums from there on are those of the whole text + (their derivatives) . d, but for terms of the order of
d squared; and the derivatives, of all tokens of all texts, cost a handful of steps a token.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.linear_parts import mapped
from heedful.attribution.reuse.lstm_backward import gate_slopes, steps_back
from heedful.attribution.reuse.sums import Sums
from heedful.attribution.reuse.whole_texts import Reading

LONG = 48
"""Tokens from which a text is worth the way back: in shorter ones variants are near their end when they forget."""

OUTPUTS = 8
"""Sums, over all ways to weigh items, whose derivatives are worth their cost."""


@dataclass(frozen=True)
class Adjoint:
    """Derivatives of the sums over each token and all after it to the state and cell with which the token is read.

    Args:
        peak: the highest score of its text, to which the derivatives are relative.
        slopes: of the total by attention (imposed weights depend on no state), then of the values of each way.
    """

    peak: Float[Tensor, "token way"]
    slopes: Float[Tensor, "token output state_and_cell"]

    def corrected(
        self, sums: Sums, tokens: Int[Tensor, " row"], difference: Float[Tensor, "row state_and_cell"]
    ) -> Sums:
        """The whole texts' sums from these tokens on, if state and cell before them differ by so much."""
        moved = (self.slopes.index_select(0, tokens) @ difference[..., None])[..., 0]
        # Where nothing follows there is no peak, and nothing to correct.
        scale = (self.peak.index_select(0, tokens) - sums.peak).where(sums.total > 0, -torch.inf).exp_()
        total = sums.total.clone()
        total[:, 0] += moved[:, 0] * scale[:, 0]
        value = moved[:, 1:].unflatten(1, sums.value.shape[1:]) * scale[..., None]
        return Sums(sums.peak, total, sums.value + value)


@torch.no_grad()
def adjoint_of(reading: Reading) -> Adjoint | None:
    """The derivatives for texts that an LSTM reads; None where they would not pay, or could not be represented."""
    length = torch.bincount(reading.text)
    outputs = 1 + reading.scores.shape[1] * reading.values.shape[1]
    if outputs > OUTPUTS or not len(length) or int(length.max()) < LONG:
        return None
    peak, lowest = _range(reading, length)
    if (peak - lowest).amax() > 0.8 * math.log(torch.finfo(peak.dtype).max):
        return None
    direct = _direct(reading, (reading.scores - peak).exp_())
    # Longest first, so that the texts that have a token at some time are always the first.
    order = length.argsort(descending=True, stable=True)
    time, first = torch.arange(int(length.max()), device=length.device), length.cumsum(0) - length
    has_token = time[:, None] < length[order]
    rows = (first[order] + time[:, None]).where(has_token, 0)
    flat = rows.flatten()
    before = reading.before[flat]
    slopes = gate_slopes(
        reading.step.input_gates[flat],
        reading.step.weight,
        reading.state[before],
        reading.memory[before],
        reading.memory[flat],
        (rows.shape[0], rows.shape[1]),
    )
    units = reading.state.shape[1]
    by_time = direct.new_empty(*rows.shape, outputs, 2 * units)
    counts = has_token.sum(1).tolist()
    for back in steps_back(reading.step.weight, slopes, lambda time, texts: direct[rows[time, texts]], counts, outputs):
        torch.cat([back.state, back.cell], -1, out=by_time[back.time, back.texts])
    place = torch.arange(len(direct), device=length.device) - first[reading.text]
    return Adjoint(peak, by_time[place, order.argsort()[reading.text]])


def _range(
    reading: Reading, length: Int[Tensor, " text"]
) -> tuple[Float[Tensor, "token way"], Float[Tensor, "token way"]]:
    """The highest and the lowest score of any item of each token's text, each way; 0 where there is no item."""
    is_item = reading.scores > -torch.inf
    text = reading.text[:, None].expand_as(reading.scores)
    ends = []
    for empty, reduction in ((-torch.inf, "amax"), (torch.inf, "amin")):
        start = reading.scores.new_full((len(length), reading.scores.shape[1]), empty)
        end = start.scatter_reduce_(0, text, reading.scores.where(is_item, empty), reduction)
        ends.append(end.where(end.isfinite(), 0.0).index_select(0, reading.text))
    return ends[0], ends[1]


def _direct(reading: Reading, weights: Float[Tensor, "token way"]) -> Float[Tensor, "token output units"]:
    """The derivatives of what a token itself adds to the sums, to its state."""
    state, text = reading.state[: len(reading.text)], reading.text
    projected = mapped(reading.score_weight, state, text) + reading.known_score
    with torch.enable_grad():
        projected = projected.requires_grad_()
        (slope,) = torch.autograd.grad(reading.readout(projected.clone()).sum(), projected)
    per_text = (
        weight if weight.dim() == 2 else weight[text] for weight in (reading.score_weight, reading.value_weight)
    )
    score_weight, value_weight = per_text
    score = (slope[:, None] @ score_weight)[:, 0]
    of_values = weights[:, :, None, None] * value_weight.expand(len(text), -1, -1)[:, None]
    of_values[:, 0] += (weights[:, :1] * reading.values)[..., None] * score[:, None]
    return torch.cat([(weights[:, :1] * score)[:, None], of_values.flatten(1, 2)], 1)
