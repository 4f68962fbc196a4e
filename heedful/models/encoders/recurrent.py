"""Recurrent encoders in one or two directions: plain RNN, GRU, LSTM and orthogonal LSTM."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

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


# Orthogonal LSTMs: no state repeats the direction that the states before it have in common.


class OrthogonalLayer(nn.LSTM):
    """An LSTM of one layer and direction whose states are orthogonal to the mean of those before them.

    h'_t, c_t = cell(x_t, h_(t-1), c_(t-1))
    h_t = h'_t - (h'_t . m_t) / (m_t . m_t) m_t,  with m_t the mean of h_1 ... h_(t-1)

    The first state is the LSTM's own. What goes on to the next step is h_t, so that the weights learn to write what is
    new. Mohankumar et al. (2020, arXiv:2004.14243, section 4.1). Their code adds 1e-6 to the denominator and starts
    from random states; we do neither.
    """

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Float[Tensor, "batch time embed"]
    ) -> tuple[Float[Tensor, "batch time units"], Float[Tensor, "batch units"]]:
        """The state at each step, and the last memory."""
        input_weight, state_weight, input_bias, state_bias = self.all_weights[0]
        state = memory = total = inputs.new_zeros(len(inputs), self.hidden_size)
        states = []
        for input_gates in linear(inputs, input_weight, input_bias + state_bias).unbind(1):
            enter, keep, candidate, leave = torch.addmm(input_gates, state, state_weight.T).chunk(4, -1)
            memory = keep.sigmoid() * memory + enter.sigmoid() * candidate.tanh()
            state = without_direction(leave.sigmoid() * memory.tanh(), total)
            total = total + state
            states.append(state)
        return torch.stack(states, 1), memory


def without_direction(
    vectors: Float[Tensor, "*batch units"], direction: Float[Tensor, "*batch units"]
) -> Float[Tensor, "*batch units"]:
    """What remains of the vectors orthogonal to a direction of any length; all of them where it is 0.

    >>> without_direction(torch.tensor([[3.0, 4.0], [3.0, 4.0]]), torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0., 4.],
            [3., 4.]])
    """
    size = direction.square().sum(-1, keepdim=True)
    return vectors - (vectors * direction).sum(-1, keepdim=True) / size.where(size > 0, 1.0) * direction


def orthogonal_lstm(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """An LSTM each of whose states is orthogonal to the mean of those before it: Mohankumar et al. (2020)."""
    return Recurrent(OrthogonalLayer, embed_size, settings.hidden_size, both_directions=False)


def orthogonal_bilstm(embed_size: int, settings: NetworkSettings) -> Recurrent:
    """The same in both directions, each by itself."""
    return Recurrent(OrthogonalLayer, embed_size, settings.hidden_size, both_directions=True)
