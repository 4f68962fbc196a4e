import pytest
import torch
from torch import nn

from heedful.attribution.reuse.recurrent_step import STEPS, recurrent_step

TIME, BATCH, EMBED, UNITS = 7, 3, 5, 2


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_steps_give_the_networks_own_states(kind, scale):
    """Also where the gates are saturated."""
    torch.manual_seed(0)
    network = kind(EMBED, UNITS).double()
    inputs = scale * torch.randn(TIME, BATCH, EMBED, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    state, memory = torch.zeros(2, 1, BATCH, UNITS).double().unbind(0)
    with torch.no_grad():
        wanted, _ = network(inputs)
        step = recurrent_step(network, inputs)
        for time in range(TIME):
            step.apply(time, state, memory)
            torch.testing.assert_close(state[0], wanted[time], atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_variants_do_not_affect_one_another(kind):
    torch.manual_seed(0)
    network = kind(EMBED, UNITS).double()
    inputs = torch.randn(1, BATCH, EMBED).double()
    state, memory = torch.rand(2, 11, BATCH, UNITS).double().unbind(0)
    with torch.no_grad():
        step = recurrent_step(network, inputs)
        alone = [tensor[4:5].clone() for tensor in (state, memory)]
        step.apply(0, *alone)
        step.apply(0, state, memory)
    torch.testing.assert_close(state[4:5], alone[0], atol=1e-15, rtol=0)
    torch.testing.assert_close(memory[4:5], alone[1], atol=1e-15, rtol=0)


def test_every_kind_of_network_has_its_step():
    assert set(STEPS) == {nn.RNN, nn.GRU, nn.LSTM}
