"""The worst that a bounded perturbation of the weights can do, in closed form.

Perturbed weights need not sum to 1, so the bias must not be folded into what they weigh: with s = item_logits -
empty_logits the logits are empty_logits + sum of attention x s, whatever the weights sum to.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from heedful.exact.ball import (
    Norm,
    steepest_free,
    steepest_in_box,
    steepest_on_simplex,
    steepest_zero_sum,
)
from heedful.exact.linear_form import checked_attention, two_class_margin

Weights = Float[Tensor, "batch item"]
TwoClassLogits = Float[Tensor, "batch item 2"]
EmptyLogits = Float[Tensor, "batch 2"]
Items = Bool[Tensor, "batch item"]


@dataclass(frozen=True)
class WorstCase:
    """What perturbed weights reach, for two classes; u is the logit of class 1 minus that of class 0, p its sigmoid.

    Args:
        low: the least u that is reached; every u up to `high` is.
        high: the largest.
        bce: the largest cross-entropy from p of what is reached, softplus(u') - p u' at the worse end u'.
        kl: the largest divergence from p of what is reached, KL(p || p') = bce - H(p); 0 where nothing moves.
        perturbation: what to add to the weights to reach the worse end.
    """

    low: Float[Tensor, " batch"]
    high: Float[Tensor, " batch"]
    bce: Float[Tensor, " batch"]
    kl: Float[Tensor, " batch"]
    perturbation: Float[Tensor, "batch item"]


def worst_case_free(
    attention: Weights, item_logits: TwoClassLogits, empty_logits: EmptyLogits, items: Items, radius: float, norm: Norm
) -> WorstCase:
    """The worst perturbation of the weights in a ball, where their sum may change.

    u moves by at most radius x the dual norm of s, either way, and the worse end lies towards the decision
    boundary.

    All but `perturbation` is differentiable in attention and in the logits, so a method that trains against the worst
    case needs no inner search. Hu et al. (2023, equation 6) search for it by projected gradient ascent; they take the
    cross-entropy, which is not 0 where nothing moves, so `kl` is the better penalty and has the same gradient in the
    perturbation.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]), torch.zeros(1, 2)  # u = 2; linf: 0.1 x (4 + 4)
    >>> worst = worst_case_free(torch.tensor([[0.75, 0.25]]), logits, empty, torch.tensor([[True, True]]), 0.1, "linf")
    >>> worst.low, worst.high, worst.perturbation
    (tensor([1.2000], ...), tensor([2.8000], ...), tensor([[-0.1000,  0.1000]], ...))
    """
    _, score, logit = _unfolded(attention, item_logits, empty_logits, items)
    up = steepest_free(score.detach(), items, radius, norm)
    return _assessed(score, logit, up, -up)


def worst_case_zero_sum(
    attention: Weights, item_logits: TwoClassLogits, empty_logits: EmptyLogits, items: Items, radius: float, norm: Norm
) -> WorstCase:
    """The worst perturbation in a ball that keeps the sum of the weights; they may turn negative.

    u moves by at most radius x the distance of s from a constant in the dual norm: from its mean (l2), its median
    (linf), or half its range (l1). Differentiable as `worst_case_free` is.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]), torch.zeros(1, 2)  # u = 2; l1: 0.1 x (4 - -4) / 2
    >>> worst_case_zero_sum(torch.tensor([[0.75, 0.25]]), logits, empty, torch.tensor([[True, True]]), 0.1, "l1").low
    tensor([1.6000], dtype=torch.float64)
    """
    _, score, logit = _unfolded(attention, item_logits, empty_logits, items)
    up = steepest_zero_sum(score.detach(), items, radius, norm)
    return _assessed(score, logit, up, -up)


def worst_case_in_box(
    attention: Weights, item_logits: TwoClassLogits, empty_logits: EmptyLogits, items: Items, radius: float, norm: Norm
) -> WorstCase:
    """The worst perturbation in a ball that leaves every weight between 0 and 1; their sum may change.

    What u reaches is not symmetric about u, so both ends are compared: the worse end often lies away from the
    decision boundary. The gradient does not know that the bounds move with the attention.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]), torch.zeros(1, 2)  # nothing to take from the second
    >>> worst_case_in_box(torch.tensor([[1.0, 0.0]]), logits, empty, torch.tensor([[True, True]]), 0.1, "linf").high
    tensor([4.], dtype=torch.float64)
    """
    base, score, logit = _unfolded(attention, item_logits, empty_logits, items)
    up, down = (steepest_in_box(way * score.detach(), base.detach(), items, radius, norm) for way in (1, -1))
    return _assessed(score, logit, up, down)


def worst_case_on_simplex(
    attention: Weights, item_logits: TwoClassLogits, empty_logits: EmptyLogits, items: Items, radius: float, norm: Norm
) -> WorstCase:
    """The worst perturbation in a ball that leaves a distribution: no weight negative, the sum kept.

    Both ends are compared, and the gradient falls short, as in `worst_case_in_box`.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]), torch.zeros(1, 2)  # 0.1 goes over from the first
    >>> worst_case_on_simplex(torch.tensor([[1.0, 0.0]]), logits, empty, torch.tensor([[True, True]]), 0.2, "l1").low
    tensor([3.2000], dtype=torch.float64)
    """
    base, score, logit = _unfolded(attention, item_logits, empty_logits, items)
    up, down = (steepest_on_simplex(way * score.detach(), base.detach(), items, radius, norm) for way in (1, -1))
    return _assessed(score, logit, up, down)


def _unfolded(
    attention: Weights, item_logits: TwoClassLogits, empty_logits: EmptyLogits, items: Items
) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"], Float[Tensor, " batch"]]:
    """Attention, each item's score without the bias, and the logit."""
    base = checked_attention(attention, items)
    empty = (empty_logits[:, 1].double() - empty_logits[:, 0].double()).unsqueeze(-1)
    score = (two_class_margin(item_logits, items) - empty).where(items, 0.0)
    return base, score, (base * score).sum(-1) + empty.squeeze(-1)


def _assessed(
    score: Float[Tensor, "batch item"],
    logit: Float[Tensor, " batch"],
    up: Float[Tensor, "batch item"],
    down: Float[Tensor, "batch item"],
) -> WorstCase:
    """The two ends, and which is worse.

    The perturbations are constants to autograd, and yet the gradient of score x perturbation is that of the largest
    shift: the maximum of linear functions has the gradient of the function that attains it.
    """
    rise, fall = (score * up).sum(-1), (score * down).sum(-1)
    p, high, low = logit.sigmoid(), logit + rise, logit + fall
    at_base, at_high, at_low = (_cross_entropy(p, reached) for reached in (logit, high, low))
    # Of two equally distant ends the end towards the boundary is worse, although for small shifts by less than
    # rounding.
    even = torch.isclose(rise, -fall, rtol=1e-9, atol=0.0)
    low_is_worse = torch.where(even, logit >= 0, at_low >= at_high)
    bce = torch.where(low_is_worse, at_low, at_high)
    return WorstCase(low, high, bce, bce - at_base, torch.where(low_is_worse.unsqueeze(-1), down, up))


def _cross_entropy(p: Float[Tensor, " batch"], logit: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """softplus(logit) - p x logit; the softplus of torch would be off by 2e-9 from 20 on."""
    return -logsigmoid(-logit) - p * logit
