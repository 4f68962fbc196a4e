"""How one group of items stands above another."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def shares_below(
    values: Float[Tensor, "*batch item"], others: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch item"]:
    """For each item the share of the other group's items with a smaller value; equal ones count half.

    The mean over a group is the area under the ROC curve (AUROC): the chance that one of the group has a larger value
    than one of the others. 1 where all of it stand above all of those, .5 where the two are mixed or all alike. NaN
    where there is no other, or the item's value is NaN. In float64.

    Args:
        others: True on the other group's items.

    >>> values = torch.tensor([[3.0, 1.0, 2.0, 2.0]])
    >>> shares_below(values, torch.tensor([[False, True, False, True]]))
    tensor([[1.0000, 0.2500, 0.7500, 0.7500]], dtype=torch.float64)
    """
    undefined = values.isnan()
    others = others & ~undefined
    # Beyond every value, so that who is no other is below nobody; a value of infinity is at most equal to it.
    ranked = values.double().masked_fill(~others, torch.inf).sort(-1).values.contiguous()
    asked = values.double().masked_fill(undefined, 0.0).contiguous()
    count = others.sum(-1, keepdim=True).double()
    below, not_above = (torch.searchsorted(ranked, asked, right=right).double() for right in (False, True))
    return ((below + not_above.minimum(count)) / (2 * count)).masked_fill(undefined, torch.nan)
