from dataclasses import replace

import pytest
import torch

from heedful.data.tokenizer import END, START
from heedful.errors import SettingError
from heedful.models.encoders import FLAT
from heedful.models.trace import trace
from heedful.token_scores import global_scores, item_polarity, local_scores, scores
from support.models import TIME, VOCABULARY, cut, make, make_batch

BATCH = make_batch()


def read_one(model, tokens: list[int], place: int) -> tuple[list[float], float]:
    """The polarity and score of the token at a place of one text, by hand."""
    row = torch.tensor([tokens])
    real = torch.ones_like(row, dtype=torch.bool)
    batch = replace(
        BATCH, index=row[:, 0], tokens=row, mask=real, attendable=real, labels=row[:, 0] * 0, sentence=None, marks=None
    )
    seen = trace(model, batch)
    polarity = model.head.linear.weight @ seen.encoded.hidden[0, place]
    return polarity.tolist(), seen.scores[0, place].item()


@pytest.mark.parametrize("encoder", FLAT)
@pytest.mark.parametrize("attention", ["dot", "additive"])
@pytest.mark.parametrize("classes", [2, 5])
def test_global_scores_are_those_of_the_token_read_alone(encoder, attention, classes):
    model = make(encoder, attention, classes)
    actual = global_scores(model, VOCABULARY)
    assert actual.polarity.shape == ((VOCABULARY,) if classes == 2 else (VOCABULARY, classes))
    for token in (1, 7):
        polarity, score = read_one(model, [token], 0)
        assert actual.polarity[token].flatten().tolist() == pytest.approx(polarity, abs=1e-12)
        assert actual.attention[token].item() == pytest.approx(score, abs=1e-12)


def test_a_framed_token_is_read_between_start_and_end():
    model = make("bilstm", "dot")
    actual = global_scores(model, VOCABULARY, framed=True)
    polarity, score = read_one(model, [START, 7, END], 1)
    assert actual.polarity[7].item() == pytest.approx(polarity[0]) and actual.attention[7].item() == pytest.approx(
        score
    )
    assert actual.attention[7] != global_scores(model, VOCABULARY).attention[7]


def test_the_size_of_chunks_changes_nothing(monkeypatch):
    model = make("bilstm", classes=5)
    whole = global_scores(model, VOCABULARY)
    monkeypatch.setattr(scores, "CHUNK", 2)
    parts = global_scores(model, VOCABULARY)
    torch.testing.assert_close(parts.polarity, whole.polarity)
    torch.testing.assert_close(parts.attention, whole.attention)


@pytest.mark.parametrize("classes", [2, 5])
def test_local_scores_are_means_over_the_places_of_a_token(classes):
    model = make("bilstm", classes=classes)
    seen = trace(model, BATCH)
    actual = local_scores(model, [cut(BATCH, [0], TIME), cut(BATCH, [1, 2], TIME)], VOCABULARY)
    polarity = item_polarity(model, seen.encoded)
    for token in range(VOCABULARY):
        places = (BATCH.tokens == token) & BATCH.mask
        if not places.any():
            assert actual.attention[token].isnan() and actual.polarity[token].isnan().all()
            continue
        torch.testing.assert_close(actual.attention[token], seen.scores[places].mean().detach())
        torch.testing.assert_close(actual.polarity[token], polarity[places].mean(0).detach())


@pytest.mark.parametrize("encoder", ["identity", "affine", "average"])
def test_without_context_local_and_global_scores_are_the_same(encoder):
    model = make(encoder, "dot")
    alone, means = global_scores(model, VOCABULARY), local_scores(model, [BATCH], VOCABULARY)
    occurs = ~means.attention.isnan()
    torch.testing.assert_close(alone.polarity[occurs], means.polarity[occurs])
    torch.testing.assert_close(alone.attention[occurs], means.attention[occurs])


def test_what_attention_may_not_weigh_is_no_occurrence():
    model = make("bilstm")
    first = BATCH.attendable & (torch.arange(TIME) == 0)
    actual = local_scores(model, [replace(BATCH, attendable=first)], VOCABULARY)
    assert set((~actual.attention.isnan()).nonzero()[:, 0].tolist()) == set(BATCH.tokens[:, 0].tolist())


def test_the_bias_and_the_temperature_play_no_part():
    model, other = make("identity"), make("identity", temperature=3.0)
    with torch.no_grad():
        other.head.linear.bias.add_(5)
    actual, wanted = global_scores(other, VOCABULARY), global_scores(model, VOCABULARY)
    torch.testing.assert_close(actual.polarity, wanted.polarity)
    torch.testing.assert_close(actual.attention, wanted.attention)


def test_sentences_have_global_scores_alone():
    model = make("hierarchical")
    assert global_scores(model, VOCABULARY).attention.isfinite().all()
    with pytest.raises(SettingError, match="attends to sentences"):
        local_scores(model, [BATCH], VOCABULARY)


def test_scores_carry_no_graph():
    actual = global_scores(make("bilstm"), VOCABULARY)
    assert not actual.polarity.requires_grad and not actual.attention.requires_grad
