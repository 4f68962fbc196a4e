"""SmoothGrad: gradient x input with the gradient averaged over noisy embeddings."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.gradient_x_input import odds_gradient
from heedful.attribution.items import sum_by_item
from heedful.types import Model, Trace


def smoothgrad(
    model: Model, trace: Trace, generator: torch.Generator, *, draws: int = 25, share: float = 0.15
) -> Float[Tensor, "batch item"]:
    """As `gradient_x_input` with the mean gradient over noisy embeddings; signed, 0 where there is no item.

    Smilkov et al. (2017, arXiv:1706.03825). Where the model is linear in its embeddings, noise changes nothing.

    Args:
        draws: of the noise, which is normal.
        share: its standard deviation, as a share of the distance between a text's smallest and largest number.
    """
    embedded, mask = trace.embedded.detach(), trace.batch.mask[..., None]
    widths = embedded.masked_fill(~mask, -torch.inf).amax((1, 2)) - embedded.masked_fill(~mask, torch.inf).amin((1, 2))
    scale = share * widths[:, None, None] * mask
    gradient = torch.zeros_like(embedded)
    for _ in range(draws):
        noise = torch.randn(embedded.shape, generator=generator, dtype=torch.float64).to(embedded)
        gradient = gradient + odds_gradient(model, trace, embedded + scale * noise) / draws
    return sum_by_item(trace, (gradient * embedded).sum(-1))
