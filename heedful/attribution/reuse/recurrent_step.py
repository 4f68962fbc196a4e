"""One step of each kind of recurrent network, for many variants of a text at once.

All variants read the same inputs, so the projection of the inputs is computed once for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from heedful.models.encoders.orthogonal import OrthogonalLayer, without_direction

Advance = Callable[[Tensor, Tensor, Tensor, Tensor], None]


@dataclass(frozen=True)
class RecurrentStep:
    """The step function of a recurrent network, with the inputs of one chunk of texts already projected.

    Args:
        input_gates: for each time step, what the input and the biases add to the gates.
        weight: from state to gates.
        advance: from what the state adds to the gates and what the input adds, overwrites state and memory (which only
            an LSTM has; others ignore it) by the next ones.
        memories: how many vectors of the state's size the memory holds.
    """

    input_gates: tuple[Float[Tensor, "batch gates"], ...]
    weight: Float[Tensor, "units gates"]
    advance: Advance
    memories: int = 1

    def apply(
        self, time: int, state: Float[Tensor, "variant batch units"], memory: Float[Tensor, "variant batch memory"]
    ) -> None:
        """Update every variant's state and memory, in place, by the input at that time."""
        state_gates = (state.flatten(0, 1) @ self.weight).view(*state.shape[:2], -1)
        self.advance(state_gates, self.input_gates[time], state, memory)


def recurrent_step(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> RecurrentStep:
    """The step function of the network on these inputs."""
    return STEPS[type(network)](network, inputs)


def _rnn(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    input_gates = linear(inputs, input_weight, input_bias + state_bias)
    return RecurrentStep(input_gates.unbind(0), state_weight.T, _advance_rnn)


def _advance_rnn(state_gates: Tensor, input_gates: Tensor, state: Tensor, memory: Tensor) -> None:
    state.copy_(_tanh(state_gates.add_(input_gates)))


def _gru(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    units = network.hidden_size
    # The reset gate multiplies the new state's bias as well, so that bias cannot be added in advance.
    bias = input_bias + nn.functional.pad(state_bias[: 2 * units], (0, units))
    input_gates = linear(inputs, input_weight, bias)
    return RecurrentStep(input_gates.unbind(0), state_weight.T, partial(_advance_gru, bias=state_bias[2 * units :]))


def _advance_gru(state_gates: Tensor, input_gates: Tensor, state: Tensor, memory: Tensor, bias: Tensor) -> None:
    units = state.shape[-1]
    reset, keep = state_gates[..., : 2 * units].add_(input_gates[..., : 2 * units]).sigmoid_().chunk(2, -1)
    new = _tanh(state_gates[..., 2 * units :].add_(bias).mul_(reset).add_(input_gates[..., 2 * units :]))
    state.sub_(new).mul_(keep).add_(new)


def _lstm(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> RecurrentStep:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    units = network.hidden_size
    # With the candidate's rows doubled its tanh, too, is a sigmoid (see _tanh): one call for all four gates.
    double = input_bias.new_ones(4 * units)
    double[2 * units : 3 * units] = 2
    input_gates = linear(inputs, input_weight * double[:, None], (input_bias + state_bias) * double)
    return RecurrentStep(input_gates.unbind(0), (state_weight * double[:, None]).T, _advance_lstm)


def _advance_lstm(state_gates: Tensor, input_gates: Tensor, state: Tensor, memory: Tensor) -> None:
    enter, keep, candidate, leave = state_gates.add_(input_gates).sigmoid_().chunk(4, -1)
    memory.mul_(keep).addcmul_(enter, candidate, value=2).sub_(enter)
    state.copy_(_tanh(memory).mul_(leave))


def _orthogonal(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> RecurrentStep:
    step = _lstm(network, inputs)
    return replace(step, advance=_advance_orthogonal, memories=2)


def _advance_orthogonal(state_gates: Tensor, input_gates: Tensor, state: Tensor, memory: Tensor) -> None:
    # The mean of the states before has the direction of their sum, which is the second half of the memory.
    cell, total = memory.chunk(2, -1)
    _advance_lstm(state_gates, input_gates, state, cell)
    state.copy_(without_direction(state, total))
    total.add_(state)


def _tanh(values: Tensor) -> Tensor:
    # 2 sigmoid(2 x) - 1: torch's sigmoid takes a sixth of the time of its tanh on a CPU.
    return (2 * values).sigmoid_().mul_(2).sub_(1)


STEPS: dict[type[nn.RNNBase], Callable[[nn.RNNBase, Tensor], RecurrentStep]] = {
    nn.RNN: _rnn,
    nn.GRU: _gru,
    nn.LSTM: _lstm,
    OrthogonalLayer: _orthogonal,
}
