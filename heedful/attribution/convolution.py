"""Leave-one-out through convolutions: only the states within reach of the gap change."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.attribution.linear_parts import mapped, scoring_of
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders.cnn import Cnn
from heedful.types import Trace


def contexts_without_each(
    model: AttentionModel, trace: Trace, imposed: Float[Tensor, "batch item"] | None
) -> Float[Tensor, "batch item hidden"]:
    """The weighted sum of states without each item in turn; NaN if nothing is left.

    A filter of width w sees the gap from w - 1 positions. The output of each of its taps on each token is computed
    once; the state at a position beside the gap is another sum of these outputs.

    Args:
        imposed: log weights to weigh states by, instead of attention.
    """
    assert isinstance(model.encoder, Cnn)
    items = trace.encoded.items
    near = states_beside_gap(model.encoder, trace.embedded, trace.batch.mask)
    whole = trace.scores / model.temperature if imposed is None else imposed
    grid = whole.masked_fill(~items, -torch.inf)[:, None].repeat(1, items.shape[1], 1)
    grid.diagonal(0, 1, 2).fill_(-torch.inf)
    scoring = scoring_of(model.attention, model.temperature, trace.encoded, trace.scores)
    text = torch.arange(len(items), device=items.device).repeat_interleave(items.shape[1])
    for offset, states in near.items():
        if imposed is None:
            projected = mapped(scoring.weight, states.flatten(0, 1), text).unflatten(0, items.shape)
            scores = scoring.readout(projected + scoring.constant).masked_fill(~items, -torch.inf)
            grid.diagonal(offset, 1, 2).copy_(_within(scores, offset))
    attention = grid.softmax(-1)
    weights = {offset: attention.diagonal(offset, 1, 2).clone() for offset in near}
    for offset in near:
        attention.diagonal(offset, 1, 2).fill_(0.0)
    contexts = attention @ trace.encoded.hidden
    for offset, states in near.items():
        first, weight = max(0, -offset), weights[offset]
        contexts[:, first : first + weight.shape[1]] += weight[..., None] * _within(states, offset)
    return contexts


def states_beside_gap(
    encoder: Cnn, vectors: Float[Tensor, "batch item embed"], mask: Bool[Tensor, "batch item"]
) -> dict[int, Float[Tensor, "batch item hidden"]]:
    """For each offset within reach, the state at every position when the item that far before it is left out.

    An offset is the position of the state minus that of the gap, so a negative offset lies before the gap.
    """
    vectors = vectors * mask[..., None]
    filters = [conv for conv in encoder.filters if isinstance(conv, nn.Conv1d)]
    reach = max(conv.kernel_size[0] for conv in filters) // 2
    taps = [_taps(conv, vectors) for conv in filters]

    def states(offset: int) -> Tensor:
        sums = [_sum_of_taps(own, conv, offset) for own, conv in zip(taps, filters, strict=True)]
        return torch.cat(sums, -1).relu()

    return {offset: states(offset) for offset in range(-reach, reach + 1) if offset != 0}


def _taps(conv: nn.Conv1d, vectors: Float[Tensor, "batch item embed"]) -> list[Float[Tensor, "batch padded filters"]]:
    """The output of each tap on each token, with zeros around the text as far as a tap can see past a gap."""
    width = conv.kernel_size[0]
    outputs = nn.functional.linear(vectors, conv.weight.permute(2, 0, 1).flatten(0, 1))
    padded = nn.functional.pad(outputs, (0, 0, width // 2 + 1, width // 2 + 1))
    return list(padded.chunk(width, -1))


def _sum_of_taps(
    taps: list[Float[Tensor, "batch padded filters"]], conv: nn.Conv1d, offset: int
) -> Float[Tensor, "batch item filters"]:
    """The filter's output at each position when taps at the gap, or beyond it, see one token further."""
    reach = len(taps) // 2
    length = taps[0].shape[1] - 2 * (reach + 1)
    assert conv.bias is not None
    total = conv.bias
    for step, tap in zip(range(-reach, reach + 1), taps, strict=True):
        past = int(offset < 0 and step >= -offset) - int(offset > 0 and step <= -offset)
        begin = reach + 1 + step + past
        total = total + tap[:, begin : begin + length]
    return total


def _within(values: Float[Tensor, "batch item *rest"], offset: int) -> Float[Tensor, "batch within *rest"]:
    """The values at the positions whose gap, `offset` before them, is within the text."""
    return values[:, offset:] if offset > 0 else values[:, :offset]
