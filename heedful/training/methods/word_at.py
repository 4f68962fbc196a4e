"""Adversarial training on words: also predict the label under adversarial embeddings (interpretable: among words)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attacks import Ball, ascend, ball_of, draw, slope
from heedful.exact.ball import steepest_free
from heedful.models.trace import rerun
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import label_loss
from heedful.types import Model, Trace


def word_at(
    step: Step, *, radius: NonNegative = 0.01, norm: str = "linf", steps: Count = 10, weight: NonNegative = 1.0
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same on embeddings perturbed by projected gradient ascent.

    Word-AT of Hu et al. (2023), as in their code: from a random start in the ball, `steps` steps of 2 radius / steps.
    They ascend |p - label|, we the loss itself; for two classes and linf the steps are the same. Their clamp of every
    coordinate to [0, 1] is left out.

    Args:
        radius: of the ball around a text's embeddings; for l1 and l2 all words of the text share one ball.
    """
    trace = step.trace
    worst = rerun(step.model, trace, worst_change(step.model, trace, ball_of(radius, norm), step.generator, steps))
    return label_loss(trace.logits, trace) + weight * label_loss(worst.logits, trace)


def worst_change(
    model: Model,
    trace: Trace,
    ball: Ball,
    generator: torch.Generator,
    steps: int,
    keep: Callable[[Tensor], Tensor] = lambda change: change,
) -> Float[Tensor, "batch time embed"]:
    """The change of the embeddings in the ball that projected gradient ascent on the label's loss ends at."""
    movable = trace.batch.mask.unsqueeze(-1).expand_as(trace.embedded)

    def loss(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return label_loss(rerun(model, trace, change).logits, trace)

    start = draw(movable, ball, generator, trace.embedded.dtype)
    return ascend(loss, start, movable, ball, steps=steps, keep=keep)


def word_iat(step: Step, *, size: NonNegative = 1.0, weight: NonNegative = 1.0) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same on embeddings moved along the directions to the text's other words.

    Word i moves by the sum over words k of c_ik d_ik, where d_ik is the unit vector from i to k; the coefficients of a
    text are one step along the gradient of its loss, c = size x gradient / |gradient|.

    Sato et al. (2018, arXiv:1805.02917) draw the directions from the vocabulary; Hu et al. (2023) take eight random
    words of the same text, we all of them, so nothing is random.
    """
    trace = step.trace

    def loss(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return label_loss(rerun(step.model, trace, change).logits, trace)

    gradient = slope(loss, torch.zeros_like(trace.embedded))
    change = towards_words(trace.embedded.detach(), gradient, trace.batch.mask, size)
    return label_loss(trace.logits, trace) + weight * loss(change)


def towards_words(
    embedded: Float[Tensor, "batch time embed"],
    gradient: Float[Tensor, "batch time embed"],
    mask: Bool[Tensor, "batch time"],
    size: float,
) -> Float[Tensor, "batch time embed"]:
    """The change of the embeddings whose coefficients, of l2 norm `size` per text, raise the loss the most.

    >>> embedded, mask = torch.tensor([[[0.0, 0.0], [2.0, 0.0]]]), torch.tensor([[True, True]])
    >>> towards_words(embedded, torch.tensor([[[1.0, 5.0], [0.0, 5.0]]]), mask, 0.5)  # the second can only move left
    tensor([[[0.5000, 0.0000],
             [0.0000, 0.0000]]])
    """
    # Not by matrix products: rounding there gives two equal words a distance, and so a direction.
    distance = torch.cdist(embedded, embedded, compute_mode="donot_use_mm_for_euclid_dist")
    pairs = mask.unsqueeze(2) & mask.unsqueeze(1) & (distance > 0)
    distance = distance.where(pairs, 1.0)
    along = (gradient @ embedded.mT - (gradient * embedded).sum(-1, keepdim=True)) / distance
    step = steepest_free(along.flatten(1), pairs.flatten(1), size, "l2").reshape(along.shape) / distance
    return step @ embedded - step.sum(-1, keepdim=True) * embedded


METHOD = Method(word_at)
METHOD_IAT = Method(word_iat)
