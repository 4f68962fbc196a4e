"""The orthogonal LSTM against its equations, step by step, and what orthogonality means."""

import pytest
import torch
from torch import nn

from heedful.models.encoders.recurrent import OrthogonalLayer

BATCH, TIME, EMBED, UNITS = 3, 7, 5, 4


def layer():
    torch.manual_seed(0)
    return OrthogonalLayer(EMBED, UNITS, batch_first=True).double()


def texts():
    return torch.randn(BATCH, TIME, EMBED, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def cell_of(network):
    """torch's own cell with the layer's weights."""
    cell = nn.LSTMCell(EMBED, UNITS).double()
    cell.load_state_dict({name.removesuffix("_l0"): weight for name, weight in network.state_dict().items()})
    return cell


def step_by_step(network, inputs):
    """The paper's equations for one text after the other, by torch's own LSTM cell."""
    cell, rows = cell_of(network), []
    for text in inputs:
        state, memory, states = torch.zeros(1, UNITS).double(), torch.zeros(1, UNITS).double(), []
        for word in text:
            state, memory = cell(word[None], (state, memory))
            if states:
                mean = torch.stack(states).mean(0)
                state = state - (state[0] @ mean) / (mean @ mean) * mean
            states.append(state[0])
        rows.append(torch.stack(states))
    return torch.stack(rows)


def test_the_states_are_those_of_the_equations():
    network, inputs = layer(), texts()
    torch.testing.assert_close(network(inputs)[0], step_by_step(network, inputs), atol=1e-12, rtol=0)


def test_the_gradients_are_those_of_the_equations():
    network, inputs, other = layer(), texts().requires_grad_(), texts().requires_grad_()
    along = torch.randn(BATCH, TIME, UNITS, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    actual = torch.autograd.grad((network(inputs)[0] * along).sum(), inputs)
    wanted = torch.autograd.grad((step_by_step(network, other) * along).sum(), other)
    torch.testing.assert_close(actual, wanted, atol=1e-10, rtol=0)


def test_every_state_is_orthogonal_to_the_mean_of_those_before_and_the_first_is_the_lstms():
    network, inputs = layer(), texts()
    states, _ = network(inputs)
    for time in range(1, TIME):
        products = (states[:, time] * states[:, :time].mean(1)).sum(-1)
        torch.testing.assert_close(products, torch.zeros(BATCH).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(states[:, 0], cell_of(network)(inputs[:, 0])[0], atol=1e-12, rtol=0)
    assert (states[:, -1].norm(dim=-1) > 1e-3).all()


@pytest.mark.parametrize("scale", [0.0, 1e-30, 50.0])
def test_states_that_vanish_leave_states_and_gradients_finite(scale):
    network = layer()
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(scale)
    states, _ = network(texts())
    states.sum().backward()
    assert states.isfinite().all() and all(weight.grad.isfinite().all() for weight in network.parameters())
