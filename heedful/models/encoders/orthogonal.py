"""Orthogonal LSTMs: no state repeats the direction that the states before it have in common."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from heedful.models.encoders.recurrent import Recurrent
from heedful.settings import NetworkSettings


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
