"""Random perturbation of attention: also predict the label with noise added to the attention weights."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import ball_of, draw
from heedful.settings import NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def attention_rp(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    radius: NonNegative = 0.001,
    norm: str = "linf",
    weight: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label), plus weight x the same with uniform noise from a ball added to the attention weights.

    Attention-RP of Hu et al. (2023), as in their code: the noisy weights are not renormalised to sum to 1.
    """
    noise = draw(trace.encoded.items, ball_of(radius, norm), generator, trace.attention.dtype)
    logits = model.decode(trace.encoded, trace.attention + noise)
    at_noise = cross_entropy(logits, trace.batch.labels, reduction="none")
    return vanilla(model, trace, reference, generator) + weight * at_noise


METHOD = Method(attention_rp)
