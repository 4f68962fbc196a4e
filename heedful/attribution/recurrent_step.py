"""One step of each kind of recurrent network, for many variants of many texts at once, each at a place of its own.

All variants read the same inputs, so the projection of the inputs is computed once for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from heedful.models.encoders.recurrent import OrthogonalLayer, without_direction

Advance = Callable[[Tensor, Tensor, Tensor, Tensor], None]
Recall = Callable[["RecurrentStep", Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class RecurrentStep:
    """The step function of a recurrent network, with the inputs of some texts already projected.

    Args:
        input_gates: what each token and the biases add to the gates.
        weight: from state to gates.
        advance: from what the token adds to the gates (which it may overwrite) and the weight, overwrites state and
            memory (of no size where the network has none) by the next ones.
        recall: the memory after each token of texts whose states are known.
    """

    input_gates: Float[Tensor, "token gates"]
    weight: Float[Tensor, "units gates"]
    advance: Advance
    recall: Recall

    def apply(
        self,
        tokens: Int[Tensor, " variant"],
        state: Float[Tensor, "variant units"],
        memory: Float[Tensor, "variant memory"],
    ) -> None:
        """Update every variant's state and memory, in place, by the token that it reads."""
        self.advance(self.input_gates.index_select(0, tokens), self.weight, state, memory)

    def memory(
        self, states: Float[Tensor, "token units"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "token memory"]:
        """The memory after each token of the whole texts, whose states are known.

        Args:
            mask: where the tokens stand, text by text.
        """
        return self.recall(self, states, mask)


def recurrent_step(network: nn.RNNBase, inputs: Float[Tensor, "token embed"]) -> RecurrentStep:
    """The step function of the network on these inputs, in their precision."""
    return STEPS[type(network)]([weight.to(inputs) for weight in network.all_weights[0]], inputs)


def _rnn(weights: Sequence[Tensor], inputs: Float[Tensor, "token embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = weights
    input_gates = linear(inputs, input_weight, input_bias + state_bias)
    return RecurrentStep(input_gates, state_weight.T, _advance_rnn, _nothing)


def _advance_rnn(gates: Tensor, weight: Tensor, state: Tensor, memory: Tensor) -> None:
    _tanh_into(gates.addmm_(state, weight), state)


def _nothing(step: RecurrentStep, states: Tensor, mask: Tensor) -> Tensor:
    return states[:, :0]


def _gru(weights: Sequence[Tensor], inputs: Float[Tensor, "token embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = weights
    units = state_weight.shape[1]
    # The reset gate multiplies the new state's bias as well, so that bias cannot be added in advance.
    bias = input_bias + nn.functional.pad(state_bias[: 2 * units], (0, units))
    advance = partial(_advance_gru, bias=state_bias[2 * units :])
    return RecurrentStep(linear(inputs, input_weight, bias), state_weight.T, advance, _nothing)


def _advance_gru(gates: Tensor, weight: Tensor, state: Tensor, memory: Tensor, bias: Tensor) -> None:
    units = state.shape[-1]
    state_gates = state @ weight
    reset, keep = state_gates[:, : 2 * units].add_(gates[:, : 2 * units]).sigmoid_().chunk(2, -1)
    new = gates[:, 2 * units :].addcmul_(state_gates[:, 2 * units :].add_(bias), reset)
    _tanh_into(new, new)
    state.sub_(new).mul_(keep).add_(new)


def _lstm(weights: Sequence[Tensor], inputs: Float[Tensor, "token embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = weights
    units = state_weight.shape[1]
    # With the candidate's rows doubled its tanh, too, is a sigmoid (see _tanh_into): one call for all four gates.
    double = input_bias.new_ones(4 * units)
    double[2 * units : 3 * units] = 2
    input_gates = linear(inputs, input_weight * double[:, None], (input_bias + state_bias) * double)
    return RecurrentStep(input_gates, (state_weight * double[:, None]).T, _advance_lstm, _cells)


def _advance_lstm(gates: Tensor, weight: Tensor, state: Tensor, memory: Tensor) -> None:
    enter, keep, candidate, leave = gates.addmm_(state, weight).sigmoid_().chunk(4, -1)
    memory.mul_(keep).addcmul_(enter, candidate.sub_(0.5), value=2)
    # tanh(x) = 1 - 2 sigmoid(-2 x), times the gate that leads out.
    torch.addcmul(leave, leave, torch.mul(memory, -2, out=state).sigmoid_(), value=-2, out=state)


def _cells(step: RecurrentStep, states: Tensor, mask: Tensor) -> Tensor:
    """The gates of all tokens at once; what is left to do in order is cell = keep x cell + enter x candidate."""
    order, counts = _by_place(mask)
    # States before each token: those at first places, which are the first in this order, begin from nothing.
    before = states.index_select(0, (order - 1).clamp_(min=0))
    before[: counts[0]] = 0.0
    gates = step.input_gates.index_select(0, order).addmm_(before, step.weight).sigmoid_()
    enter, keep, candidate, _ = gates.chunk(4, -1)
    new = candidate.sub_(0.5).mul_(enter).mul_(2)
    cells = [new[: counts[0]]]
    for keep_now, new_now in list(zip(keep.split(counts), new.split(counts), strict=True))[1:]:
        cells.append(torch.addcmul(new_now, keep_now, cells[-1][: len(new_now)]))
    return torch.empty_like(states).index_copy_(0, order, torch.cat(cells))


def _by_place(mask: Bool[Tensor, "batch time"]) -> tuple[Int[Tensor, " token"], list[int]]:
    """The tokens by their place in the text, those of longer texts first; and how many have each place."""
    lengths = mask.sum(1)
    longest_first = lengths.argsort(descending=True, stable=True)
    first = (lengths.cumsum(0) - lengths)[longest_first]
    place = torch.arange(mask.shape[1], device=mask.device)
    has_place = place[:, None] < lengths[longest_first]
    return (first + place[:, None])[has_place], has_place.sum(1).tolist()


def _orthogonal(weights: Sequence[Tensor], inputs: Float[Tensor, "token embed"]) -> RecurrentStep:
    return replace(_lstm(weights, inputs), advance=_advance_orthogonal, recall=_cells_and_totals)


def _advance_orthogonal(gates: Tensor, weight: Tensor, state: Tensor, memory: Tensor) -> None:
    # The mean of the states before has the direction of their sum, which is the second half of the memory.
    cell, total = memory.chunk(2, -1)
    _advance_lstm(gates, weight, state, cell)
    state.copy_(without_direction(state, total))
    total.add_(state)


def _cells_and_totals(step: RecurrentStep, states: Tensor, mask: Tensor) -> Tensor:
    padded = states.new_zeros(*mask.shape, states.shape[-1])
    padded[mask] = states
    return torch.cat([_cells(step, states, mask), padded.cumsum(1)[mask]], -1)


def _tanh_into(values: Tensor, target: Tensor) -> None:
    # 2 sigmoid(2 x) - 1: torch's sigmoid takes a sixth of the time of its tanh on a CPU.
    torch.mul(values, 2, out=target).sigmoid_().mul_(2).sub_(1)


STEPS: dict[type[nn.RNNBase], Callable[[Sequence[Tensor], Tensor], RecurrentStep]] = {
    nn.RNN: _rnn,
    nn.GRU: _gru,
    nn.LSTM: _lstm,
    OrthogonalLayer: _orthogonal,
}
