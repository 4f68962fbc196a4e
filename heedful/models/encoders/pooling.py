"""One vector for a whole text, from the states of its tokens."""

from jaxtyping import Bool, Float
from torch import Tensor


def masked_mean(
    hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch hidden"]:
    """The mean of the real states."""
    real = mask[..., None].to(hidden)
    return (hidden * real).sum(1) / real.sum(1)
