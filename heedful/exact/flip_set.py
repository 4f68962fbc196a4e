"""The smallest set of items whose erasure changes the decision, for any number of classes: exact, by sorting."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.erasure import zero_below_floor
from heedful.exact.linear_form import checked_attention, checked_item_logits, decode


@dataclass(frozen=True)
class FlipSet:
    """A smallest set of items without which the decision is another.

    Args:
        size: how many items; NaN where no set changes the decision.
        erased: True on the items of the set; all False where there is none.
        mass: the attention of the set; NaN where there is none. Another set of the same size may weigh less.
    """

    size: Float[Tensor, " batch"]
    erased: Bool[Tensor, "batch item"]
    mass: Float[Tensor, " batch"]


def minimal_flip_set(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    empty_logits: Float[Tensor, "batch classes"],
    items: Bool[Tensor, "batch item"],
) -> FlipSet:
    """The smallest set of items whose erasure, the other weights divided by their sum, changes the argmax.

    With y the decision, class k beats y after erasing S if and only if

        sum over the items left of attention x (z_y - z_k) < 0,

    or = 0 where k comes before y, as the first of equal logits wins; dividing by the weight left changes no sign. So
    for each k erase the largest terms first and stop at the first sum that does it; then take the best k. Erasing every
    weight leaves empty_logits, which may change the decision too. O(K T log T), where Serrano and Smith (2019,
    arXiv:1906.03731, section 5.1) call the search over subsets prohibitive.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, 3.0], [0.0, -2.0]]])  # 2 + 0.75 - 0.5; without the first, 0.75 - 0.5
    >>> three = torch.tensor([[True, True, True]])
    >>> minimal_flip_set(torch.tensor([[0.5, 0.25, 0.25]]), logits, torch.zeros(1, 2), three)
    FlipSet(size=tensor([2.], ...), erased=tensor([[ True,  True, False]]), mass=tensor([0.7500], ...))
    """
    base, logits = checked_attention(attention, items), checked_item_logits(item_logits, items)
    weight = zero_below_floor(base)
    decision = decode(base, logits).argmax(-1)
    size, order = _smallest_for_each_class(weight, logits, decision)
    size, rival = size.min(-1)

    erased = _first_of(order.gather(-1, rival[:, None, None].expand(-1, order.shape[1], 1)).squeeze(-1), size)
    everything = (weight > 0).sum(-1).double()
    by_emptying = (empty_logits.argmax(-1) != decision) & (everything < size)
    size = everything.where(by_emptying, size)
    erased = torch.where(by_emptying.unsqueeze(-1), weight > 0, erased)
    exists = size.isfinite()
    return FlipSet(size.where(exists, torch.nan), erased, base.where(erased, 0.0).sum(-1).where(exists, torch.nan))


def _smallest_for_each_class(
    weight: Float[Tensor, "batch item"],
    logits: Float[Tensor, "batch item classes"],
    decision: Int[Tensor, " batch"],
) -> tuple[Float[Tensor, "batch classes"], Int[Tensor, "batch item classes"]]:
    """How many items must go for each class to win (infinite where it cannot), and the order in which they go."""
    chosen = logits.gather(-1, decision[:, None, None].expand(-1, logits.shape[1], 1))
    terms, order = (weight.unsqueeze(-1) * (chosen - logits)).sort(dim=1, descending=True, stable=True)
    # Summed from the far end: the sums that decide then hold few terms that cancel.
    left = terms.flip(1).cumsum(1).flip(1)
    weight_left = weight.unsqueeze(-1).expand_as(logits).gather(1, order).flip(1).cumsum(1).flip(1)
    classes = torch.arange(logits.shape[-1])
    first_wins_ties = (classes < decision.unsqueeze(-1)).unsqueeze(1)
    wins = ((left < 0) | ((left == 0) & first_wins_ties)) & (weight_left > 0)
    # Place m of `left` is what remains when m items are gone; with none gone the decision stands, whatever rounding.
    wins = wins & (torch.arange(wins.shape[1]) > 0)[None, :, None]
    size = wins.int().argmax(1).double().where(wins.any(1), torch.inf)
    return size.where(classes != decision.unsqueeze(-1), torch.inf), order


def _first_of(order: Int[Tensor, "batch item"], size: Float[Tensor, " batch"]) -> Bool[Tensor, "batch item"]:
    """True at the first `size` positions of an order; nowhere where the size is infinite."""
    gone = (torch.arange(order.shape[-1]) < size.unsqueeze(-1)) & size.isfinite().unsqueeze(-1)
    return torch.zeros_like(gone).scatter(-1, order, gone)
