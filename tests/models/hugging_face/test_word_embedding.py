"""The states of a pretrained transformer; what it reads is tested in tests/models/pretrained/test_words.py."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.attribution.subsets import logits_of_subsets
from heedful.data.tokenizer import END, SPECIAL, START
from heedful.errors import SettingError
from heedful.models.attention_model import build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch
from support.tiny_encoders import WORDS

VOCABULARY = (*SPECIAL, *WORDS)
ID = {word: number for number, word in enumerate(VOCABULARY)}


def make(encoder, has_query=False, **changes):
    torch.manual_seed(0)
    settings = NetworkSettings(encoder=encoder, embed_size=16, **changes)
    model = build_model(settings, VOCABULARY, 2, has_query=has_query)
    model.embedding.load_pretrained()
    return model.double().eval()


def batch_of(*texts, framed=False):
    rows = [[ID[word] for word in text.split()] for text in texts]
    rows = [[START, *row, END] for row in rows] if framed else rows
    longest = max(map(len, rows))
    tokens = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
    attendable_mask = mask & (tokens != START) & (tokens != END)
    return Batch(torch.arange(len(rows)), tokens, mask, attendable_mask, torch.zeros(len(rows), dtype=torch.long))


either = pytest.mark.parametrize("finetune", [False, True])


@either
@torch.no_grad()
def test_padding_changes_no_number(encoder, finetune):
    model = make(encoder, finetune=finetune)
    alone = trace(model, batch_of("not good"))
    beside = trace(model, batch_of("the unlikely film is goodish", "not good"))
    torch.testing.assert_close(beside.logits[1:], alone.logits, rtol=0, atol=1e-6 if not finetune else 1e-12)
    assert not beside.embedded[1, 2:].any() and not beside.attention[1, 2:].any()


@either
@torch.no_grad()
def test_our_symbols_are_not_read_and_are_zero(encoder, finetune):
    model = make(encoder, finetune=finetune)
    framed, plain = model.embed(batch_of("not good", framed=True)), model.embed(batch_of("not good"))
    torch.testing.assert_close(framed[:, 1:-1], plain, rtol=0, atol=1e-6)
    assert not framed[:, [0, -1]].any()


@either
@torch.no_grad()
def test_a_word_that_is_left_out_is_never_read(encoder, finetune):
    """Against texts that were written without it: not only attention loses the word, the transformer does, too."""
    model, text = make(encoder, finetune=finetune), "the film is unlikely"
    seen = trace(model, batch_of(text, "bad plot"))
    without = leave_one_out(model, seen)
    for place in range(4):
        shorter = " ".join(word for number, word in enumerate(text.split()) if number != place)
        expected = trace(model, batch_of(shorter)).logits[0]
        torch.testing.assert_close(without[0, place], expected, rtol=0, atol=1e-6)
    reweighed = seen.attention[0] * (torch.arange(4) != 0)
    kept = model.decode(replace(seen.encoded, hidden=seen.encoded.hidden), (reweighed / reweighed.sum()).expand(2, 4))
    assert not torch.allclose(without[0, 0], kept[0], atol=1e-4)
    keep = torch.tensor([[[True, False, True, True]], [[True, True, False, False]]])
    torch.testing.assert_close(logits_of_subsets(model, seen, keep)[0, 0], without[0, 1], rtol=0, atol=1e-6)


def test_a_frozen_transformer_is_no_part_of_the_model(encoder):
    frozen, tuned = make(encoder), make(encoder, finetune=True)
    assert not [name for name in frozen.state_dict() if "embedding" in name]
    assert [name for name in tuned.state_dict() if name.startswith("embedding.transformer.")]
    with torch.no_grad():
        same = [model.embed(batch_of("the film is good")) for model in (frozen, tuned, deepcopy(frozen))]
    torch.testing.assert_close(same[0], same[1], rtol=0, atol=1e-5)
    assert torch.equal(same[0], same[2])


def test_only_a_transformer_that_is_trained_has_gradients(encoder):
    for model, count in ((make(encoder), 0), (make(encoder, finetune=True), 1)):
        trace(model, batch_of("the film is good")).logits.sum().backward()
        tuned = [p for p in model.embedding.parameters() if p.grad is not None and p.grad.any()]
        assert bool(tuned) == bool(count)


@torch.no_grad()
def test_a_query_is_read_by_itself(encoder):
    model = make(encoder, has_query=True)
    batch, query = batch_of("the film is good", "bad plot"), batch_of("not good", "film")
    batch = replace(batch, query_tokens=query.tokens, query_mask=query.mask)
    expected = model.embed(query)[0].mean(0)
    torch.testing.assert_close(trace(model, batch).encoded.query[0], expected, rtol=0, atol=1e-12)


def test_texts_that_are_too_long_are_counted(encoder, tmp_path):
    from support.tiny_encoders import save_encoder

    short = make(save_encoder(tmp_path / "short", max_position_embeddings=6))
    assert short.embedding.prepare([[ID["film"]] * 4, [ID["film"]] * 5, [START, ID["unlikely"], ID["is"], END]]) == 1


def test_the_words_themselves_are_needed(encoder):
    with pytest.raises(SettingError, match=r"vocabulary must be the words themselves .* it was 7"):
        build_model(NetworkSettings(encoder=encoder, embed_size=16), 7, 2)
