"""Adversarial training on words: also predict the label under adversarial embeddings (interpretable: among words)."""

from collections.abc import Callable
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from heedful.attacks import Ball, ascend, ball_of, draw, on_surface, slope
from heedful.exact.ball import steepest_free
from heedful.models.abilities import own_parts
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


def word_iat(
    step: Step,
    *,
    size: NonNegative = 1.0,
    radius: NonNegative = 0.0,
    dictionary: Annotated[int, Field(ge=0)] = 0,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same on embeddings moved along the directions to other words.

    Word i moves by the sum over words k of c_ik d_ik, where d_ik is the unit vector from i to k; the coefficients of a
    text are one step along the gradient of its loss, c = size x gradient / |gradient|.

    Sato et al. (2018, arXiv:1805.02917) and the text of Hu et al. (2023) take the directions to words of the
    dictionary; the code of Hu et al. takes eight random words of the same text, with coefficients that are random, too.

    Args:
        radius: if not 0, the change is scaled so that its largest coordinate is this: the ball of `word_at`.
        dictionary: directions go to so many words of the vocabulary, drawn for each batch; 0: to the text's own words.
    """
    trace, model = step.trace, own_parts(step.model)

    def loss(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return label_loss(rerun(step.model, trace, change).logits, trace)

    gradient = slope(loss, torch.zeros_like(trace.embedded))
    embedded, mask = trace.embedded.detach(), trace.batch.mask
    others, known = embedded, mask
    if dictionary and model is not None:
        drawn = torch.randint(len(model.word_vectors), (dictionary,), generator=step.generator)
        others = model.word_vectors.detach()[drawn.to(embedded.device)].expand(len(mask), -1, -1)
        known = mask.new_ones(others.shape[:2])
    change = towards_words(embedded, gradient, mask, size, others, known)
    if radius:
        change = on_surface(change, Ball(radius, "linf"))
    return label_loss(trace.logits, trace) + weight * loss(change)


def towards_words(
    embedded: Float[Tensor, "batch time embed"],
    gradient: Float[Tensor, "batch time embed"],
    mask: Bool[Tensor, "batch time"],
    size: float,
    others: Float[Tensor, "batch other embed"],
    known: Bool[Tensor, "batch other"],
) -> Float[Tensor, "batch time embed"]:
    """The change of the embeddings whose coefficients, of l2 norm `size` per text, raise the loss the most.

    >>> own, mask = torch.tensor([[[0.0, 0.0], [2.0, 0.0]]]), torch.tensor([[True, True]])
    >>> gradient = torch.tensor([[[1.0, 5.0], [0.0, 5.0]]])
    >>> towards_words(own, gradient, mask, 0.5, own, mask)  # the second can only move left
    tensor([[[0.5000, 0.0000],
             [0.0000, 0.0000]]])
    """
    # Not by matrix products: rounding there gives two equal words a distance, and so a direction.
    distance = torch.cdist(embedded, others, compute_mode="donot_use_mm_for_euclid_dist")
    pairs = mask.unsqueeze(2) & known.unsqueeze(1) & (distance > 0)
    distance = distance.where(pairs, 1.0)
    along = (gradient @ others.mT - (gradient * embedded).sum(-1, keepdim=True)) / distance
    step = steepest_free(along.flatten(1), pairs.flatten(1), size, "l2").reshape(along.shape) / distance
    return step @ others - step.sum(-1, keepdim=True) * embedded


METHOD = Method(word_at)
METHOD_IAT = Method(word_iat)
