"""Which class wins, by what the items contribute for and against it: compared in log space, so that trifles decide too.

With y the decision and k a rival, an item contributes weight x (z_y - z_k). What speaks for y and what speaks for k
are summed apart and only then compared, so nothing cancels: a sum of weights near exp(-5000) decides as any other.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.linear_form import decode
from heedful.exact.log_space import log_sum, shares


class Contest(NamedTuple):
    """What each item speaks for the decision, and for each rival, per unit of weight; one of the two is 0."""

    decision: Int[Tensor, " batch"]
    support: Float[Tensor, "batch item classes"]
    opposition: Float[Tensor, "batch item classes"]


def contest(log_weight: Float[Tensor, "batch item"], logits: Float[Tensor, "batch item classes"]) -> Contest:
    """The decision under all the weights, the first of equal classes, and what speaks for and against it.

    >>> sides = contest(torch.tensor([[0.0, -1.0]]), torch.tensor([[[3.0, 1.0], [0.0, 1.0]]]))
    >>> sides.decision, sides.support[..., 1], sides.opposition[..., 1]
    (tensor([0]), tensor([[2., 0.]]), tensor([[0., 1.]]))
    """
    decision = decode(shares(log_weight), logits).argmax(-1)
    result, tolerance = _against_all(decision, logits), rounding(log_weight)
    # Equal sums may differ by rounding, and then the argmax is not the first of them.
    for _ in range(logits.shape[-1]):
        support, opposition = log_sum(log_weight, result.support), log_sum(log_weight, result.opposition)
        better = beats(support, opposition, decision, tolerance)
        if not better.any():
            break
        decision = better.int().argmax(-1).where(better.any(-1), decision)
        result = _against_all(decision, logits)
    return result


def beats(
    support: Float[Tensor, "batch *item classes"],
    opposition: Float[Tensor, "batch *item classes"],
    decision: Int[Tensor, " batch"],
    tolerance: Float[Tensor, " batch"],
) -> Bool[Tensor, "batch *item classes"]:
    """Whether each class beats the decision, given the logarithms of what speaks for the decision and for the class.

    It must have more on its side; or as much, within the tolerance, where it comes first.
    """
    shape = (-1, *[1] * (support.ndim - 1))
    classes, decision, tolerance = torch.arange(support.shape[-1]), decision.view(shape), tolerance.view(shape)
    return torch.where(classes < decision, opposition >= support - tolerance, opposition > support + tolerance) & (
        classes != decision
    )


def rounding(log_weight: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """How far the logarithm of a sum may be off by rounding alone: of the sum itself, and of the log weights in it."""
    weighted = log_weight.isfinite()
    largest = log_weight.where(weighted, 0.0).abs().amax(-1)
    return (weighted.sum(-1) + 8) * torch.finfo(log_weight.dtype).eps * (1 + largest)


def _against_all(decision: Int[Tensor, " batch"], logits: Float[Tensor, "batch item classes"]) -> Contest:
    lead = logits.gather(-1, decision[:, None, None].expand(-1, logits.shape[1], 1)) - logits
    return Contest(decision, lead.clamp_min(0), lead.clamp_max(0).abs())
