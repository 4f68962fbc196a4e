import pytest
import torch
from torch import nn

from heedful.attribution.reuse.recurrent_step import STEPS, recurrent_step
from heedful.models.encoders.orthogonal import OrthogonalLayer

TIME, BATCH, EMBED, UNITS = 7, 3, 5, 2
KINDS = [nn.RNN, nn.GRU, nn.LSTM, OrthogonalLayer]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_steps_give_the_networks_own_states(kind, scale):
    """Also where the gates are saturated."""
    torch.manual_seed(0)
    network = kind(EMBED, UNITS, batch_first=True).double()
    inputs = scale * torch.randn(TIME, BATCH, EMBED, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        wanted = network(inputs.transpose(0, 1))[0].transpose(0, 1)
        step = recurrent_step(network, inputs)
        state = torch.zeros(1, BATCH, UNITS).double()
        memory = torch.zeros(1, BATCH, step.memories * UNITS).double()
        for time in range(TIME):
            step.apply(time, state, memory)
            torch.testing.assert_close(state[0], wanted[time], atol=1e-14, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_variants_do_not_affect_one_another(kind):
    torch.manual_seed(0)
    network = kind(EMBED, UNITS, batch_first=True).double()
    inputs = torch.randn(1, BATCH, EMBED).double()
    with torch.no_grad():
        step = recurrent_step(network, inputs)
        state = torch.rand(11, BATCH, UNITS).double()
        memory = torch.rand(11, BATCH, step.memories * UNITS).double()
        alone = [tensor[4:5].clone() for tensor in (state, memory)]
        step.apply(0, *alone)
        step.apply(0, state, memory)
    torch.testing.assert_close(state[4:5], alone[0], atol=1e-15, rtol=0)
    torch.testing.assert_close(memory[4:5], alone[1], atol=1e-15, rtol=0)


def test_every_kind_of_network_has_its_step():
    assert set(STEPS) == set(KINDS)
