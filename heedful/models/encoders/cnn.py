"""Convolutions over the tokens, several widths side by side."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import SettingError
from heedful.settings import NetworkSettings


class Cnn(nn.Module):
    """h_t = relu of the filters of each width around token t; the text's ends are padded with zeros.

    Jain and Wallace use widths 1, 3, 5, 7; Serrano and Smith 3 and 5.
    """

    token_wise = False

    def __init__(self, embed_size: int, settings: NetworkSettings):
        super().__init__()
        even = [width for width in settings.kernels if width % 2 == 0]
        if even or not settings.kernels:
            raise SettingError(
                f"kernels must be odd widths, so that each has a middle token; they were {settings.kernels}."
            )
        self.filters = nn.ModuleList(
            nn.Conv1d(embed_size, settings.hidden_size, width, padding=width // 2) for width in settings.kernels
        )
        self.output_size = settings.hidden_size * len(settings.kernels)

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        channels = (embedded * mask[..., None].to(embedded)).transpose(1, 2)
        return torch.cat([conv(channels) for conv in self.filters], 1).relu().transpose(1, 2)

    def summary(
        self, hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        """The largest value of each filter over the text."""
        return hidden.masked_fill(~mask[..., None], 0.0).amax(1)  # never below 0 after relu
