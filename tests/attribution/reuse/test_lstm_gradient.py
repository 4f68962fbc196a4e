"""Gradients of an LSTM by hand against automatic differentiation through the whole model."""

import pytest
import torch

from heedful.attribution import input_gradient, input_gradients
from heedful.attribution.reuse import lstm_gradient
from heedful.attribution.variants import variant_reader
from heedful.models.trace import trace
from support.four_verbs import FourVerbs
from support.models import BATCH, TIME, give_attention, make, make_batch


def case(encoder, has_query=False, head="linear", attention="additive", classes=2):
    model, batch = make(encoder, attention, classes, has_query, head), make_batch(has_query)
    batch = give_attention(batch, hierarchical=False) if attention == "frozen" else batch
    with torch.no_grad():
        return model, trace(model, batch)


def weightings(seen, classes):
    draw = torch.Generator().manual_seed(2)
    scores = torch.randn(BATCH, TIME, generator=draw, dtype=torch.float64).masked_fill(~seen.encoded.items, -torch.inf)
    other = torch.randint(0, classes, (BATCH,), generator=draw)
    return [(seen.attention, seen.logits.argmax(-1)), (scores.softmax(-1), other)]


@pytest.mark.parametrize(("has_query", "head", "classes"), [(False, "linear", 2), (True, "tanh", 5)])
@pytest.mark.parametrize("attention", ["additive", "frozen"])
@pytest.mark.parametrize("encoder", ["lstm", "bilstm", "gru", "average", "cnn"])
def test_by_hand_and_by_autograd_are_the_same(encoder, attention, has_query, head, classes):
    model, seen = case(encoder, has_query, head, attention, classes)
    asked = weightings(seen, classes)
    fast = input_gradients(model, seen, asked, variant_reader(model, seen))
    plain = input_gradients(FourVerbs(model), seen, asked)
    for own, other in zip(fast, plain, strict=True):
        torch.testing.assert_close(own, other, atol=1e-14, rtol=1e-10)
    torch.testing.assert_close(fast[0], input_gradient(model, seen), atol=1e-14, rtol=1e-10)


def test_the_lstm_is_not_run_forward(monkeypatch):
    model, seen = case("bilstm")
    reader = variant_reader(model, seen)
    monkeypatch.setattr(type(model), "encode", lambda *_: pytest.fail("read again"))
    assert input_gradients(model, seen, weightings(seen, 2), reader)[0].abs().sum() > 0


def test_chunks_change_nothing(monkeypatch):
    model, seen = case("bilstm")
    reader, asked = variant_reader(model, seen), weightings(seen, 2)
    whole = input_gradients(model, seen, asked, reader)
    monkeypatch.setattr(lstm_gradient, "TOKENS", 1)
    for own, other in zip(input_gradients(model, seen, asked, reader), whole, strict=True):
        torch.testing.assert_close(own, other, atol=1e-15, rtol=1e-12)
