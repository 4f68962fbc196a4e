"""Adversarial training for attention: also predict the label under adversarial, or random, scores or weights."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attacks import Objective, ascend, ball_of, draw, on_surface, slope, tilt
from heedful.exact.ball import steepest_free
from heedful.models.trace import detached
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import label_loss
from heedful.types import Model, Trace


def attention_at(step: Step, *, size: NonNegative = 1.0, weight: NonNegative = 1.0) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same after one step of the scores along the gradient of the text's loss.

    change = size x gradient / |gradient|, added before the softmax.

    Kitada and Iyatomi (2021, arXiv:2009.12064); `size` is the xi of their code, which has no default for it.
    """
    trace = step.trace
    change = steepest_free(score_slope(step.model, trace), trace.encoded.items, size, "l2")
    logits = step.model.decode(trace.encoded, tilt(trace.attention, change))
    return label_loss(trace.logits, trace) + weight * label_loss(logits, trace)


def attention_at_weights(
    step: Step, *, radius: NonNegative = 0.001, norm: str = "linf", steps: Count = 10, weight: NonNegative = 1.0
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with attention weights perturbed by projected gradient ascent.

    Attention-AT of Hu et al. (2023), as in their code but without its clamp to [0, 1]: the perturbed weights are not
    renormalised to sum to 1.
    """
    trace = step.trace
    ball, items = ball_of(radius, norm), trace.encoded.items
    start = draw(items, ball, step.generator, trace.attention.dtype)
    change = ascend(_weights_loss(step), start, items, ball, steps=steps)
    logits = step.model.decode(trace.encoded, trace.attention + change)
    return label_loss(trace.logits, trace) + weight * label_loss(logits, trace)


def _weights_loss(step: Step) -> Objective:
    """The loss of each text by how its attention weights are changed."""
    encoded, attention = detached(step.trace.encoded), step.trace.attention.detach()
    return lambda change: label_loss(step.model.decode(encoded, attention + change), step.trace)


def score_slope(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """The gradient of each text's -ln p(label) to its scores; 0 where there is no item."""
    encoded, attention = detached(trace.encoded), trace.attention.detach()

    def loss(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return label_loss(model.decode(encoded, tilt(attention, change)), trace)

    return slope(loss, torch.zeros_like(attention))


def attention_iat(step: Step, *, size: NonNegative = 1.0, weight: NonNegative = 1.0) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with scores moved along their differences to the text's other scores.

    Item i's score moves by the sum over items k of c_ik (score_i - score_k); the coefficients of a text are one step
    up the gradient of its loss, c = size x gradient / |gradient|. So scores that stand out move the most. (If each
    item's differences were scaled to length 1, this would be exactly `attention_at`.)

    After Kitada and Iyatomi (2021, arXiv:2009.12064). In their code the differences are between texts of a batch and
    have no effect, being multiplied by coefficients of 0: what is left is `attention_at` with the step reversed.
    """
    trace = step.trace
    change = along_differences(trace.scores.detach(), score_slope(step.model, trace), trace.encoded.items, size)
    logits = step.model.decode(trace.encoded, tilt(trace.attention, change))
    return label_loss(trace.logits, trace) + weight * label_loss(logits, trace)


def attention_iat_weights(
    step: Step, *, radius: NonNegative = 0.001, norm: str = "linf", weight: NonNegative = 1.0
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with attention weights moved along their differences to the text's others.

    Attention-iAT as Hu et al. (2023, appendix) define it: weight i moves by the sum over items k of
    c_ik (weight_i - weight_k). The coefficients are one step up the gradient of the text's loss, scaled so that the
    change is as large as the ball of `attention_at_weights` lets it be. In their code the coefficients are random: they
    learn through a sign, whose gradient is 0.
    """
    trace = step.trace
    gradient = slope(_weights_loss(step), torch.zeros_like(trace.attention))
    change = along_differences(trace.attention.detach(), gradient, trace.encoded.items, 1.0)
    logits = step.model.decode(trace.encoded, trace.attention + on_surface(change, ball_of(radius, norm)))
    return label_loss(trace.logits, trace) + weight * label_loss(logits, trace)


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


def attention_rp(
    step: Step, *, radius: NonNegative = 0.001, norm: str = "linf", weight: NonNegative = 1.0
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with uniform noise from a ball added to the attention weights.

    Attention-RP of Hu et al. (2023), as in their code: the noisy weights are not renormalised to sum to 1.
    """
    trace = step.trace
    noise = draw(trace.encoded.items, ball_of(radius, norm), step.generator, trace.attention.dtype)
    logits = step.model.decode(trace.encoded, trace.attention + noise)
    return label_loss(trace.logits, trace) + weight * label_loss(logits, trace)


METHOD = Method(attention_at)
METHOD_WEIGHTS = Method(attention_at_weights)
METHOD_IAT = Method(attention_iat)
METHOD_IAT_WEIGHTS = Method(attention_iat_weights)
METHOD_RP = Method(attention_rp)
