from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.items import item_of_token, items_are_tokens, of_similar_length
from heedful.errors import SettingError
from heedful.models.trace import trace
from support.models import make, make_batch


def test_a_token_is_its_own_item_unless_it_is_not_attended():
    batch = make_batch()
    attendable_mask = batch.mask & (torch.arange(7) != 1)
    seen = trace(make("gru"), replace(batch, attendable_mask=attendable_mask))
    assert items_are_tokens(seen)
    wanted = [[0, -1, 2, 3, 4, 5, 6], [0, -1, 2, 3, -1, -1, -1], [0, -1, -1, -1, -1, -1, -1]]
    assert item_of_token(seen).tolist() == wanted


def test_every_token_of_a_sentence_is_part_of_it():
    seen = trace(make("hierarchical"), make_batch())
    assert not items_are_tokens(seen)
    wanted = [[0, 0, 0, 1, 1, 1, 2], [0, 0, 0, 1, -1, -1, -1], [0, -1, -1, -1, -1, -1, -1]]
    assert item_of_token(seen).tolist() == wanted


@pytest.mark.parametrize("sentence", [None, torch.zeros(3, 7, dtype=torch.long)])
def test_items_that_nothing_numbers_are_refused(sentence):
    seen = trace(make("hierarchical"), make_batch())
    with pytest.raises(SettingError, match="`Batch.sentence`, the index of the item"):
        item_of_token(replace(seen, batch=replace(seen.batch, sentence=sentence)))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=11), st.integers(1, 100))
def test_every_text_comes_once_and_no_chunk_is_too_large(lengths, most):
    chunks = [chunk.tolist() for chunk in of_similar_length(torch.tensor(lengths), most)]
    assert sorted(text for chunk in chunks for text in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[text] for text in chunk) <= most
