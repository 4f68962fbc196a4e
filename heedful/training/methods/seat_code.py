"""The published code of SEAT: adversarial training on words that keeps attention on its top words."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import ball_of
from heedful.models.trace import rerun
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.seat import top_k_gap
from heedful.training.methods.vanilla import vanilla
from heedful.training.methods.word_at import worst_change
from heedful.types import Model, Reference, Trace


def seat_code(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    lambda1: NonNegative = 1.0,
    lambda2: NonNegative = 1000.0,
    k: Count = 7,
    radius: NonNegative = 0.01,
    steps: Count = 10,
    clamp: bool = False,
) -> Float[Tensor, " batch"]:
    """-ln p(label) + lambda1 x the same on perturbed embeddings + lambda2 x top-k gap of perturbed and own attention.

    The loss in the repository of Hu et al. (2023), which is not that of their paper (`seat`): labels take the place of
    the reference run, embeddings are perturbed instead of weights, and the model is fresh, trained as a whole and
    compared with itself. Its attack is that of `word_at`, in an linf ball.

    Args:
        clamp: also clamp every coordinate of the perturbed embeddings to [0, 1] after each step, as their code does:
            negative coordinates become 0, however small the radius.
    """
    embedded = trace.embedded.detach()
    real = trace.batch.mask.unsqueeze(-1)

    def keep(change: Tensor) -> Tensor:
        return ((embedded + change).clamp(0, 1) - embedded).where(real, 0.0) if clamp else change

    change = worst_change(model, trace, ball_of(radius, "linf"), generator, steps, keep)
    worst = rerun(model, trace, change)
    at_worst = cross_entropy(worst.logits, trace.batch.labels, reduction="none")
    gap = top_k_gap(worst.attention, trace.attention, trace.encoded.items, k)
    return vanilla(model, trace, reference, generator) + lambda1 * at_worst + lambda2 * gap


METHOD = Method(seat_code, stops_early=False)
