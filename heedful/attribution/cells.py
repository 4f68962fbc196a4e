"""One step of each recurrent cell, for many rows that read the same input: its projection is computed once for all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

Advance = Callable[[Tensor, Tensor, Tensor, Tensor], None]


@dataclass(frozen=True)
class Cell:
    """A recurrent network about to read one chunk of texts.

    Args:
        given: for each step, what the input and the biases add to the gates.
        weight: from state to gates.
        advance: overwrites state and memory (an LSTM's; others leave it alone) by the next ones, from what the state
            adds to the gates and what is given.
    """

    given: tuple[Float[Tensor, "batch gates"], ...]
    weight: Float[Tensor, "units gates"]
    advance: Advance

    def step(
        self, time: int, state: Float[Tensor, "row batch units"], memory: Float[Tensor, "row batch units"]
    ) -> None:
        """Every row's state and memory, in place, after the input of that time."""
        product = (state.flatten(0, 1) @ self.weight).view(*state.shape[:2], -1)
        self.advance(product, self.given[time], state, memory)


def cell_of(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> Cell:
    """The network about to read these inputs."""
    return CELLS[type(network)](network, inputs)


def _rnn(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> Cell:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    given = linear(inputs, input_weight, input_bias + state_bias)
    return Cell(given.unbind(0), state_weight.T, _advance_rnn)


def _advance_rnn(product: Tensor, given: Tensor, state: Tensor, memory: Tensor) -> None:
    state.copy_(_tanh(product.add_(given)))


def _gru(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> Cell:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    units = network.hidden_size
    # The reset gate multiplies the new state's bias as well, so that one can not be added beforehand.
    bias = input_bias + nn.functional.pad(state_bias[: 2 * units], (0, units))
    given = linear(inputs, input_weight, bias)
    return Cell(given.unbind(0), state_weight.T, partial(_advance_gru, bias=state_bias[2 * units :]))


def _advance_gru(product: Tensor, given: Tensor, state: Tensor, memory: Tensor, bias: Tensor) -> None:
    units = state.shape[-1]
    reset, keep = product[..., : 2 * units].add_(given[..., : 2 * units]).sigmoid_().chunk(2, -1)
    new = _tanh(product[..., 2 * units :].add_(bias).mul_(reset).add_(given[..., 2 * units :]))
    state.sub_(new).mul_(keep).add_(new)


def _lstm(network: nn.RNNBase, inputs: Float[Tensor, "time batch embed"]) -> Cell:
    input_weight, state_weight, input_bias, state_bias = network.all_weights[0]
    units = network.hidden_size
    # With the candidate's rows doubled its tanh, too, is a sigmoid (see _tanh): one call for all four gates.
    double = input_bias.new_ones(4 * units)
    double[2 * units : 3 * units] = 2
    given = linear(inputs, input_weight * double[:, None], (input_bias + state_bias) * double)
    return Cell(given.unbind(0), (state_weight * double[:, None]).T, _advance_lstm)


def _advance_lstm(product: Tensor, given: Tensor, state: Tensor, memory: Tensor) -> None:
    enter, keep, candidate, leave = product.add_(given).sigmoid_().chunk(4, -1)
    memory.mul_(keep).addcmul_(enter, candidate, value=2).sub_(enter)
    state.copy_(_tanh(memory).mul_(leave))


def _tanh(values: Tensor) -> Tensor:
    # 2 sigmoid(2 x) - 1: torch's sigmoid takes a sixth of the time of its tanh on a CPU.
    return (2 * values).sigmoid_().mul_(2).sub_(1)


CELLS: dict[type[nn.RNNBase], Callable[[nn.RNNBase, Tensor], Cell]] = {nn.RNN: _rnn, nn.GRU: _gru, nn.LSTM: _lstm}
