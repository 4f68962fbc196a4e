"""Logits after items are erased and the remaining weights renormalised: all prefixes of a ranking, all single items."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.linear_form import checked_attention, checked_item_logits, decode

# A weight below this counts as 0, so the remaining sum is either 0 or large enough to divide by.
WEIGHT_FLOOR = 1e-12


@dataclass(frozen=True)
class FirstFlip:
    """When a ranking first changes the decision; all NaN where it never does.

    Args:
        count: how many items were erased by then.
        fraction: count divided by the number of items.
        mass: the attention they had.
    """

    count: Float[Tensor, " batch"]
    fraction: Float[Tensor, " batch"]
    mass: Float[Tensor, " batch"]


def prefix_logits(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    empty_logits: Float[Tensor, "batch classes"],
    ranking: Int[Tensor, "batch item"],
) -> Float[Tensor, "batch item classes"]:
    """Logits after erasing the first 1, 2, ... items of a ranking.

    logits[m] = sum of attention x item_logits over the items left, divided by their attention; empty_logits where
    nothing is left, or only weights below 1e-12.

    Item logits have the bias folded in, which is right because the weights are made to sum to 1 again. All prefixes
    come from a reversed cumulative sum, which subtracts nothing. Serrano and Smith (2019, arXiv:1906.03731,
    sections 2.1 and 5.1) erase and renormalise step by step.

    Args:
        ranking: positions in the order in which they are erased; those without an item last.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> prefix_logits(torch.tensor([[0.75, 0.25]]), logits, torch.tensor([[1.0, 0.0]]), torch.tensor([[0, 1]]))
    tensor([[[ 0., -4.],
             [ 1.,  0.]]], dtype=torch.float64)
    """
    weighted = _weighted(attention, item_logits)
    weighted = weighted.gather(1, ranking.unsqueeze(-1).expand_as(weighted))
    return _divided(_after_here(weighted), empty_logits)


def single_erasure_logits(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    empty_logits: Float[Tensor, "batch classes"],
) -> Float[Tensor, "batch item classes"]:
    """Logits after erasing each item alone; the unchanged logits where there is no item to erase.

    What is left of an item is the sum of all before it and all after it, so nothing is subtracted and no digits are
    lost where an item has nearly all the weight. Serrano and Smith (2019, section 4) erase the top item and a random
    item.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> single_erasure_logits(torch.tensor([[0.75, 0.25]]), logits, torch.tensor([[1.0, 0.0]]))
    tensor([[[ 0., -4.],
             [ 0.,  4.]]], dtype=torch.float64)
    """
    weighted = _weighted(attention, item_logits)
    return _divided(_after_here(weighted.flip(1)).flip(1) + _after_here(weighted), empty_logits)


def first_flip(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    empty_logits: Float[Tensor, "batch classes"],
    ranking: Int[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
) -> FirstFlip:
    """How many items, what fraction of them and what attention go in ranking order before the decision changes.

    The decision is the first largest logit. NaN where even erasing everything changes nothing; a report that counts
    such a ranking as 1.0, or leaves it out, does so itself. Serrano and Smith (2019, section 5.1).

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> two = torch.tensor([[True, True]])
    >>> first_flip(torch.tensor([[0.75, 0.25]]), logits, torch.zeros(1, 2), torch.tensor([[0, 1]]), two)
    FirstFlip(count=tensor([1.], ...), fraction=tensor([0.5000], ...), mass=tensor([0.7500], ...))
    """
    base = checked_attention(attention, items)
    _check_items_first(ranking, items)
    decision = decode(base, checked_item_logits(item_logits, items)).argmax(-1, keepdim=True)
    flipped = prefix_logits(base, item_logits, empty_logits, ranking).argmax(-1) != decision
    place, ever = flipped.int().argmax(-1), flipped.any(-1)
    count = (place + 1).double().where(ever, torch.nan)
    mass = base.gather(-1, ranking).cumsum(-1).gather(-1, place.unsqueeze(-1)).squeeze(-1)
    return FirstFlip(count, count / items.sum(-1), mass.where(ever, torch.nan))


def expectation_over_others(
    values: Float[Tensor, "batch item"] | Bool[Tensor, "batch item"],
    chosen: Int[Tensor, " batch"],
    items: Bool[Tensor, "batch item"],
) -> Float[Tensor, " batch"]:
    """The mean of `values` over the items other than the chosen item; NaN where there is no other.

    The expectation over another item drawn uniformly: exact, where Serrano and Smith (2019, section 4) draw once.

    >>> flips = torch.tensor([[True, True, False, False]])
    >>> expectation_over_others(flips, torch.tensor([0]), torch.tensor([[True, True, True, False]]))
    tensor([0.5000], dtype=torch.float64)
    """
    others = items.scatter(-1, chosen.unsqueeze(-1), False)
    return values.double().where(others, 0.0).sum(-1) / others.sum(-1)


def zero_below_floor(attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """Attention in float64 with every weight below the floor set to 0."""
    weight = attention.double()
    return weight.where(weight >= WEIGHT_FLOOR, 0.0)


def _weighted(
    attention: Float[Tensor, "batch item"], item_logits: Float[Tensor, "batch item classes"]
) -> Float[Tensor, "batch item classes+1"]:
    """Weights x item logits, with the weights themselves appended as an extra class; 0 where there is no weight."""
    weight = zero_below_floor(attention).unsqueeze(-1)
    return torch.cat([weight * item_logits.double().where(weight > 0, 0.0), weight], -1)


def _after_here(values: Float[Tensor, "batch item any"]) -> Float[Tensor, "batch item any"]:
    """The sum of what stands after each place."""
    return torch.nn.functional.pad(values.flip(1).cumsum(1).flip(1)[:, 1:], (0, 0, 0, 1))


def _divided(
    weighted: Float[Tensor, "batch item classes_and_weight"], empty_logits: Float[Tensor, "batch classes"]
) -> Float[Tensor, "batch item classes"]:
    """The weighted logits divided by the weights appended to them; empty logits where these are 0."""
    left = weighted[..., -1:]
    return (weighted[..., :-1] / left.where(left > 0, 1.0)).where(left > 0, empty_logits.double().unsqueeze(1))


def _check_items_first(ranking: Int[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> None:
    # A place without an item must not be followed by a place with an item.
    ranked = items.gather(-1, ranking).int()
    wrong = (ranked.diff(dim=-1) > 0).any(-1)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"ranking must name the positions of items before the others; row {row} does not. "
            "Rank positions without an item last, or the count of erased items would count them too."
        )
