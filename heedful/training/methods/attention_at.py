"""Adversarial training for attention: also predict the label under adversarial attention scores, or weights."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import ascend, ball_of, draw, slope, tilt
from heedful.exact.ball import steepest_free
from heedful.models.trace import detached
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def attention_at(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    size: NonNegative = 1.0,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same after one step of the scores along the gradient of the text's loss.

    change = size x gradient / |gradient|, added before the softmax.

    Kitada and Iyatomi (2021, arXiv:2009.12064); `size` is the xi of their code, which has no default for it.
    """
    change = steepest_free(score_slope(model, trace), trace.encoded.items, size, "l2")
    logits = model.decode(trace.encoded, tilt(trace.attention, change))
    at_worst = cross_entropy(logits, trace.batch.labels, reduction="none")
    return vanilla(model, trace, reference, generator) + weight * at_worst


def attention_at_weights(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    radius: NonNegative = 0.001,
    norm: str = "linf",
    steps: Count = 10,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with attention weights perturbed by projected gradient ascent.

    Attention-AT of Hu et al. (2023), as in their code but without its clamp to [0, 1]: the perturbed weights are not
    renormalised to sum to 1.
    """
    ball, items, labels = ball_of(radius, norm), trace.encoded.items, trace.batch.labels
    encoded, attention = detached(trace.encoded), trace.attention.detach()

    def loss(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return cross_entropy(model.decode(encoded, attention + change), labels, reduction="none")

    change = ascend(loss, draw(items, ball, generator, attention.dtype), items, ball, steps=steps)
    logits = model.decode(trace.encoded, trace.attention + change)
    return vanilla(model, trace, reference, generator) + weight * cross_entropy(logits, labels, reduction="none")


def score_slope(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """The gradient of each text's -ln p(label) to its scores; 0 where there is no item."""
    encoded, attention = detached(trace.encoded), trace.attention.detach()

    def loss(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        logits = model.decode(encoded, tilt(attention, change))
        return cross_entropy(logits, trace.batch.labels, reduction="none")

    return slope(loss, torch.zeros_like(attention))


METHOD = Method(attention_at)
METHOD_WEIGHTS = Method(attention_at_weights)
