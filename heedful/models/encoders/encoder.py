"""Encoders: their interface, and those without context, where a token's state never depends on its neighbours."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.settings import NetworkSettings


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
        real = mask[..., None].to(hidden)
        return (hidden * real).sum(1) / real.sum(1)


class TokenWise(MeanOfStates):
    """h_t = f(e_t), for a map f that sees one embedding at a time; the summary of a text is the mean of its states."""

    token_wise = True

    def __init__(self, layers: nn.Module, output_size: int):
        super().__init__()
        self.layers = layers
        self.output_size = output_size

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        return self.layers(embedded)


def identity(embed_size: int, settings: NetworkSettings) -> TokenWise:
    """h_t = e_t: Sun and Lu's DP, Serrano and Smith's models without an encoder."""
    return TokenWise(nn.Identity(), embed_size)


def affine(embed_size: int, settings: NetworkSettings) -> TokenWise:
    """h_t = M e_t: Sun and Lu's DP-A."""
    return TokenWise(nn.Linear(embed_size, settings.hidden_size, bias=False), settings.hidden_size)


def average(embed_size: int, settings: NetworkSettings) -> TokenWise:
    """h_t = relu or tanh of (M e_t + c): the `average` model of Jain and Wallace, the MLP of Wiegreffe and Pinter."""
    activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[settings.activation]()
    return TokenWise(nn.Sequential(nn.Linear(embed_size, settings.hidden_size), activation), settings.hidden_size)
