"""Leave-one-out in single precision, and in double precision wherever single precision could decide something.

What tests make of it are ranks, ties and decisions. A recurrent network takes a step in single precision in less than
half the time, and of short texts few words are so close to each other that its rounding matters: these are left out
again in double precision. How far single precision is off is assumed, and the assumption is checked in every batch.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.leave_one_out import leave_one_out_imposed
from heedful.attribution.variants import VariantReader, has_variant_reader, in_precision
from heedful.measures import TIED, total_variation_distance
from heedful.models.attention_model import AttentionModel
from heedful.types import Model, Trace

SHORT = 48
"""Words in a short text. In longer ones many words matter so little that most would be left out twice."""

FEWEST = 16
"""Short texts in a batch for which single precision pays."""

TOKENS = 256
"""Words in a batch for which single precision pays."""

CHECKED = 64
"""One of so many short texts is read in both precisions, whatever its words."""

ERROR = 1e-6
"""By how much logits in single precision may be off, for each unit of the largest of their text and one more."""

SAFETY = 8.0
"""How many root mean squares of the errors seen must fit into the assumed one. The largest of 40,000 was 6 of these."""


@torch.no_grad()
def leave_one_out_to_rank(
    model: Model,
    trace: Trace,
    imposed: Sequence[Float[Tensor, "batch item"]],
    whole: Float[Tensor, "way batch classes"],
) -> Float[Tensor, "way batch item classes"]:
    """As `leave_one_out_imposed`, but for digits that decide nothing.

    Ranks and ties of the items' importances, each way, and the predictions without them are as in double precision.
    Importances are total variation distances, and how much less probable the prediction is without the item. Where
    single precision is seen to be off by more than is assumed, all is in double precision.

    Args:
        whole: the probabilities of the whole texts by attention and under each imposed weighting.
    """
    items = trace.encoded.items
    is_short = (trace.batch.mask.sum(1) <= SHORT)[:, None] & items
    if not pays(trace) or not has_variant_reader(model) or is_short.any(1).sum() < FEWEST:
        return leave_one_out_imposed(model, trace, imposed)
    quick = leave_one_out_imposed(model, trace, imposed, left_out=is_short, precision=torch.float32)
    error = ERROR * (1 + quick.nan_to_num(0.0).abs().amax((0, 2, 3)))
    in_both = _doubtful(quick, whole, is_short, error)
    in_both[::CHECKED] |= is_short[::CHECKED]
    exact = leave_one_out_imposed(model, trace, imposed, left_out=in_both | (items & ~is_short))
    seen = ((quick - exact) / error[:, None, None])[:, in_both].square().nanmean().sqrt()
    left = is_short & ~in_both
    # NaN, where nothing was seen, is no assurance.
    rest = quick if SAFETY * seen <= 1 else leave_one_out_imposed(model, trace, imposed, left_out=left)
    return rest.where(left[..., None], exact)


def quick_reader(model: Model, trace: Trace, reader: VariantReader | None) -> VariantReader | None:
    """A reader of variants in single precision, where that pays; else the one in double precision, if there is one."""
    if reader is None or not isinstance(model, AttentionModel) or not pays(trace):
        return reader
    return in_precision(reader, model, trace, torch.float32)


def pays(trace: Trace) -> bool:
    """Whether single precision pays: texts were read in double precision, and there is enough to read."""
    return trace.logits.dtype == torch.float64 and int(trace.batch.mask.sum()) >= TOKENS


def _doubtful(
    logits: Float[Tensor, "way batch item classes"],
    whole: Float[Tensor, "way batch classes"],
    items: Bool[Tensor, "batch item"],
    error: Float[Tensor, " batch"],
) -> Bool[Tensor, "batch item"]:
    """The items that could have another rank, prediction or sign, in any way, if logits are off by the error.

    Ranks are by total variation distance and by how much less probable the prediction is without the item. The sign is
    that of the latter.
    """
    result = torch.zeros_like(items)
    for own, of_text in zip(logits, whole, strict=True):
        without, is_defined = own.softmax(-1), items & ~own.isnan().any(-1)
        moved = total_variation_distance(without, of_text[:, None].expand_as(without))
        # Where logits are off by e at most, the total variation distance is by e (1 - sum of p^2), to first order.
        off = 1.1 * error * (1 - without.square().sum(-1)).where(is_defined, 0.0).amax(1)
        result |= close_calls(moved, is_defined, off)
        first, second = own.nan_to_num(0.0).topk(2, -1).values.unbind(-1)
        result |= is_defined & (first - second <= 2 * error[:, None])
        sure, decided = of_text.max(-1, keepdim=True)
        lost = sure - without.gather(-1, decided[:, None].expand(-1, without.shape[1], -1))[..., 0]
        result |= close_calls(lost, is_defined, off)
    return result


def close_calls(
    values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"], error: Float[Tensor, " batch"]
) -> Bool[Tensor, "batch item"]:
    """The items whose rank, tie or sign could be another if values are off by the error: near one, or near 0.

    All others keep their distance from every item, also when the values of these are replaced by better ones.

    >>> values, items = torch.tensor([[0.5, 0.1, 0.9, 0.102, 0.0]]), torch.tensor([[True, True, True, True, False]])
    >>> close_calls(values, items, torch.tensor([0.002]))
    tensor([[False,  True, False,  True, False]])
    """
    sizes = values.abs().where(items, 0.0)
    reach = TIED * sizes.amax(1, keepdim=True) + 2 * error[:, None]
    ascending, order = values.where(items, torch.inf).sort(1)
    is_near = ascending.diff(dim=1) <= reach
    near_lower, near_higher = (torch.nn.functional.pad(is_near, sides) for sides in ((1, 0), (0, 1)))
    near_one = torch.zeros_like(items).scatter(1, order, near_lower | near_higher)
    return (near_one | (sizes <= reach)) & items
