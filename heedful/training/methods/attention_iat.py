"""Interpretable adversarial training for attention: scores move along their differences within the text."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import tilt
from heedful.exact.ball import steepest_free
from heedful.settings import NonNegative
from heedful.training.methods.attention_at import score_slope
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def attention_iat(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    size: NonNegative = 1.0,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with scores moved along their differences to the text's other scores.

    Item i's score moves by the sum over items k of c_ik (score_i - score_k); the coefficients of a text are one step
    up the gradient of its loss, c = size x gradient / |gradient|. So scores that stand out move the most. (If each
    item's differences were scaled to length 1, this would be exactly `attention_at`.)

    After Kitada and Iyatomi (2021, arXiv:2009.12064). In their code the differences are between texts of a batch and
    have no effect, being multiplied by coefficients of 0: what is left is `attention_at` with the step reversed.
    """
    change = along_differences(trace.scores.detach(), score_slope(model, trace), trace.encoded.items, size)
    logits = model.decode(trace.encoded, tilt(trace.attention, change))
    at_worst = cross_entropy(logits, trace.batch.labels, reduction="none")
    return vanilla(model, trace, reference, generator) + weight * at_worst


def along_differences(
    scores: Float[Tensor, "batch item"],
    gradient: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    size: float,
) -> Float[Tensor, "batch item"]:
    """The change of the scores whose coefficients, of l2 norm `size` per text, raise the loss the most.

    >>> three = torch.tensor([[True, True, True]])
    >>> along_differences(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([[3.0, 0.0, 0.0]]), three, 1.0)  # sqrt(8)
    tensor([[2.8284, 0.0000, 0.0000]])
    """
    pairs = items.unsqueeze(2) & items.unsqueeze(1)
    difference = (scores.unsqueeze(2) - scores.unsqueeze(1)).where(pairs, 0.0)
    along = gradient.unsqueeze(2) * difference
    step = steepest_free(along.flatten(1), pairs.flatten(1), size, "l2").reshape(along.shape)
    return (step * difference).sum(-1)


METHOD = Method(attention_iat)
