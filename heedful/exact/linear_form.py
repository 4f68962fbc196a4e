"""The linear form, logits = sum over items of attention x item_logits, checked at the door and taken in float64."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# Softmax in half precision leaves rows up to 1e-3 from 1; scores passed by mistake are further off.
SUM_TOLERANCE = 2e-3


def checked_attention(
    attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item"]:
    """Attention in float64, exactly 0 outside items; raises unless each row is a distribution.

    >>> checked_attention(torch.tensor([[0.75, 0.25, 0.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.7500, 0.2500, 0.0000]], dtype=torch.float64)
    >>> checked_attention(torch.tensor([[2.0, 1.0]]), torch.tensor([[True, True]]))
    Traceback (most recent call last):
    ValueError: attention must sum to 1 over the items of each row; row 0 sums to 3. Did you ...
    """
    weights = attention.double().where(items, 0.0)
    total = weights.detach().sum(-1)
    # Written so that a NaN, which compares False with everything, is refused as well.
    wrong = ~((total - 1).abs() <= SUM_TOLERANCE)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"attention must sum to 1 over the items of each row; row {row} sums to {float(total[row]):.4g}. "
            "Did you pass scores instead of weights?"
        )
    if (weights.detach() < 0).any():
        row = int((weights.detach() < 0).any(-1).nonzero()[0])
        raise ValueError(
            f"attention must not be negative; the least weight of row {row} is {float(weights[row].min()):.4g}. "
            "Did you pass scores instead of weights?"
        )
    return weights


def normalised_attention(
    attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item"]:
    """Checked attention whose rows sum to 1 in float64, however coarse the float they came in.

    Without it a float32 row may decode to a logit that no distribution over its items reaches.
    """
    weights = checked_attention(attention, items)
    return weights / weights.sum(-1, keepdim=True)


def checked_item_logits(
    item_logits: Float[Tensor, "batch item classes"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item classes"]:
    """Item logits in float64, 0 outside items, whatever stood there."""
    return item_logits.double().where(items.unsqueeze(-1), 0.0)


def two_class_margin(
    item_logits: Float[Tensor, "batch item classes"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item"]:
    """Each item's logit of class 1 minus that of class 0; 0 outside items.

    >>> two_class_margin(torch.tensor([[[0.0, 2.0], [1.0, 0.5]]]), torch.tensor([[True, True]]))
    tensor([[ 2.0000, -0.5000]], dtype=torch.float64)
    """
    classes = item_logits.shape[-1]
    if classes != 2:
        raise ValueError(
            f"item_logits must have 2 classes for an exact answer; it has {classes}. "
            "Use eps_max_js_bound, prediction_survives_on_items, or another function that takes any number of classes."
        )
    logits = checked_item_logits(item_logits, items)
    return logits[..., 1] - logits[..., 0]


def decode(
    attention: Float[Tensor, "batch item"], item_logits: Float[Tensor, "batch item classes"]
) -> Float[Tensor, "batch classes"]:
    """Logits of the items weighted by attention.

    >>> decode(torch.tensor([[0.75, 0.25]]), torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]))
    tensor([[0., 2.]])
    """
    return torch.einsum("bi,bic->bc", attention, item_logits)


def item_margins(
    item_logits: Float[Tensor, "batch item classes"], decision: Int[Tensor, " batch"]
) -> Float[Tensor, "batch item"]:
    """How far each item alone prefers the decision to the best of the other classes; negative where it does not.

    >>> item_margins(torch.tensor([[[2.0, 1.0, 0.0], [0.0, 4.0, 5.0]]]), torch.tensor([0]))
    tensor([[ 1., -5.]])
    """
    decided = decision[:, None, None].expand(-1, item_logits.shape[1], 1)
    return item_logits.gather(-1, decided)[..., 0] - item_logits.scatter(-1, decided, -torch.inf).amax(-1)
