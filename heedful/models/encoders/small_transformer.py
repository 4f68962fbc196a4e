"""A small transformer, trained from scratch: every token reads every other."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.models.attention import masked_softmax
from heedful.models.encoders.encoder import MeanOfStates
from heedful.settings import NetworkSettings

FEED_FORWARD = 4
"""How much wider the feed-forward part of a layer is than its states."""
POSITION_START = 0.1
"""What the sinusoids are multiplied by before training: about the size of the projected embeddings."""


class Transformer(MeanOfStates):
    """A transformer of one to four layers, trained from scratch.

    h = norm of what the last layer makes of M e_t + c + s sin_t, with sinusoids sin_t of place t and their learned
    scale s. Layers are as in Vaswani et al. (2017), but normalized before each part rather than after (Xiong et al.,
    2020), which trains without a warm-up. Positions are counted over the real tokens, so that texts of any length can
    be read, and a text that lost a word is read as the shorter text.
    """

    token_wise = False

    def __init__(self, embed_size: int, settings: NetworkSettings):
        super().__init__()
        width = settings.hidden_size
        self.project = nn.Linear(embed_size, width)
        self.position_scale = nn.Parameter(torch.tensor(POSITION_START))
        self.dropout = nn.Dropout(settings.encoder_dropout)
        self.layers = nn.ModuleList(TransformerLayer(width, settings) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(width)
        self.output_size = width

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        place = (mask.long().cumsum(1) - 1).clamp_min(0).to(embedded)
        positions = self.position_scale * sinusoids(place, self.output_size)
        states = self.dropout(self.project(embedded) + positions)
        for layer in self.layers:
            states = layer(states, mask)
        return self.norm(states)


class TransformerLayer(nn.Module):
    """x + self-attention(norm x), then x + feed-forward(norm x), with dropout on what is added.

    A head is as wide as the states divided by the number of heads, rounded down, but at least one wide.
    """

    def __init__(self, width: int, settings: NetworkSettings):
        super().__init__()
        self.heads, self.head_size = settings.heads, max(1, width // settings.heads)
        inner = self.heads * self.head_size
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * inner)
        self.output = nn.Linear(inner, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, FEED_FORWARD * width), nn.GELU(), nn.Linear(FEED_FORWARD * width, width)
        )
        self.dropout = nn.Dropout(settings.encoder_dropout)

    def forward(
        self, states: Float[Tensor, "batch time width"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time width"]:
        """The states after this layer."""
        states = states + self.dropout(self._self_attention(self.attention_norm(states), mask))
        return states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))

    def _self_attention(
        self, states: Float[Tensor, "batch time width"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time width"]:
        parts = self.query_key_value(states).unflatten(-1, (3, self.heads, self.head_size))
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # each [batch head time size]
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.head_size)
        weights = masked_softmax(scores, mask[:, None, None].expand_as(scores))
        return self.output((weights @ value).transpose(1, 2).flatten(2))


def sinusoids(place: Float[Tensor, "batch time"], width: int) -> Float[Tensor, "batch time width"]:
    """Sines and cosines of each place at wavelengths from 2 pi to 10,000 x 2 pi; Vaswani et al. (2017), section 3.5.

    >>> sinusoids(torch.tensor([[0.0, 1.0]]), 4)
    tensor([[[0.0000, 0.0000, 1.0000, 1.0000],
             [0.8415, 0.0100, 0.5403, 0.9999]]])
    """
    half = (width + 1) // 2
    rates = 10_000 ** -(torch.arange(half, device=place.device, dtype=place.dtype) / half)
    angles = place[..., None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1)[..., :width]
