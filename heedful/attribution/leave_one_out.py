"""What the model predicts without each item in turn, by the fastest exact method that the model allows."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.attribution.linear_parts import has_own_parts, mapped, of_contexts, scoring_of
from heedful.attribution.subsets import logits_of_subsets
from heedful.attribution.variants import VariantReader, variant_reader
from heedful.measures import total_variation_distance
from heedful.measures.ranking import TIED
from heedful.models.attention_model import AttentionModel
from heedful.models.encoders.cnn import Cnn
from heedful.types import Model, Trace

CELLS = 2**20
"""Places of shortened texts, over a batch, that are read at a time."""


@torch.no_grad()
def leave_one_out(
    model: Model,
    trace: Trace,
    imposed: Float[Tensor, "batch item"] | None = None,
    *,
    reader: VariantReader | None = None,
) -> Float[Tensor, "batch item classes"]:
    """Logits after each item alone is deleted and the rest is encoded and attended to again; NaN outside items.

    The text gets shorter by the item: a token, or a whole sentence of a hierarchical model. Start and end symbols and
    the query stay. Imposed attention is renormalized to sum to 1. NaN as well where no weight is left (the only item is
    gone, or all that imposed attention weighs): the model's answer to nothing says nothing about the text.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.1, algorithm 1) take as importance the total variation distance
    between the probabilities with and without the item. For Heedful's own encoders there are faster methods than to run
    every shortened text (see `logits_of_subsets`), which is what is done for transformers, where every state depends on
    every other, and for any other model; all are exact. A pretrained encoder (`hf:`) reads the shortened text again,
    too: the word is gone before it reads, not only after it.

    Args:
        trace: what this model, in evaluation mode, computed for a batch.
        imposed: log weights to impose instead of attending again; those of the items that remain are renormalized. NaN
            if none of these has weight.
        reader: reader of variants of these texts, if there is one already.
    """
    items = trace.encoded.items
    if has_own_parts(model) and type(model.encoder) is Cnn:
        logits = of_contexts(model.head, trace.encoded).finish(contexts_without_each(model, trace, imposed))
        # A head may hold the logit of a class at 0, whatever it is given.
        return logits.where((items & ~logits.isnan().any(-1))[..., None], torch.nan)
    reader = reader or variant_reader(model, trace)
    logits = []
    for gaps in torch.arange(items.shape[1], device=items.device).split(max(1, CELLS // items.numel())):
        is_gap = torch.nn.functional.one_hot(gaps, items.shape[1]).bool()
        logits.append(logits_of_subsets(model, trace, items[:, None] & ~is_gap, imposed, reader=reader))
    return torch.cat(logits, 1).masked_fill(~items[..., None], torch.nan)


# Mixed precision: what tests make of leave-one-out are ranks, ties and flips, and few words are close to one.

ERROR = 2e-6
"""By how much logits read in float32 may be off, for each unit of the largest of their text and one more."""


@torch.no_grad()
def leave_one_out_to_rank(
    model: Model, trace: Trace, exact: VariantReader | None, quick: VariantReader | None
) -> Float[Tensor, "batch item classes"]:
    """As `leave_one_out`, in float32 except where that could decide a rank, a tie, a sign or a flip.

    Ranks are by total variation distance, and by how much less probable the prediction is without the item. Everything
    is read in float64 if one of the items read twice is further off than assumed.

    Args:
        exact, quick: readers of variants in float64 and in float32; None if the model has none.
    """
    if exact is None or quick is None:
        return leave_one_out(model, trace, reader=exact)
    items, logits = trace.encoded.items, leave_one_out(model, trace, reader=quick)
    error = ERROR * (1 + logits.nan_to_num(0.0).abs().amax((1, 2)))
    in_both = _close_calls(logits, trace, error)
    most = max(1, int(in_both.sum(1).max()))
    gaps = in_both.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
    is_asked = in_both.gather(1, gaps)
    is_gap = torch.nn.functional.one_hot(gaps, items.shape[1]).bool() & is_asked[..., None]
    again = logits_of_subsets(model, trace, items[:, None] & ~is_gap, reader=exact)
    off = (again - logits.gather(1, gaps[..., None].expand_as(again))).abs().amax(-1)
    if bool((off[is_asked] > error[:, None].expand_as(off)[is_asked]).any()):
        return leave_one_out(model, trace, reader=exact)
    row = torch.arange(len(gaps), device=gaps.device)[:, None].expand_as(gaps)
    logits[row[is_asked], gaps[is_asked]] = again[is_asked]
    return logits


def _close_calls(
    logits: Float[Tensor, "batch item classes"], trace: Trace, error: Float[Tensor, " batch"]
) -> Bool[Tensor, "batch item"]:
    """The items whose rank, tie, sign or prediction could be another if their logits are off by the error."""
    without, whole = logits.softmax(-1), trace.logits.softmax(-1)
    is_defined = trace.encoded.items & ~logits.isnan().any(-1)
    decided = whole.argmax(-1, keepdim=True)
    lost = whole.gather(1, decided) - without.gather(-1, decided[:, None].expand(-1, without.shape[1], -1))[..., 0]
    # Where logits are off by e at most, probabilities are by e (1 - sum of p^2) at most, to first order.
    reach = 1.1 * error * (1 - without.square().sum(-1)).where(is_defined, 0.0).amax(1)
    first, second = logits.nan_to_num(0.0).topk(2, -1).values.unbind(-1)
    result = is_defined & (first - second <= 2 * error[:, None])
    for values in (total_variation_distance(without, whole[:, None].expand_as(without)), lost):
        sizes = values.abs().where(is_defined, 0.0)
        near = TIED * sizes.amax(1, keepdim=True) + 2 * reach[:, None]
        ascending, order = values.where(is_defined, torch.inf).sort(1)
        is_near = ascending.diff(dim=1) <= near
        lower, upper = (torch.nn.functional.pad(is_near, sides) for sides in ((1, 0), (0, 1)))
        near_one = torch.zeros_like(result).scatter(1, order, lower | upper)
        result |= (near_one | (sizes <= near)) & is_defined
    return result


# Through convolutions: only the states within reach of the gap change.


def contexts_without_each(
    model: AttentionModel, trace: Trace, imposed: Float[Tensor, "batch item"] | None
) -> Float[Tensor, "batch item hidden"]:
    """The weighted sum of states without each item in turn; NaN if nothing is left.

    A filter of width w sees the gap from w - 1 positions. The output of each of its taps on each token is computed
    once; the state at a position next to the gap is another sum of these outputs.

    Args:
        imposed: log weights to weigh states by, instead of attention.
    """
    assert type(model.encoder) is Cnn
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
