"""Adversarial training on words: also predict the label under adversarial embeddings."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import Ball, ascend, ball_of, draw
from heedful.models.trace import rerun
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def word_at(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    radius: NonNegative = 0.01,
    norm: str = "linf",
    steps: Count = 10,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same on embeddings perturbed by projected gradient ascent.

    Word-AT of Hu et al. (2023), as in their code: from a random start in the ball, `steps` steps of 2 radius / steps.
    They ascend |p - label|, we the loss itself; for two classes and linf the steps are the same. Their clamp of every
    coordinate to [0, 1] is left out.

    Args:
        radius: of the ball around a text's embeddings; for l1 and l2 all words of the text share one ball.
    """
    worst = rerun(model, trace, worst_change(model, trace, ball_of(radius, norm), generator, steps))
    at_worst = cross_entropy(worst.logits, trace.batch.labels, reduction="none")
    return vanilla(model, trace, reference, generator) + weight * at_worst


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
    labels = trace.batch.labels

    def loss(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return cross_entropy(rerun(model, trace, change).logits, labels, reduction="none")

    start = draw(movable, ball, generator, trace.embedded.dtype)
    return ascend(loss, start, movable, ball, steps=steps, keep=keep)


METHOD = Method(word_at)
