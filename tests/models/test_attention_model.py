from dataclasses import replace

import pytest
import torch

from heedful.errors import SettingError
from heedful.models.attention_model import build_model
from heedful.models.encoders import ENCODERS
from heedful.models.trace import trace
from heedful.settings.validation import update_settings
from heedful.types import LinearModel, Model
from support.models import (
    BATCH,
    LENGTHS,
    NETWORK,
    TIME,
    VOCABULARY,
    cases,
    cut,
    give_attention,
    make,
    make_batch,
)


def test_attention_is_a_distribution_and_logits_are_attention_times_item_logits():
    for encoder, attention, classes, has_query in cases():
        model = make(encoder, attention, classes, has_query)
        batch = give_attention(make_batch(has_query), encoder == "hierarchical")
        seen = trace(model, batch)
        assert isinstance(model, LinearModel)
        assert seen.logits.shape == (BATCH, classes)
        summed = (seen.attention[..., None] * model.item_logits(seen.encoded)).sum(1)
        torch.testing.assert_close(seen.logits, summed, atol=1e-6, rtol=0)
        nothing = model.decode(seen.encoded, torch.zeros_like(seen.attention))
        torch.testing.assert_close(model.empty_logits(seen.encoded), nothing, atol=1e-12, rtol=0)
        torch.testing.assert_close(seen.attention.sum(1), torch.ones(BATCH).double())
        assert (seen.attention[~seen.encoded.items] == 0).all()


def test_padding_batch_size_and_order_change_nothing():
    for encoder in ENCODERS:
        for has_query in [False, True]:
            if has_query and encoder == "hierarchical":
                continue
            model, batch = make(encoder, has_query=has_query), make_batch(has_query)
            together = trace(model, batch)
            for row, length in enumerate(LENGTHS.tolist()):
                alone = trace(model, cut(batch, [row], length))
                torch.testing.assert_close(alone.logits[0], together.logits[row], atol=1e-12, rtol=0)
                items = alone.attention.shape[1]
                torch.testing.assert_close(alone.attention[0], together.attention[row, :items], atol=1e-12, rtol=0)
            turned = trace(model, cut(batch, [2, 0, 1], TIME))
            torch.testing.assert_close(turned.logits, together.logits[[2, 0, 1]], atol=1e-12, rtol=0)


def test_start_and_end_symbols_are_read_but_never_attended():
    model, batch = make("bilstm"), make_batch()
    inner = torch.arange(TIME) < LENGTHS[:, None] - 1
    framed = replace(cut(batch, [0, 1], TIME), attendable_mask=(inner & (torch.arange(TIME) > 0))[:2])
    seen = trace(model, framed)
    assert (seen.attention[:, 0] == 0).all() and (seen.attention[[0, 1], [6, 3]] == 0).all()
    tokens = framed.tokens.clone()
    tokens[:, 0] = tokens[:, 0] % (VOCABULARY - 1) + 1
    assert (trace(model, replace(framed, tokens=tokens)).logits != seen.logits).any()


def test_the_scale_divides_dot_scores():
    plain, scaled = make(attention="dot", scale=1.0), make(attention="dot", scale=10.0)
    torch.testing.assert_close(trace(plain, make_batch()).scores, 10 * trace(scaled, make_batch()).scores)


def test_frozen_attention_is_used_as_given():
    batch = give_attention(make_batch(), hierarchical=False)
    seen = trace(make(attention="frozen"), batch)
    torch.testing.assert_close(seen.attention, batch.imposed_attention)


def test_frozen_attention_must_be_given():
    with pytest.raises(SettingError, match="'frozen' needs the attention to impose"):
        trace(make(attention="frozen"), make_batch())


def test_a_tanh_head_is_not_offered_as_linear():
    model = make(head="tanh", has_query=True)
    assert isinstance(model, Model) and not isinstance(model, LinearModel)
    assert trace(model, make_batch(has_query=True)).logits.shape == (BATCH, 2)


def test_a_hierarchical_model_needs_sentences():
    with pytest.raises(SettingError, match="needs sentence boundaries"):
        trace(make("hierarchical"), replace(make_batch(), sentence=None))


def test_a_hierarchical_model_takes_no_query():
    with pytest.raises(SettingError, match="without a query"):
        make("hierarchical", has_query=True)


def test_a_query_model_needs_a_query():
    with pytest.raises(SettingError, match="the batch has none"):
        trace(make(has_query=True), make_batch())


def test_attention_and_head_start_as_the_settings_say():
    torch.manual_seed(0)
    wide = {"embed_size": 400, "attention_size": 300, "encoder": "identity"}
    for attention, layer in (("dot", "query"), ("additive", "score")):
        network = update_settings(NETWORK, {**wide, "attention": attention})
        plain = build_model(network, VOCABULARY, 2)
        other = build_model(update_settings(network, {"attention_start": "normal", "head_start": "uniform"}), 11, 2)
        looks_for = [getattr(model.attention, layer).weight for model in (plain, other)]
        heads = [model.head.linear.weight for model in (plain, other)]
        assert looks_for[0].abs().max() < 0.1 and looks_for[1].std().item() == pytest.approx(1, abs=0.15)
        assert heads[0].abs().max() < 0.1 and 0.9 < heads[1].abs().max() <= 1


def test_matrices_of_recurrent_encoders_may_start_orthogonal():
    wide = update_settings(NETWORK, {"encoder": "bilstm", "embed_size": 8, "hidden_size": 8})
    models = [
        build_model(update_settings(wide, {"encoder_start": start}), 11, 2) for start in ("default", "orthogonal")
    ]
    for model, is_orthogonal in zip(models, (False, True), strict=True):
        for matrix in (weight for weight in model.encoder.parameters() if weight.dim() == 2):
            assert torch.allclose(matrix.T @ matrix, torch.eye(8), atol=1e-5) == is_orthogonal


def test_without_other_starts_nothing_more_is_drawn():
    samples = []
    for _ in range(2):
        torch.manual_seed(0)
        build_model(NETWORK, VOCABULARY, 2)
        samples.append(torch.rand(()))
    torch.manual_seed(0)
    build_model(update_settings(NETWORK, {"attention_start": "normal"}), VOCABULARY, 2)
    assert samples[0] == samples[1] != torch.rand(())
