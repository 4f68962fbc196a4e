"""Texts as padded tensors: kept padded from epoch to epoch, or padded anew, they are the same batches."""

from dataclasses import replace

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from heedful.data import batching, load
from heedful.data.batching import bucketed, collate, encode_split
from heedful.data.tokenizer import PAD, WordTokenizer, learn_vocabulary
from heedful.settings import DataSettings, TextSettings


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
