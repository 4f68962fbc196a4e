"""Recurrent encoders in one or two directions: plain RNN, GRU and LSTM."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.settings import NetworkSettings

RecurrentLayer = type[nn.RNN] | type[nn.GRU] | type[nn.LSTM]


class Recurrent(nn.Module):
    """States of a recurrent network at each token, both directions concatenated where there are two.

    The backward direction is a second one-way network over the reversed text. Padding is on the right in both, after
    all real tokens, so nothing has to be packed; that is twice as fast here as `pack_padded_sequence`, and equal to it.
    """

    token_wise = False

    def __init__(self, layer: RecurrentLayer, embed_size: int, units: int, both_directions: bool):
        super().__init__()
        self.ahead = layer(embed_size, units, batch_first=True)
        self.back = layer(embed_size, units, batch_first=True) if both_directions else None
        self.output_size = units * (2 if both_directions else 1)

    def forward(
        self, embedded: Float[Tensor, "batch time embed"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The state of each token."""
        ahead, _ = self.ahead(embedded)
        if self.back is None:
            return ahead
        order = reversal(mask)
        back, _ = self.back(reorder(embedded, order))
        return torch.cat([ahead, reorder(back, order)], -1)

    def summary(
        self, hidden: Float[Tensor, "batch time hidden"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch hidden"]:
        """The last state of each direction: at the last token going forward, at the first going backward."""
        last = hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(1) - 1]
        if self.back is None:
            return last
        units = self.output_size // 2
        return torch.cat([last[:, :units], hidden[:, 0, units:]], -1)


def reversal(mask: Bool[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
    """The order that reverses the real tokens of each text and leaves padding where it is: its own inverse.

    >>> reversal(torch.tensor([[True, True, True, False]]))
    tensor([[2, 1, 0, 3]])
    """
    place = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - place, place)


def reorder(
    states: Float[Tensor, "batch time hidden"], order: Int[Tensor, "batch time"]
) -> Float[Tensor, "batch time hidden"]:
    """The states of each text in the given order."""
    # Whole rows are copied, forth and back: much faster than `gather`, which looks up every number by itself.
    first = torch.arange(len(order), device=order.device)[:, None] * order.shape[1]
    return states.flatten(0, 1).index_select(0, (first + order).flatten()).unflatten(0, order.shape)


def rnn(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """A plain tanh network in one direction: the RNN of SEAT."""
    return Recurrent(nn.RNN, embed_size, settings.hidden_size, both_directions=False)


def lstm(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """An LSTM in one direction."""
    return Recurrent(nn.LSTM, embed_size, settings.hidden_size, both_directions=False)


def bilstm(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """An LSTM in both directions: the contextual model of most of the papers."""
    return Recurrent(nn.LSTM, embed_size, settings.hidden_size, both_directions=True)


def gru(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """A GRU in one direction."""
    return Recurrent(nn.GRU, embed_size, settings.hidden_size, both_directions=False)


def bigru(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """A GRU in both directions: the encoder of Serrano and Smith's rnn models."""
    return Recurrent(nn.GRU, embed_size, settings.hidden_size, both_directions=True)
