"""Interpretable adversarial training on words: embeddings move only towards other words of the text."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import slope
from heedful.exact.ball import steepest_free
from heedful.models.trace import rerun
from heedful.settings import NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def word_iat(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    size: NonNegative = 1.0,
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same on embeddings moved along the directions to the text's other words.

    Word i moves by the sum over words k of c_ik d_ik, where d_ik is the unit vector from i to k; the coefficients of a
    text are one step along the gradient of its loss, c = size x gradient / |gradient|.

    Sato et al. (2018, arXiv:1805.02917) draw the directions from the vocabulary; Hu et al. (2023) take eight random
    words of the same text, we all of them, so nothing is random.
    """
    labels = trace.batch.labels

    def loss(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return cross_entropy(rerun(model, trace, change).logits, labels, reduction="none")

    gradient = slope(loss, torch.zeros_like(trace.embedded))
    change = towards_words(trace.embedded.detach(), gradient, trace.batch.mask, size)
    return vanilla(model, trace, reference, generator) + weight * loss(change)


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


METHOD = Method(word_iat)
