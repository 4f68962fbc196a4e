"""Integrated gradients: complete, equal to a plain sum, and clear where captum is missing."""

import sys

import pytest
import torch

from heedful.attribution.gradient_x_input import odds_at, odds_gradient, sum_by_item
from heedful.attribution.integrated_gradients import integrated_gradients
from heedful.errors import SettingError
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of
from support.models import BATCH, LENGTHS, cut, give_attention, make, make_batch

ROUNDING = 1e-6
"""Captum's weights of the steps are float32."""


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "hierarchical"])
@pytest.mark.parametrize("classes", [2, 5])
def test_they_add_up_to_what_the_text_adds_to_the_odds(encoder, classes):
    model = make(encoder, classes=classes)
    with torch.no_grad():
        seen, texts = trace(model, make_batch()), torch.arange(BATCH)
        added = odds_at(model, seen, seen.embedded, texts) - odds_at(model, seen, 0 * seen.embedded, texts)
        actual = integrated_gradients(model, seen, steps=200)
    torch.testing.assert_close(actual.sum(1), added, atol=1e-3, rtol=0)
    assert (actual[~seen.encoded.items] == 0).all() and not actual.requires_grad


def test_where_the_odds_are_linear_they_are_gradient_x_input():
    model = Bag(torch.tensor([2.0, -6.0, 1.0]).double(), torch.tensor([0.5, 0.25, 0.25]).double().log())
    seen = trace(model, batch_of(1, 3, label=0))
    assert seen.logits.argmax(-1).item() == 0
    wanted = -torch.tensor([[1.0, -1.5, 0.25]]).double()
    torch.testing.assert_close(integrated_gradients(model, seen), wanted, atol=ROUNDING, rtol=0)


def test_they_are_the_mean_gradient_along_the_way():
    """A plain midpoint sum of 200 steps."""
    model = make("gru")
    seen = trace(model, make_batch())
    shares = (torch.arange(200).double() + 0.5) / 200
    mean = sum(odds_gradient(model, seen, share * seen.embedded) for share in shares) / 200
    wanted = sum_by_item(seen, (mean * seen.embedded.detach()).sum(-1))
    torch.testing.assert_close(integrated_gradients(model, seen), wanted, atol=1e-5, rtol=0)


def test_padding_and_neighbours_change_nothing_and_queries_stay():
    model, batch = make("bilstm", "dot", 5, True), make_batch(has_query=True)
    together = integrated_gradients(model, trace(model, batch))
    for row, length in enumerate(LENGTHS.tolist()):
        alone = integrated_gradients(model, trace(model, cut(batch, [row], length)))[0]
        torch.testing.assert_close(alone, together[row, : len(alone)], atol=ROUNDING, rtol=0)


def test_imposed_attention_stays_imposed():
    model, batch = make("bilstm", "frozen"), give_attention(make_batch(), hierarchical=False)
    assert integrated_gradients(model, trace(model, batch), steps=5).isfinite().all()


def test_where_captum_is_missing_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    model = make("average")
    with pytest.raises(
        SettingError, match=r"this attribution needs the package captum, .*pip install .heedful\[captum\]"
    ):
        integrated_gradients(model, trace(model, make_batch()))


def test_nothing_is_left_behind():
    model = make("average")
    seen, state = trace(model, make_batch()), torch.get_rng_state()
    integrated_gradients(model, seen, steps=3)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(state, torch.get_rng_state())
    seen.logits.sum().backward()  # the graph of the trace can still be used
