"""Small differences followed to first order through an LSTM, against every shortened text run to its end."""

from dataclasses import replace

import pytest
import torch

from heedful.attribution import leave_one_out_imposed, leave_one_out_reference
from heedful.attribution.reuse import adjoint, reading
from heedful.models.attention_model import build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch

VOCABULARY = 19


def case(lengths=(230, 60, 117, 7), encoder="bilstm", has_query=False, classes=2, **changes):
    torch.manual_seed(2)
    settings = NetworkSettings(encoder=encoder, embed_size=6, hidden_size=8, embedding_start="normal", **changes)
    model = build_model(settings, VOCABULARY, classes, has_query=has_query).double().eval()
    with torch.no_grad():
        for name, weight in model.encoder.named_parameters():
            if "bias_hh" in name:  # gates that keep: a memory of many words
                weight[8:16] += 1.0
    draw = torch.Generator().manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    tokens = torch.randint(1, VOCABULARY, mask.shape, generator=draw) * mask
    batch = Batch(torch.arange(len(mask)), tokens, mask, mask, torch.zeros(len(mask), dtype=torch.long))
    if has_query:
        query = torch.randint(1, VOCABULARY, (len(mask), 4), generator=draw)
        batch = replace(batch, query_tokens=query, query_mask=torch.ones_like(query, dtype=torch.bool))
    # Every third word is no item: it is read, but neither weighed nor left out.
    batch = replace(batch, attendable_mask=mask & (torch.arange(mask.shape[1]) % 3 > 0))
    with torch.no_grad():
        seen = trace(model, batch)
    weights = torch.randn(seen.scores.shape, generator=draw, dtype=torch.float64)
    weights[:, 5] = -torch.inf
    return model, seen, [weights.masked_fill(~seen.encoded.items, -torch.inf)]


@pytest.fixture
def made(monkeypatch):
    """Whether derivatives were computed, each time they were asked for."""
    results = []
    monkeypatch.setattr(reading, "adjoint_of", lambda texts: results.append(adjoint.adjoint_of(texts)) or results[-1])
    return results


@pytest.mark.parametrize(
    ("encoder", "attention", "has_query", "head", "classes"),
    [
        ("lstm", "additive", False, "linear", 2),
        ("bilstm", "additive", False, "linear", 2),
        ("bilstm", "additive", False, "linear", 3),
        ("bilstm", "dot", True, "linear", 2),
        ("bilstm", "additive", True, "linear", 2),
        ("bilstm", "uniform", False, "linear", 2),
    ],
)
def test_what_is_left_of_a_difference_is_followed(encoder, attention, has_query, head, classes, made):
    model, seen, imposed = case(encoder=encoder, attention=attention, has_query=has_query, head=head, classes=classes)
    fast, wanted = leave_one_out_imposed(model, seen, imposed), leave_one_out_reference(model, seen, imposed)
    torch.testing.assert_close(fast, wanted, atol=1e-9, rtol=0, equal_nan=True)
    assert made and all(each is not None for each in made)


def test_a_variant_is_read_less_far_than_until_it_has_settled(steps_read, monkeypatch):
    model, seen, imposed = case((400, 350))
    leave_one_out_imposed(model, seen, imposed)
    followed = sum(steps_read)
    steps_read.clear()
    monkeypatch.setattr(reading, "adjoint_of", lambda texts: None)
    leave_one_out_imposed(model, seen, imposed)
    assert followed < 0.7 * sum(steps_read)


def test_without_following_it_would_be_wrong(monkeypatch):
    model, seen, imposed = case()
    wanted = leave_one_out_reference(model, seen, imposed)
    monkeypatch.setattr(adjoint.Adjoint, "corrected", lambda self, sums, tokens, difference: sums)
    assert (leave_one_out_imposed(model, seen, imposed) - wanted).abs().nan_to_num(0.0).max() > 1e-8


def test_the_error_is_of_second_order(monkeypatch):
    model, seen, imposed = case()
    wanted, errors = leave_one_out_reference(model, seen, imposed), []
    for difference in (1e-2, 1e-3, 1e-4):
        monkeypatch.setattr(reading, "FORGOTTEN", difference)
        errors.append(float((leave_one_out_imposed(model, seen, imposed) - wanted).abs().nan_to_num(0.0).max()))
    assert errors[0] < 1e-4 and errors[1] < errors[0] / 30 and errors[2] < errors[1] / 30


@pytest.mark.parametrize("changes", [{"temperature": 1e-4}, {"classes": 5}, {"head": "tanh"}, {"lengths": (30, 40)}])
def test_where_it_does_not_pay_or_cannot_be_represented_variants_settle(changes, made):
    model, seen, imposed = case(**changes)
    fast, wanted = leave_one_out_imposed(model, seen, imposed), leave_one_out_reference(model, seen, imposed)
    torch.testing.assert_close(fast, wanted, atol=1e-10, rtol=0, equal_nan=True)
    assert made and not any(made)
