"""Leave-one-out through convolutions: only the states within reach of the gap change."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attribution.reading import Reading
from heedful.models.encoders.cnn import Cnn


def contexts(encoder: Cnn, reading: Reading) -> Float[Tensor, "batch item hidden"]:
    """The attention-weighed sum of states without each item in turn; NaN where nothing is left.

    A filter of width w sees the gap from w - 1 places. What each of its taps makes of each token is computed once; the
    state of a place beside the gap is another sum of these.
    """
    near = states_beside_gap(encoder, reading)
    grid = reading.scores.masked_fill(~reading.items, -torch.inf)[:, None].repeat(1, reading.items.shape[1], 1)
    grid.diagonal(0, 1, 2).fill_(-torch.inf)
    for offset, states in near.items():
        grid.diagonal(offset, 1, 2).copy_(_within(_scores(reading, states), offset))
    attention = grid.softmax(-1)
    weights = {offset: attention.diagonal(offset, 1, 2).clone() for offset in near}
    for offset in near:
        attention.diagonal(offset, 1, 2).fill_(0.0)
    context = attention @ reading.hidden
    for offset, states in near.items():
        first, weight = max(0, -offset), weights[offset]
        context[:, first : first + weight.shape[1]] += weight[..., None] * _within(states, offset)
    return context


def states_beside_gap(encoder: Cnn, reading: Reading) -> dict[int, Float[Tensor, "batch item hidden"]]:
    """For each offset within reach, the state at every place when what stands that far before it is left out.

    An offset is the place of the state less the place of the gap, so a negative one is before the gap.
    """
    inputs = reading.inputs * reading.mask[..., None].to(reading.inputs)
    filters = [conv for conv in encoder.filters if isinstance(conv, nn.Conv1d)]
    reach = max(conv.kernel_size[0] for conv in filters) // 2
    taps = [_taps(conv, inputs) for conv in filters]

    def states(offset: int) -> Tensor:
        sums = [_sum_of_taps(each, conv, offset) for each, conv in zip(taps, filters, strict=True)]
        return torch.cat(sums, -1).relu()

    return {offset: states(offset) for offset in range(-reach, reach + 1) if offset != 0}


def _taps(conv: nn.Conv1d, inputs: Float[Tensor, "batch item embed"]) -> list[Float[Tensor, "batch padded filters"]]:
    """What each tap makes of each token, with zeros around the text as far as a tap can see past a gap."""
    width = conv.kernel_size[0]
    made = nn.functional.linear(inputs, conv.weight.permute(2, 0, 1).flatten(0, 1))
    padded = nn.functional.pad(made, (0, 0, width // 2 + 1, width // 2 + 1))
    return list(padded.chunk(width, -1))


def _sum_of_taps(
    taps: list[Float[Tensor, "batch padded filters"]], conv: nn.Conv1d, offset: int
) -> Float[Tensor, "batch item filters"]:
    """What the filter makes of each place when taps that would meet the gap, or see past it, see one token further."""
    reach = len(taps) // 2
    length = taps[0].shape[1] - 2 * (reach + 1)
    assert conv.bias is not None
    total = conv.bias
    for step, tap in zip(range(-reach, reach + 1), taps, strict=True):
        past = int(offset < 0 and step >= -offset) - int(offset > 0 and step <= -offset)
        begin = reach + 1 + step + past
        total = total + tap[:, begin : begin + length]
    return total


def _scores(reading: Reading, states: Float[Tensor, "batch item hidden"]) -> Float[Tensor, "batch item"]:
    """What attention scores states that stand at the places of the items; -inf where there is no item."""
    projected = reading.scoring.project(states.transpose(0, 1), slice(None)).transpose(0, 1)
    return reading.scoring.end(projected + reading.scoring.constant).masked_fill(~reading.items, -torch.inf)


def _within(values: Float[Tensor, "batch item *rest"], offset: int) -> Float[Tensor, "batch within *rest"]:
    """The values of places whose gap, an offset before them, is itself within the text."""
    return values[:, offset:] if offset > 0 else values[:, :offset]
