"""The smallest set of items whose erasure changes the decision, for any number of classes: exact, by sorting."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.linear_form import checked_item_logits, decode
from heedful.exact.log_space import checked_log_attention, log_suffix_sums, log_sum, shares

# Which class wins, by what the items contribute for and against it: compared in log space, so that trifles decide
# too.
#
# With y the decision and k a rival, an item contributes weight x (z_y - z_k). What supports y and what supports k
# are summed apart and only then compared, so nothing cancels: a sum of weights near exp(-5000) decides as any other.


class Contest(NamedTuple):
    """Each item's support of the decision, and of each rival, per unit of weight; one of the two is 0."""

    decision: Int[Tensor, " batch"]
    support: Float[Tensor, "batch item classes"]
    opposition: Float[Tensor, "batch item classes"]


def contest(log_weight: Float[Tensor, "batch item"], logits: Float[Tensor, "batch item classes"]) -> Contest:
    """The decision under all the weights, the first of equal classes, and what supports and opposes it.

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
    """Whether each class beats the decision, given the logarithms of what supports the decision and the class.

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


@dataclass(frozen=True)
class FlipSet:
    """A smallest set of items without which the decision is another.

    Args:
        size: how many items; NaN if no set changes the decision.
        erased: True on the items of the set; all False if there is no such set.
        mass: the attention of the set; NaN if there is no such set. Another set of the same size may weigh less.
    """

    size: Float[Tensor, " batch"]
    erased: Bool[Tensor, "batch item"]
    mass: Float[Tensor, " batch"]


def minimal_flip_set(
    log_attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
) -> FlipSet:
    """The smallest set of items whose erasure leaves some weight and changes the argmax.

    With y the decision, class k beats y after erasing S if and only if

        sum over the items left of attention x (z_y - z_k) < 0,

    or = 0 where k comes before y, as the first of equal logits wins; dividing by the weight left changes no sign. So
    for each k erase the largest terms first and stop at the first sum that does it; then take the best k. Positive and
    negative terms are summed apart, in log space. Sums that differ only by rounding are equal. O(K T log T), where
    Serrano and Smith (2019, arXiv:1906.03731, section 5.1) call the search over subsets prohibitive.

    Args:
        log_attention: logarithms of the weights, up to a constant for each row, such as the scores before the softmax
            (see `log_weights`); -infinity where an item or its weight is missing.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, 3.0], [0.0, -2.0]]])  # 2 + 0.75 - 0.5; without the first, 0.75 - 0.5
    >>> three = torch.tensor([[True, True, True]])
    >>> minimal_flip_set(torch.tensor([[0.5, 0.25, 0.25]]).log(), logits, three)
    FlipSet(size=tensor([2.], ...), erased=tensor([[ True,  True, False]]), mass=tensor([0.7500], ...))
    """
    log_weight, logits = checked_log_attention(log_attention, items), checked_item_logits(item_logits, items)
    size, order = _smallest_for_each_class(log_weight, contest(log_weight, logits))
    size, rival = size.min(-1)
    erased = _first_of(order.gather(-1, rival[:, None, None].expand(-1, order.shape[1], 1)).squeeze(-1), size)
    exists = size.isfinite()
    mass = shares(log_weight).where(erased, 0.0).sum(-1)
    return FlipSet(size.where(exists, torch.nan), erased, mass.where(exists, torch.nan))


def _smallest_for_each_class(
    log_weight: Float[Tensor, "batch item"], sides: Contest
) -> tuple[Float[Tensor, "batch classes"], Int[Tensor, "batch item classes"]]:
    """How many items must go for each class to win (infinite where it cannot), and the order in which they go."""
    order = (log_weight.unsqueeze(-1) + sides.support.log()).argsort(dim=1, descending=True, stable=True)
    ranked = log_weight.unsqueeze(-1).expand_as(order).gather(1, order)
    # Place m of the sums is what remains when m items are gone: the items that support the class always remain.
    support = log_suffix_sums(ranked, sides.support.gather(1, order))
    opposition = log_sum(log_weight, sides.opposition).unsqueeze(1).expand_as(support)
    wins = beats(support, opposition, sides.decision, rounding(log_weight))
    # With no support and no opposition left it is a tie, if any weight is: that of items that support neither.
    level = (sides.support == 0) & (sides.opposition == 0) & (log_weight > -torch.inf).unsqueeze(-1)
    wins = wins & ((opposition > -torch.inf) | level.any(1, keepdim=True))
    # With none gone the decision stands, whatever rounding.
    wins = wins & (torch.arange(wins.shape[1]) > 0)[None, :, None]
    return wins.int().argmax(1).double().where(wins.any(1), torch.inf), order


def _first_of(order: Int[Tensor, "batch item"], size: Float[Tensor, " batch"]) -> Bool[Tensor, "batch item"]:
    """True at the first `size` positions of an order; nowhere where the size is infinite."""
    gone = (torch.arange(order.shape[-1]) < size.unsqueeze(-1)) & size.isfinite().unsqueeze(-1)
    return torch.zeros_like(gone).scatter(-1, order, gone)
