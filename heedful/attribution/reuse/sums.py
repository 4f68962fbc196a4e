"""A softmax accumulated item by item, for many texts at once: sums that can be joined in any order."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Sums:
    """A softmax accumulated over some items, and the sum of the values that it weighs, for each way to weigh items.

    Args:
        peak: the highest score so far.
        total: the sum of exp(score - peak).
        value: the sum of exp(score - peak) x value.
    """

    peak: Float[Tensor, "row way"]
    total: Float[Tensor, "row way"]
    value: Float[Tensor, "row way size"]

    def select(self, rows: Int[Tensor, " some"]) -> "Sums":
        """The sums of the chosen rows."""
        return Sums(*(part.index_select(0, rows) for part in (self.peak, self.total, self.value)))

    def write(self, rows: Int[Tensor, " some"], sums: "Sums") -> None:
        """Overwrite the chosen rows."""
        self.peak.index_copy_(0, rows, sums.peak)
        self.total.index_copy_(0, rows, sums.total)
        self.value.index_copy_(0, rows, sums.value)


def no_sums(rows: int, ways: int, like: Float[Tensor, "any size"]) -> Sums:
    """Sums over nothing, of values of that size and type."""
    # The lowest finite number and not -inf, so that a difference of peaks is never NaN.
    peak = like.new_full((rows, ways), torch.finfo(like.dtype).min)
    return Sums(peak, torch.zeros_like(peak), like.new_zeros(rows, ways, like.shape[-1]))


def joined(first: Sums, second: Sums) -> Sums:
    """The sums over the items of both."""
    peak = torch.maximum(first.peak, second.peak)
    first_scale, second_scale = (first.peak - peak).exp_(), (second.peak - peak).exp_()
    value = (first.value * first_scale[..., None]).addcmul_(second.value, second_scale[..., None])
    return Sums(peak, (first.total * first_scale).addcmul_(second.total, second_scale), value)


def extended(sums: Sums, scores: Float[Tensor, "item row way"], values: Float[Tensor, "item row size"]) -> Sums:
    """The sums with more items added to each row; a score of -inf is no item."""
    peak = torch.maximum(sums.peak, scores.amax(0))
    fade, weights = (sums.peak - peak).exp_(), (scores - peak).exp_()
    value = torch.baddbmm(sums.value * fade[..., None], weights.permute(1, 2, 0), values.transpose(0, 1))
    return Sums(peak, (sums.total * fade).add_(weights.sum(0)), value)


def onward(scores: Float[Tensor, "row way"], values: Float[Tensor, "row size"], end: Int[Tensor, " row"]) -> Sums:
    """For each token, the sums from it to the end of its text; a last row more has the sums over nothing.

    By doubling: what is known of the next 2^k tokens from each token on is known of twice as many after one `joined`.

    Args:
        end: the row after the last one of the same text.
    """
    rows, ways = scores.shape
    nothing = no_sums(rows + 1, ways, values)
    sums = Sums(nothing.peak.clone(), nothing.total.clone(), nothing.value.clone())
    is_item = scores > -torch.inf
    sums.peak[:-1] = scores.where(is_item, nothing.peak[:-1])
    sums.total[:-1] = is_item.to(scores)
    sums.value[:-1] = is_item[..., None] * values[:, None]
    place = torch.arange(rows, device=end.device)
    reach, longest = 1, int((end - place).max()) if rows else 0
    while reach < longest:
        further = place + reach
        sums = joined(sums, sums.select(torch.cat([further.where(further < end, rows), place.new_tensor([rows])])))
        reach *= 2
    return sums
