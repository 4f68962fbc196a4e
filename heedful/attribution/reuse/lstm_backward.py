"""Backward in time through an LSTM, from what it has read: nothing is read forward again.

The gates of all tokens follow from states that are known. All quantities whose derivatives are wanted, of all texts, go
side by side.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Direct = Callable[[int, slice], Float[Tensor, "some way units"]]


@dataclass(frozen=True)
class GateSlopes:
    """How gates, cell and state of each token move with each other, by time.

    Args:
        from_cell: d cell / d gates, of the gates that lead into it; `from_state`: d state / d (gate that leads out).
        to_cell: d state / d cell; `keep`: d cell / d cell before.
    """

    from_cell: Float[Tensor, "time batch 3 units"]
    from_state: Float[Tensor, "time batch units"]
    to_cell: Float[Tensor, "time batch units"]
    keep: Float[Tensor, "time batch units"]


@dataclass(frozen=True)
class StepBack:
    """One token of the texts that are as long, on the way back.

    Args:
        time: the token's place in reading order.
        texts: those that have it.
        gates: derivatives to what leads into the gates.
        state, cell: derivatives to the state and cell with which the token is read; overwritten by the next step.
    """

    time: int
    texts: slice
    gates: Float[Tensor, "some way 4 units"]
    state: Float[Tensor, "some way units"]
    cell: Float[Tensor, "some way units"]


def gate_slopes(
    input_gates: Float[Tensor, "token gates"],
    weight: Float[Tensor, "units gates"],
    state_before: Float[Tensor, "token units"],
    cell_before: Float[Tensor, "token units"],
    cell: Float[Tensor, "token units"],
    shape: tuple[int, int],
) -> GateSlopes:
    """The slopes at tokens that stand time by time.

    Args:
        input_gates: what the tokens and biases add to the gates, as `RecurrentStep` has them.
        shape: times and texts.
    """
    gates = torch.addmm(input_gates, state_before, weight).sigmoid_()
    # The step doubles what leads to the candidate, which is 2 x its gate - 1.
    enter, keep, candidate, leave = gates.chunk(4, -1)
    tanh = cell.mul(2).sigmoid_().mul_(2).sub_(1)
    into_cell = [
        _slope(enter).mul_(candidate.mul(2).sub_(1)),
        _slope(keep).mul_(cell_before),
        _slope(candidate).mul_(enter).mul_(2),
    ]
    from_state, to_cell = _slope(leave).mul_(tanh), torch.addcmul(leave, leave, tanh.square_(), value=-1)
    parts = (torch.stack(into_cell, 1), from_state, to_cell, keep)
    return GateSlopes(*(part.unflatten(0, shape) for part in parts))


def _slope(gates: Float[Tensor, "token units"]) -> Float[Tensor, "token units"]:
    """The derivative of a sigmoid, from its value."""
    return torch.addcmul(gates, gates, gates, value=-1)


def steps_back(
    weight: Float[Tensor, "units gates"], slopes: GateSlopes, direct: Direct, counts: Sequence[int], ways: int
) -> Iterator[StepBack]:
    """From the last token to the first, the derivatives of several quantities.

    Args:
        direct: the derivatives to the states of some texts at some time, other than through later states.
        counts: how many texts, the first, have a token at each time.
        ways: how many quantities.
    """
    _, batch, units = slopes.keep.shape
    back = weight.T.contiguous()
    state, cell = weight.new_zeros(2, batch, ways, units)
    gates = weight.new_empty(batch, ways, 4, units)
    parts = (slopes.from_cell, slopes.from_state, slopes.to_cell, slopes.keep)
    by_time = zip(*(part.unsqueeze(2).unbind() for part in parts), strict=True)
    for step, known in reversed(list(enumerate(by_time))):
        texts = slice(0, counts[step])
        from_cell, from_state, to_cell, keep = (part[texts] for part in known)
        into_state, own = state[texts].add_(direct(step, texts)), gates[texts]
        into_cell = cell[texts].addcmul_(into_state, to_cell)
        torch.mul(from_cell, into_cell[:, :, None], out=own[:, :, :3])
        torch.mul(from_state, into_state, out=own[:, :, 3])
        torch.mm(own.view(-1, 4 * units), back, out=into_state.view(-1, units))
        into_cell.mul_(keep)
        yield StepBack(step, texts, own, into_state, into_cell)
