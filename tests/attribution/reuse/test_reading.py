"""Variants that stop when they have settled, on long texts, against every shortened text run to its end."""

from dataclasses import replace

import pytest
import torch

from heedful.attribution import leave_one_out_imposed, leave_one_out_reference
from heedful.attribution.reuse import reading
from heedful.models.attention_model import build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.settings.validation import update_settings
from heedful.types import Batch

VOCABULARY, EMBED, UNITS = 11, 5, 3
KINDS = ["rnn", "gru", "bigru", "lstm", "bilstm"]
NEVER = ["orthogonal_lstm", "orthogonal_bilstm"]
NETWORK = NetworkSettings(embed_size=EMBED, hidden_size=UNITS, kernels=(1,), words="gru", sentences="bilstm")


def make(encoder, has_query=False, **changes):
    torch.manual_seed(1)
    settings = update_settings(NETWORK, {"encoder": encoder, **changes})
    return build_model(settings, VOCABULARY, 2, has_query=has_query).double().eval()


def long_batch(lengths=(310, 17, 130), has_query=False) -> Batch:
    draw = torch.Generator().manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    tokens = torch.randint(1, VOCABULARY, mask.shape, generator=draw) * mask
    batch = Batch(torch.arange(len(mask)), tokens, mask, mask, torch.zeros(len(mask), dtype=torch.long))
    if has_query:
        query = torch.randint(1, VOCABULARY, (len(mask), 4), generator=draw)
        batch = replace(batch, query_tokens=query, query_mask=torch.ones_like(query, dtype=torch.bool))
    return batch


def both_ways(model, batch, step=13):
    """Fast and by running every shortened text, attending and with weights imposed, on every so manieth token."""
    with torch.no_grad():
        batch = replace(batch, attendable_mask=batch.mask & (torch.arange(batch.mask.shape[1]) % step == 1 % step))
        seen = trace(model, batch)
        imposed = [torch.randn(seen.encoded.items.shape, generator=torch.Generator().manual_seed(2)).double()]
        return [compute(model, seen, imposed) for compute in (leave_one_out_imposed, leave_one_out_reference)]


def to_the_end(batch, step=13):
    """The steps of all variants that read to the end, in one direction and in two."""
    ahead = back = 0
    for length in batch.mask.sum(1).tolist():
        gaps = range(1, length, step)
        ahead += sum(length - 1 - gap for gap in gaps)
        back += sum(gaps)
    return ahead, ahead + back


@pytest.mark.parametrize("encoder", KINDS)
@pytest.mark.parametrize("has_query", [False, True])
def test_a_variant_that_has_settled_stops_and_nothing_changes(encoder, has_query, steps_read):
    batch = long_batch(has_query=has_query)
    fast, wanted = both_ways(make(encoder, has_query, attention="dot" if has_query else "additive"), batch)
    torch.testing.assert_close(fast, wanted, atol=1e-12, rtol=0, equal_nan=True)
    assert sum(steps_read) < 0.7 * to_the_end(batch)[encoder.startswith("bi")]


@pytest.mark.parametrize("encoder", NEVER)
def test_a_sum_over_all_states_never_settles(encoder, steps_read):
    """What an orthogonal LSTM keeps of the deleted token's state fades from no later one."""
    batch = long_batch()
    fast, wanted = both_ways(make(encoder), batch)
    torch.testing.assert_close(fast, wanted, atol=1e-11, rtol=0, equal_nan=True)
    assert sum(steps_read) == to_the_end(batch)[encoder == "orthogonal_bilstm"]


def test_a_memory_that_never_fades_never_settles(steps_read):
    """Forget gates held open: an LSTM that counts."""
    model, batch = make("lstm"), long_batch()
    with torch.no_grad():
        model.encoder.ahead.bias_hh_l0[UNITS : 2 * UNITS] = 60.0
    fast, wanted = both_ways(model, batch)
    torch.testing.assert_close(fast, wanted, atol=1e-11, rtol=0, equal_nan=True)
    assert sum(steps_read) == to_the_end(batch)[0]


def unstable(quiet: int) -> tuple[torch.nn.Module, Batch]:
    """A text where differences fade to nothing and grow again: h' = tanh(2 h + x), at a stable point, then at 0.

    At the stable point h = 0.866 and differences halve at every step; a token takes the state to 0, where, without
    further input, they double.
    """
    model = make("rnn", hidden_size=1, embed_size=1, attention="uniform")
    stable = 0.75**0.5
    vectors = {4: torch.atanh(torch.tensor(stable, dtype=torch.float64)) - 2 * stable, 5: -2 * stable, 6: 0.0, 7: 1.0}
    with torch.no_grad():
        for weight, value in zip(model.encoder.ahead.all_weights[0], (1.0, 2.0, 0.0, 0.0), strict=True):
            weight.fill_(value)
        for token, vector in vectors.items():
            model.embedding.weight[token] = vector
    tokens = torch.tensor([[7] * 3 + [4] * quiet + [5] + [6] * 30])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    return model, Batch(torch.tensor([0]), tokens, mask, mask, torch.tensor([0]))


@pytest.mark.parametrize("quiet", range(38, 44))
def test_differences_that_grow_again_are_seen_and_the_text_is_read_to_its_end(quiet, monkeypatch):
    """As far as rounding leaves an answer: it, too, grows a billion times."""
    model, batch = unstable(quiet)
    fast, wanted = both_ways(model, batch, step=1)
    torch.testing.assert_close(fast, wanted, atol=1e-7, rtol=0, equal_nan=True)
    monkeypatch.setattr(reading, "GROWTH", torch.inf)
    blind, _ = both_ways(model, batch, step=1)
    assert (blind - wanted).abs().max() > 5e-7


@pytest.mark.parametrize("encoder", [*KINDS, *NEVER])
def test_neither_padding_nor_companions_nor_the_order_of_texts_change_anything(encoder):
    model, batch = make(encoder), long_batch((40, 33, 101))
    with torch.no_grad():
        together = leave_one_out_imposed(model, trace(model, batch), [])[0]
        for row, length in enumerate((40, 33, 101)):
            mask = torch.ones(1, length, dtype=torch.bool)
            alone = Batch(batch.index[:1], batch.tokens[row : row + 1, :length], mask, mask, batch.labels[:1])
            logits = leave_one_out_imposed(model, trace(model, alone), [])[0, 0]
            # An LSTM among longer texts follows small differences to first order.
            torch.testing.assert_close(
                logits, together[row, :length], atol=1e-10 if "lstm" in encoder else 1e-14, rtol=0
            )
            assert together[row, length:].isnan().all()


def test_a_hierarchical_model_may_have_many_sentences(steps_read):
    model, batch = make("hierarchical"), long_batch((300, 90))
    batch = replace(batch, sentence=(torch.arange(300) // 2).expand(2, 300) * batch.mask)
    with torch.no_grad():
        seen = trace(model, batch)
        fast, wanted = (compute(model, seen, []) for compute in (leave_one_out_imposed, leave_one_out_reference))
    torch.testing.assert_close(fast, wanted, atol=1e-12, rtol=0, equal_nan=True)
    assert sum(steps_read) < 0.9 * sum(count * (count - 1) for count in (150, 45))
