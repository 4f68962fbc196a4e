"""Input gradients of an LSTM by hand, for several weightings of the same states: nothing is read forward again.

As gradient x input is asked for alone, (gates' gradient x weight) . input = gates' gradient . (weight x input): the
projection of the inputs, which is known, too.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attribution.items import of_similar_length
from heedful.attribution.prefix_tree import Direction
from heedful.attribution.recurrent_step import recurrent_step
from heedful.attribution.reuse.lstm_backward import gate_slopes, steps_back
from heedful.attribution.variants import VariantReader
from heedful.models.encoders.recurrent import reversal
from heedful.types import Trace

TOKENS = 2**14
"""Tokens whose gates are kept at a time."""


def is_lstm(reader: VariantReader | None) -> bool:
    """Whether every direction is an LSTM."""
    return reader is not None and all(type(direction.network) is nn.LSTM for direction in reader.directions)


@torch.no_grad()
def gradients_x_input(
    reader: VariantReader,
    trace: Trace,
    weights: Float[Tensor, "way batch item"],
    slopes: Float[Tensor, "way batch hidden"],
) -> Float[Tensor, "way batch item"]:
    """The gradient of something with respect to each token's embedding, times that embedding; 0 where there is none.

    Args:
        weights: of the states whose weighted sum it depends on, in several ways.
        slopes: its derivatives to that sum.
    """
    mask, result = trace.batch.mask, weights.new_zeros(weights.shape)
    start = mask.sum(1).cumsum(0) - mask.sum(1)
    for some in of_similar_length(mask.sum(1), TOKENS):
        place = torch.arange(int(mask[some].sum(1).max()), device=mask.device)
        # Longest first, so that the texts that are still being read are always the first.
        tokens = (start[some, None] + place).clamp_max(reader.count - 1)
        own_mask = mask[some, : len(place)]
        own_weights = weights[:, some, : len(place)] * own_mask
        for direction in reader.directions:
            order = reversal(own_mask) if direction.backward else place.expand_as(own_mask)
            ordered = own_weights.gather(2, order.expand_as(own_weights))
            own_slopes = slopes[:, some, direction.own]
            products = _products(direction, tokens.gather(1, order), ordered, own_slopes, own_mask.sum(1))
            result[:, some, : len(place)] += products.gather(2, order.expand_as(products))
    return result


def _bias(direction: Direction) -> Float[Tensor, " gates"]:
    """What the gates have without any input, as the step has them."""
    network = direction.network
    return recurrent_step(network, direction.state.new_zeros(1, network.input_size)).input_gates[0]


def _products(
    direction: Direction,
    tokens: Int[Tensor, "batch time"],
    weights: Float[Tensor, "way batch time"],
    slopes: Float[Tensor, "way batch units"],
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "way batch time"]:
    """Gradient x input of each token, in reading order."""
    ways, batch, time = weights.shape
    rows = tokens.T.flatten()
    inputs, before = direction.step.input_gates[direction.kind[rows]], direction.rows_before(rows)
    known = gate_slopes(
        inputs,
        direction.step.weight,
        direction.state[before],
        direction.memory[before],
        direction.memory[rows],
        (time, batch),
    )
    inputs = inputs.sub_(_bias(direction)).unflatten(0, (time, batch))
    result = weights.new_zeros(time, batch, ways)
    counts = (lengths[None] > torch.arange(time, device=lengths.device)[:, None]).sum(1).tolist()
    by_time, by_text = weights.permute(2, 1, 0)[..., None].contiguous(), slopes.transpose(0, 1).contiguous()

    def direct(step: int, texts: slice) -> Float[Tensor, "some way units"]:
        return by_time[step, texts] * by_text[texts]

    for back in steps_back(direction.step.weight, known, direct, counts, ways):
        own = inputs[back.time, back.texts, :, None]
        result[back.time, back.texts] = (back.gates.flatten(2) @ own)[..., 0]
    return result.permute(2, 1, 0)
