"""Weights by their logarithms, and sums over what is left of them, however small it is."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

# Log weights of a row that differ by less than this share a scale: exp(-600) is far above the least double.
SHARED_SCALE = 600.0


class ScaledSums(NamedTuple):
    """The sums themselves are `sums` x exp(`log_scale`)."""

    sums: Float[Tensor, "batch item column"]
    log_scale: Float[Tensor, "batch #item #column"]


def log_weights(attention: Float[Tensor, "*batch item"]) -> Float[Tensor, "*batch item"]:
    """The natural logarithm of attention, in float64; -infinity where the weight is 0.

    A softmax in floats turns the weights of a sharp attention into 0; `log_softmax` of its scores keeps their shape.

    >>> log_weights(torch.tensor([[1.0, 0.0]]))
    tensor([[0., -inf]], dtype=torch.float64)
    """
    weight = attention.double()
    if not (weight >= 0).all():
        raise ValueError(
            f"attention must not be negative or NaN; its least weight is {float(weight.min()):.4g}. "
            "Did you pass scores instead of weights?"
        )
    return weight.log()


def checked_log_attention(
    log_attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item"]:
    """Log weights in float64, -infinity where an item or its weight is missing; raises if they are not numbers.

    >>> checked_log_attention(torch.tensor([[5.0, 3.0, 9.0]]), torch.tensor([[True, True, False]]))
    tensor([[5., 3., -inf]], dtype=torch.float64)
    >>> checked_log_attention(torch.tensor([[float("nan")]]), torch.tensor([[True]]))
    Traceback (most recent call last):
    ValueError: log_attention must be finite, or -inf for no weight; item 0 of row 0 has nan. Take ...
    """
    log_weight = log_attention.double().where(items, -torch.inf)
    # Written so that a NaN, which compares False with everything, is refused as well.
    wrong = ~(log_weight < torch.inf)
    if wrong.any():
        row, item = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"log_attention must be finite, or -inf for no weight; item {item} of row {row} has "
            f"{float(log_weight[row, item])}. Take log_weights(attention), or the scores before the softmax."
        )
    return log_weight


def shares(log_weight: Float[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """The weights, made to sum to 1; all 0 in a row without any weight."""
    return log_weight.softmax(-1).where(log_weight > -torch.inf, 0.0)


def log_sum(
    log_weight: Float[Tensor, "batch item"], values: Float[Tensor, "batch item column"]
) -> Float[Tensor, "batch column"]:
    """The logarithm of the sum of weights x values, none of which is negative; -infinity where it is 0.

    >>> log_sum(torch.tensor([[0.0, -5000.0]]), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]]))
    tensor([[-5000.,     0.]])
    """
    if share_a_scale(log_weight.unsqueeze(-1)):
        top = log_weight.amax(-1, keepdim=True)
        return torch.einsum("bi,bic->bc", (log_weight - top).exp().nan_to_num(0.0), values).log() + top
    return (log_weight.unsqueeze(-1) + values.log()).logsumexp(1)


def suffix_sums(
    log_weight: Float[Tensor, "batch item #column"], values: Float[Tensor, "batch item column"]
) -> ScaledSums:
    """At each place, the sum of weights x values from there to the end; nothing is subtracted, so no digits are lost.

    >>> sums, log_scale = suffix_sums(torch.tensor([[[0.0], [-5000.0]]]), torch.tensor([[[2.0], [3.0]]]))
    >>> sums[0, :, 0], log_scale[0, :, 0]  # the second is on another scale
    (tensor([2., 3.]), tensor([    0., -5000.]))
    """
    if share_a_scale(log_weight):
        top = log_weight.amax(1, keepdim=True)
        # -inf - -inf: a row without any weight.
        weighted = (log_weight - top).exp().nan_to_num(0.0) * values
        return ScaledSums(weighted.flip(1).cumsum(1).flip(1), top)
    return _running_scale(log_weight, values)


def log_suffix_sums(
    log_weight: Float[Tensor, "batch item #column"], values: Float[Tensor, "batch item column"]
) -> Float[Tensor, "batch item column"]:
    """The logarithm of the suffix sums of values none of which is negative; -infinity where they are 0.

    >>> log_suffix_sums(torch.tensor([[[0.0], [-5000.0]]]), torch.tensor([[[0.0], [1.0]]]))
    tensor([[[-5000.], [-5000.]]])
    """
    if not share_a_scale(log_weight):
        # A heavy item that adds nothing must not set the scale.
        log_weight = log_weight.where(values > 0, -torch.inf)
    sums, scale = suffix_sums(log_weight, values)
    return sums.log() + scale.where(sums > 0, 0.0)


def share_a_scale(log_weight: Float[Tensor, "batch item column"]) -> bool:
    """Whether the weights of each row are near enough to each other for a single scale."""
    least = log_weight.where(log_weight > -torch.inf, torch.inf).amin(1)
    return bool((log_weight.amax(1) - least < SHARED_SCALE).all())


def _running_scale(
    log_weight: Float[Tensor, "batch item #column"], values: Float[Tensor, "batch item column"]
) -> ScaledSums:
    """Suffix sums, each on the scale of the largest weight in it; what each place sums doubles at every step."""
    sums, scale = values.where(log_weight > -torch.inf, 0.0), log_weight
    step = 1
    while step < values.shape[1]:
        other_sums, other_scale = (
            pad(sums[:, step:], (0, 0, 0, step)),
            pad(scale[:, step:], (0, 0, 0, step), value=-torch.inf),
        )
        larger = torch.maximum(scale, other_scale)
        finite = larger.where(larger > -torch.inf, 0.0)
        sums = sums * (scale - finite).exp() + other_sums * (other_scale - finite).exp()
        scale, step = larger, 2 * step
    return ScaledSums(sums, scale)
