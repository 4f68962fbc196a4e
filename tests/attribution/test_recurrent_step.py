import pytest
import torch
from torch import nn

from heedful.attribution.recurrent_step import STEPS, recurrent_step
from heedful.models.encoders.recurrent import OrthogonalLayer

TIME, BATCH, EMBED, UNITS = 7, 3, 5, 2
KINDS = [nn.RNN, nn.GRU, nn.LSTM, OrthogonalLayer]
MASK = torch.arange(TIME) < torch.tensor([[7], [1], [4]])


def make_network(kind):
    torch.manual_seed(0)
    return kind(EMBED, UNITS, batch_first=True).double()


def draw_inputs(scale=1.0):
    return scale * torch.randn(BATCH, TIME, EMBED, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_steps_give_the_networks_own_states_and_memories(kind, scale):
    """Also where the gates are saturated: each text step by step, against all memories at once."""
    network, inputs = make_network(kind), draw_inputs(scale)
    wanted = network(inputs)[0][MASK]
    step = recurrent_step(network, inputs[MASK])
    memories = step.memory(wanted, MASK)
    token = 0
    for length in MASK.sum(1).tolist():
        state, memory = torch.zeros(1, UNITS).double(), torch.zeros_like(memories[:1])
        for _ in range(length):
            step.apply(torch.tensor([token]), state, memory)
            torch.testing.assert_close(state[0], wanted[token], atol=1e-14, rtol=0)
            torch.testing.assert_close(memory[0], memories[token], atol=1e-13, rtol=0)
            token += 1


@pytest.mark.parametrize(("kind", "size"), [(nn.RNN, 0), (nn.GRU, 0), (nn.LSTM, UNITS), (OrthogonalLayer, 2 * UNITS)])
def test_memories_are_as_large_as_the_network_needs(kind, size):
    network, inputs = make_network(kind), draw_inputs()
    with torch.no_grad():
        step = recurrent_step(network, inputs[MASK])
        assert step.memory(network(inputs)[0][MASK], MASK).shape == (12, size)


@pytest.mark.parametrize("kind", KINDS)
def test_variants_do_not_affect_one_another(kind):
    network, inputs = make_network(kind), draw_inputs()
    with torch.no_grad():
        step = recurrent_step(network, inputs[MASK])
        size = step.memory(network(inputs)[0][MASK], MASK).shape[1]
        state, memory = torch.rand(11, UNITS).double(), torch.rand(11, size).double()
        tokens = torch.arange(11)
        alone = [tensor[4:5].clone() for tensor in (state, memory)]
        step.apply(tokens[4:5], *alone)
        step.apply(tokens, state, memory)
    torch.testing.assert_close(state[4:5], alone[0], atol=1e-15, rtol=0)
    torch.testing.assert_close(memory[4:5], alone[1], atol=1e-15, rtol=0)


def test_every_kind_of_network_has_its_step():
    assert set(STEPS) == set(KINDS)
