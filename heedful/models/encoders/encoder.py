"""The interface of an encoder."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor, nn


def masked_mean(
    hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch hidden"]:
    """The mean of the real states: one vector for a whole text."""
    real = mask[..., None].to(hidden)
    return (hidden * real).sum(1) / real.sum(1)


@runtime_checkable
class Encoder(Protocol):
    """A module from embeddings to hidden states, one per token; what is at padding must not affect the others."""

    output_size: int
    token_wise: bool
    """Whether a token's state depends on that token alone."""

    def __call__(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        ...

    def summary(
        self, hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        """One vector for the whole text: how a query is encoded."""
        ...


class MeanOfStates(nn.Module):
    """An encoder that summarizes a text by the mean of its real states."""

    def summary(
        self, hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        """One vector for the whole text."""
        return masked_mean(hidden, mask)
