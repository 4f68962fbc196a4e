"""Texts as padded tensors: kept padded from epoch to epoch, or padded anew, they are the same batches."""

from dataclasses import replace

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from heedful.data import batching, load
from heedful.data.batching import bucketed, collate, encode_marks, encode_split, pad_marks
from heedful.data.tokenizer import PAD, WordTokenizer, learn_vocabulary
from heedful.settings import DataSettings, TextSettings
from heedful.types import Example


@pytest.fixture
def split():
    text = TextSettings(start_end=True)
    examples = load(DataSettings(source="mock-1", train_limit=23, test_limit=5), text).train
    examples = [type(e)(e.tokens[: 1 + 3 * n % len(e.tokens)], e.label) for n, e in enumerate(examples)]
    return encode_split(examples, learn_vocabulary(WordTokenizer.from_settings(text), examples, 1))


def test_a_split_that_stays_padded_gives_the_batches_that_are_padded_anew(split, monkeypatch):
    batches = bucketed(split.lengths, 4, torch.Generator().manual_seed(1))
    kept = [collate(split, index) for index in batches]
    monkeypatch.setattr(batching, "MOST_PADDED", 0)
    anew = replace(split)
    assert split.padded is not None and anew.padded is None
    for index, batch in zip(batches, kept, strict=True):
        assert batch.tokens.is_contiguous()
        wanted = pad_sequence([split.texts[i] for i in index], batch_first=True, padding_value=PAD)
        for tokens in (batch.tokens, collate(anew, index).tokens):
            assert torch.equal(tokens, wanted)
        assert batch.mask.sum(1).tolist() == [len(split.texts[i]) for i in index]
        assert batch.index.tolist() == index and batch.labels.tolist() == split.labels[index].tolist()


def test_a_batch_that_is_changed_leaves_the_split_as_it_was(split):
    before = split.texts[0].clone()
    collate(split, [0, 1]).tokens.fill_(7)
    assert torch.equal(collate(split, [0]).tokens[0], before)


def test_marks_stand_beside_the_tokens_and_nobody_marks_a_start_or_end_symbol():
    assert encode_marks([(1,), (0, 2)], 3).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert encode_marks([(0, 2)], 3, framed=True).tolist() == [[0, 1, 0, 1, 0]]
    assert encode_marks([], 3).shape == (0, 3)


def test_texts_may_have_other_numbers_of_tokens_and_annotators():
    padded = pad_marks([encode_marks([(1,), ()], 2), encode_marks([(0,)], 3), None], 5)
    assert padded.shape == (3, 2, 5)
    assert padded[0].tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert padded[1, 0].tolist() == [1, 0, 0, 0, 0] and padded[1, 1].isnan().all()
    assert padded[2].isnan().all()


def test_a_batch_that_nobody_marked_has_a_row_of_its_own():
    assert pad_marks([None, None], 4).shape == (2, 1, 4)
    assert torch.isnan(pad_marks([None], 4)).all()


def test_a_batch_has_the_marks_of_its_texts_beside_their_tokens():
    """Start and end symbols are marked by nobody; a text that nobody marked has no annotators."""
    examples = [Example(("a", "b", "c"), 0, annotators=((0, 2), (1,))), Example(("b",), 1), Example(("a",), 0)]
    words = learn_vocabulary(WordTokenizer.from_settings(TextSettings(start_end=True)), examples, 1)
    split = encode_split(examples, words)
    marks = collate(split, [0, 1]).marks
    assert marks.shape == (2, 2, 5)
    assert marks[0].tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 0]] and marks[1].isnan().all()
    assert collate(split, [1, 2]).marks.isnan().all()
    assert collate(encode_split(examples[1:], words), [0, 1]).marks is None
