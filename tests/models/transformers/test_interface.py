import pytest
import torch
from torch import nn

from heedful.models.transformers import interface
from heedful.models.transformers.calls import heard_by
from support.tiny_transformers import tiny_module, transformers


class Attention(nn.Module):
    """Grouped queries: four heads share two of keys and values."""


def eager_attention_forward(module, query, key, value, attention_mask, scaling=1.0):
    key, value = (part.repeat_interleave(2, 1) for part in (key, value))
    weights = (query @ key.transpose(2, 3) * scaling + attention_mask).softmax(-1)
    return (weights @ value).transpose(1, 2), weights


class Halving:
    """Doubles the weight of the first token and halves the others, or puts ones in the place of the context."""

    def __init__(self, context=None):
        self.seen, self.answer = [], context

    def weights(self, call, weights):
        self.seen.append(call)
        return weights * torch.tensor([2.0, 0.5, 0.5])

    def context(self, call, weights, values):
        self.values = values
        return self.answer


@pytest.fixture
def call():
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(5, 4, 3, 7, generator=generator)
    key, value = (torch.randn(5, 2, 3, 7, generator=generator) for _ in range(2))
    return query, key, value, torch.zeros(5, 1, 3, 3)


def test_unheard_it_is_the_models_own_attention(call):
    output, weights = interface.attend(Attention(), *call, scaling=0.5)
    expected = eager_attention_forward(None, *call, scaling=0.5)
    assert torch.equal(output, expected[0]) and torch.equal(weights, expected[1])


def test_changed_weights_mix_the_values_anew(call):
    own = eager_attention_forward(None, *call)[1]
    with heard_by(listener := Halving()) as hearing:
        output, weights = interface.attend(Attention(), *call)
        interface.attend(Attention(), *call)
    assert listener.seen == [0, 1] and hearing.calls == 2
    torch.testing.assert_close(weights, own * torch.tensor([2.0, 0.5, 0.5]))
    # The third head has the second of the values.
    expected = weights[:, 2] @ call[2][:, 1]
    torch.testing.assert_close(output[:, :, 2], expected)
    assert listener.values.shape == (5, 4, 3, 7)


def test_a_given_context_is_put_in_its_place(call):
    given = torch.randn(5, 4, 3, 7)
    with heard_by(Halving(given)):
        output, _ = interface.attend(Attention(), *call)
    torch.testing.assert_close(output, given.transpose(1, 2))


def test_both_registries_know_the_function_so_that_masks_are_made():
    interface.register()
    module = tiny_module("llama")
    module.set_attn_implementation(interface.NAME)
    ids = torch.tensor([[5, 6, 7, 8, 0, 0]])
    with torch.no_grad():
        short = module(input_ids=ids[:, :4]).logits
        padded = module(input_ids=ids, attention_mask=(ids > 0).long()).logits
        unmasked = module.model(input_ids=ids).last_hidden_state[:, :3]
        prefix = module.model(input_ids=ids[:, :3]).last_hidden_state
    torch.testing.assert_close(short, padded)
    torch.testing.assert_close(unmasked, prefix)
    assert interface.NAME in transformers.AttentionInterface._global_mapping


def test_a_module_without_eager_attention_is_named():
    with pytest.raises(AttributeError, match="Linear has no eager attention"):
        interface._own_attention(nn.Linear(1, 1))
