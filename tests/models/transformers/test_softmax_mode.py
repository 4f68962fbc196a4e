import pytest
import torch
from torch import nn
from torch.nn import functional

from heedful.models.transformers.calls import heard_by
from heedful.models.transformers.softmax_mode import SoftmaxMode

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
    with heard_by(listener) as hearing, SoftmaxMode(hearing):
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


def test_calls_are_numbered(problem):
    listener = Listening()
    run(lambda *parts: [by_matmul(*parts), by_bmm(*parts)], problem, listener)
    assert [call for call, _, _ in listener.heard] == [0, 1]
