"""Separation of two groups of items by a value (AUROC)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def shares_below(
    values: Float[Tensor, "*batch item"], others: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch item"]:
    """For each item the share of the other group's items with a smaller value; equal ones count half.

    The mean over a group is the area under the ROC curve (AUROC): the probability that a member of the group has a
    larger value than a member of the other. 1 where the group is entirely above the other, .5 where the two are mixed
    or all equal. NaN where the other group is empty, or the item's value is NaN. In float64.

    Args:
        others: True on the other group's items.

    >>> values = torch.tensor([[3.0, 1.0, 2.0, 2.0]])
    >>> shares_below(values, torch.tensor([[False, True, False, True]]))
    tensor([[1.0000, 0.2500, 0.7500, 0.7500]], dtype=torch.float64)
    """
    undefined = values.isnan()
    others = others & ~undefined
    # Infinity, so that items outside the other group are below nothing; an infinite value only ties with them.
    ranked = values.double().masked_fill(~others, torch.inf).sort(-1).values.contiguous()
    asked = values.double().masked_fill(undefined, 0.0).contiguous()
    count = others.sum(-1, keepdim=True).double()
    below, not_above = (torch.searchsorted(ranked, asked, right=right).double() for right in (False, True))
    return ((below + not_above.minimum(count)) / (2 * count)).masked_fill(undefined, torch.nan)
