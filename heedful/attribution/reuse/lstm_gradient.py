"""Input gradients of an LSTM by hand, for several weightings of the same states: nothing is read forward again.

The gates of all tokens follow from states that are known. Backward in time, all weightings of all texts go side by
side. And as gradient x input is asked for alone, (gates' gradient x weight) . input = gates' gradient . (weight x
input): the projection of the inputs, which is known, too.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attribution.chunks import of_similar_length
from heedful.attribution.reuse.recurrent_step import recurrent_step
from heedful.attribution.reuse.tree_reading import Direction
from heedful.attribution.reuse.variants import VariantReader
from heedful.models.encoders.recurrent import reorder, reversal
from heedful.types import Trace

TOKENS = 2**14
"""Tokens whose gates are kept at a time."""


def is_lstm(reader: VariantReader | None) -> bool:
    """Whether every direction is an LSTM."""
    return reader is not None and all(type(direction.network) is nn.LSTM for direction in reader.directions)


@torch.no_grad()
def gradients_x_input(
    reader: VariantReader, trace: Trace, slopes: Float[Tensor, "way batch item hidden"]
) -> Float[Tensor, "way batch item"]:
    """The gradient of something with respect to each token's embedding, times that embedding; 0 where there is none.

    Args:
        slopes: its derivatives to the states of the whole texts, in several ways.
    """
    mask, result = trace.batch.mask, slopes.new_zeros(slopes.shape[:3])
    start = mask.sum(1).cumsum(0) - mask.sum(1)
    for some in of_similar_length(mask.sum(1), TOKENS):
        place = torch.arange(int(mask[some].sum(1).max()), device=mask.device)
        # Longest first, so that the texts that are still being read are always the first.
        tokens = (start[some, None] + place).clamp_max(reader.count - 1)
        own_mask = mask[some, : len(place)]
        for direction in reader.directions:
            order = reversal(own_mask) if direction.backward else place.expand_as(own_mask)
            known = _known(direction, tokens.gather(1, order))
            outer = slopes[:, some, : len(place), direction.own]
            ordered = torch.stack([reorder(way, order) for way in outer])
            products = _backward(direction, known, ordered * own_mask[..., None], own_mask.sum(1))
            result[:, some, : len(place)] += products.gather(2, order.expand_as(products))
    return result


@dataclass(frozen=True)
class _Known:
    """What does not depend on the weighting, by time: the gates' slopes, and what the inputs add to the gates.

    Args:
        from_cell: d gates / d cell, of the gates that lead into it; `from_state`: d (gate that leads out) / d state.
        to_cell: d cell / d state; `keep`: d cell / d cell before.
    """

    from_cell: Float[Tensor, "time batch 3 units"]
    from_state: Float[Tensor, "time batch units"]
    to_cell: Float[Tensor, "time batch units"]
    keep: Float[Tensor, "time batch units"]
    inputs: Float[Tensor, "time batch gates"]


def _known(direction: Direction, tokens: Int[Tensor, "batch time"]) -> _Known:
    rows = tokens.T.flatten()
    inputs = direction.step.input_gates[direction.kind[rows]]
    before = direction.rows_before(rows)
    gates = torch.addmm(inputs, direction.state[before], direction.step.weight).sigmoid_()
    # The step doubles what leads to the candidate, which is 2 x its gate - 1.
    enter, keep, candidate, leave = gates.chunk(4, -1)
    tanh = direction.memory[rows].mul_(2).sigmoid_().mul_(2).sub_(1)
    from_cell = torch.stack(
        [
            _slope(enter).mul_(candidate.mul(2).sub_(1)),
            _slope(keep).mul_(direction.memory[before]),
            _slope(candidate).mul_(enter).mul_(2),
        ],
        1,
    )
    from_state, to_cell = _slope(leave).mul_(tanh), torch.addcmul(leave, leave, tanh.square_(), value=-1)
    parts = (from_cell, from_state, to_cell, keep, inputs.sub_(_bias(direction)))
    shape = (tokens.shape[1], tokens.shape[0])
    return _Known(*(part.unflatten(0, shape) for part in parts))


def _slope(gates: Float[Tensor, "token units"]) -> Float[Tensor, "token units"]:
    """The derivative of a sigmoid, from its value."""
    return torch.addcmul(gates, gates, gates, value=-1)


def _bias(direction: Direction) -> Float[Tensor, " gates"]:
    """What the gates have without any input, as the step has them."""
    network = direction.network
    return recurrent_step(network, direction.state.new_zeros(1, network.input_size)).input_gates[0]


def _backward(
    direction: Direction,
    known: _Known,
    slopes: Float[Tensor, "way batch time units"],
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "way batch time"]:
    """Gradient x input of each token, from the last to the first."""
    ways, batch, time, units = slopes.shape
    weight, by_time = direction.step.weight.T.contiguous(), slopes.permute(2, 1, 0, 3).contiguous()
    result = slopes.new_zeros(time, batch, ways)
    state, cell = slopes.new_zeros(2, batch, ways, units)
    gates = slopes.new_empty(batch, ways, 4, units)
    counts = (lengths[None] > torch.arange(time, device=lengths.device)[:, None]).sum(1).tolist()
    for step in range(time - 1, -1, -1):
        some = slice(0, counts[step])
        from_cell, from_state, to_cell, keep, inputs = (
            part[step, some, None]
            for part in (known.from_cell, known.from_state, known.to_cell, known.keep, known.inputs)
        )
        into_state, own = state[some].add_(by_time[step, some]), gates[some]
        into_cell = cell[some].addcmul_(into_state, to_cell)
        torch.mul(from_cell, into_cell[:, :, None], out=own[:, :, :3])
        torch.mul(from_state, into_state, out=own[:, :, 3])
        result[step, some] = (own.flatten(2) @ inputs.transpose(1, 2))[..., 0]
        torch.mm(own.view(-1, 4 * units), weight, out=into_state.view(-1, units))
        into_cell.mul_(keep)
    return result.permute(2, 1, 0)
