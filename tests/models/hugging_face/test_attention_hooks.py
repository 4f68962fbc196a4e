import pytest
import torch
from torch import nn
from torch.nn import functional

from heedful.models.hugging_face import attention_hooks
from heedful.models.hugging_face.attention_hooks import SoftmaxMode, current_pass, hook_attention
from support.tiny_transformers import tiny_module, transformers


class Silent:
    def weights(self, call, weights):
        return weights

    def context(self, call, weights, values):
        return None


def test_a_pass_is_heard_only_inside():
    assert current_pass() is None
    with hook_attention(Silent()) as outer:
        assert current_pass() is outer
        with hook_attention(Silent()) as inner:
            assert current_pass() is inner
        assert current_pass() is outer
    assert current_pass() is None


def test_an_error_ends_the_hearing():
    with pytest.raises(RuntimeError), hook_attention(Silent()):
        raise RuntimeError
    assert current_pass() is None


BATCH, HEADS, TIME, SIZE = 2, 3, 5, 7


def by_matmul(scores, values):
    weights = nn.Dropout(0.1).eval()(functional.softmax(scores, dim=-1)).to(values.dtype)
    return torch.matmul(weights, values)


def by_operator(scores, values):
    return scores.softmax(-1) @ values


def by_shared_values(scores, values):
    """All heads mix the same values, as in Falcon."""
    return torch.softmax(scores, dim=-1) @ values[:, :1]


def by_bmm(scores, values):
    weights = functional.softmax(scores, dim=-1, dtype=torch.float32).to(values.dtype)
    mixed = torch.bmm(weights.view(-1, TIME, TIME), values.flatten(0, 1))
    return mixed.view(BATCH, HEADS, TIME, SIZE)


def by_einsum(scores, values):
    """Time first, as in XLNet."""
    mixed = torch.einsum("bnij,jbnd->ibnd", functional.softmax(scores, dim=3), values.permute(2, 0, 1, 3))
    return mixed.permute(1, 2, 0, 3)


FORMS = (by_matmul, by_operator, by_shared_values, by_bmm, by_einsum)


class Listening:
    def __init__(self, new_weights=None, context=None):
        self.new_weights, self.new_context, self.heard = new_weights, context, []

    def weights(self, call, weights):
        return weights if self.new_weights is None else self.new_weights

    def context(self, call, weights, values):
        self.heard.append((call, weights, values))
        return self.new_context


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(BATCH, HEADS, TIME, TIME, generator=generator, dtype=torch.float64)
    return scores, torch.randn(BATCH, HEADS, TIME, SIZE, generator=generator, dtype=torch.float64)


def run(function, problem, listener):
    with hook_attention(listener) as hearing, SoftmaxMode(hearing):
        return function(*problem)


@pytest.mark.parametrize("function", FORMS)
def test_nothing_changes_and_weights_and_values_are_heard(function, problem):
    listener = Listening()
    mixed = run(function, problem, listener)
    assert torch.equal(mixed, function(*problem))
    ((call, weights, values),) = listener.heard
    assert call == 0 and values.shape == (BATCH, HEADS, TIME, SIZE)
    torch.testing.assert_close(weights.double() @ values, mixed, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("function", FORMS)
def test_other_weights_are_imposed(function, problem):
    even = torch.full((BATCH, HEADS, TIME, TIME), 1 / TIME, dtype=torch.float64)
    listener = Listening(new_weights=even)
    mixed = run(function, problem, listener)
    torch.testing.assert_close(mixed, even @ listener.heard[0][2])


@pytest.mark.parametrize("function", FORMS)
def test_another_context_is_arranged_as_the_model_has_it(function, problem):
    given = torch.arange(BATCH * HEADS * TIME * SIZE, dtype=torch.float64).view(BATCH, HEADS, TIME, SIZE)
    assert torch.equal(run(function, problem, Listening(context=given)), given)


def test_other_softmaxes_and_products_are_left_alone(problem):
    listener = Listening(new_weights=torch.zeros(1))

    def kernel(scores, values):
        return functional.softmax(scores.flatten(0, 1), dim=1) @ values.flatten(0, 1)

    def over_heads(scores, values):
        return functional.softmax(scores, dim=1) @ values

    for function in (kernel, over_heads):
        assert torch.equal(run(function, problem, listener), function(*problem))
    assert not listener.heard


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
    output, weights = attention_hooks.attend(Attention(), *call, scaling=0.5)
    expected = eager_attention_forward(None, *call, scaling=0.5)
    assert torch.equal(output, expected[0]) and torch.equal(weights, expected[1])


def test_changed_weights_mix_the_values_anew(call):
    own = eager_attention_forward(None, *call)[1]
    with hook_attention(listener := Halving()) as hearing:
        output, weights = attention_hooks.attend(Attention(), *call)
        attention_hooks.attend(Attention(), *call)
    assert listener.seen == [0, 1] and hearing.calls == 2
    torch.testing.assert_close(weights, own * torch.tensor([2.0, 0.5, 0.5]))
    # The third head has the second of the values.
    expected = weights[:, 2] @ call[2][:, 1]
    torch.testing.assert_close(output[:, :, 2], expected)
    assert listener.values.shape == (5, 4, 3, 7)


def test_a_given_context_is_put_in_its_place(call):
    given = torch.randn(5, 4, 3, 7)
    with hook_attention(Halving(given)):
        output, _ = attention_hooks.attend(Attention(), *call)
    torch.testing.assert_close(output, given.transpose(1, 2))


def test_both_registries_know_the_function_so_that_masks_are_made():
    attention_hooks.register()
    module = tiny_module("llama")
    module.set_attn_implementation(attention_hooks.NAME)
    ids = torch.tensor([[5, 6, 7, 8, 0, 0]])
    with torch.no_grad():
        short = module(input_ids=ids[:, :4]).logits
        padded = module(input_ids=ids, attention_mask=(ids > 0).long()).logits
        unmasked = module.model(input_ids=ids).last_hidden_state[:, :3]
        prefix = module.model(input_ids=ids[:, :3]).last_hidden_state
    torch.testing.assert_close(short, padded)
    torch.testing.assert_close(unmasked, prefix)
    assert attention_hooks.NAME in transformers.AttentionInterface._global_mapping


def test_a_module_without_eager_attention_is_named():
    with pytest.raises(AttributeError, match="Linear has no eager attention"):
        attention_hooks._own_attention(nn.Linear(1, 1))
