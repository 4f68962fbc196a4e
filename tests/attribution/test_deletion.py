from dataclasses import replace

import pytest
import torch

from heedful.attribution.deletion import logits_by_deletion, only_items
from heedful.attribution.items import item_of_token
from heedful.models.trace import trace
from heedful.types import Batch, Encoded
from support.models import BATCH, TIME, make, make_batch


def written(rows: list[list[int]], time: int) -> torch.Tensor:
    return torch.tensor([row + [0] * (time - len(row)) for row in rows])


def a_batch() -> Batch:
    """Two texts of four and three tokens between a start (2) and an end (3)."""
    tokens = written([[2, 5, 6, 7, 8, 3], [2, 9, 10, 4, 3]], 7)
    place, length = torch.arange(7), torch.tensor([[6], [5]])
    batch = Batch(
        torch.tensor([11, 13]), tokens, place < length, (place > 0) & (place < length - 1), torch.tensor([0, 1])
    )
    queries = {
        "query_tokens": torch.tensor([[5, 6], [7, 0]]),
        "query_mask": torch.tensor([[True, True], [True, False]]),
    }
    return replace(batch, **queries)


def shortened(seen, text: list[int], keep: list[list[int]]) -> Batch:
    """The texts of these numbers, each with the items of these numbers alone."""
    places = torch.arange(seen.encoded.items.shape[1])
    kept = torch.stack([torch.isin(places, torch.tensor(items)) for items in keep])
    return only_items(seen, item_of_token(seen), torch.tensor(text), kept)


def test_tokens_are_cut_out_the_rest_moves_up_and_symbols_stay():
    given = written([[0, 1, 2, 3, 4], [0, 1, 2, 5]], 7).double()
    seen = trace(make("bilstm"), replace(a_batch(), imposed_attention=given))
    shorter = shortened(seen, [1, 0, 0], [[2, 3], [1, 2, 4], [3]])
    assert (shorter.tokens * shorter.mask).tolist() == [[2, 10, 4, 3, 0], [2, 5, 6, 8, 3], [2, 7, 3, 0, 0]]
    assert shorter.mask.sum(1).tolist() == [4, 5, 3]
    assert shorter.attendable_mask.long().tolist() == [[0, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 1, 0, 0, 0]]
    assert shorter.index.tolist() == [13, 11, 11] and shorter.labels.tolist() == [1, 0, 0]
    assert shorter.query_tokens is not None and shorter.query_tokens.tolist() == [[7, 0], [5, 6], [5, 6]]
    assert shorter.query_mask is not None and shorter.query_mask.long().tolist() == [[1, 0], [1, 1], [1, 1]]
    wanted = torch.tensor([[0, 2 / 7, 5 / 7, 0, 0], [0, 1 / 7, 2 / 7, 4 / 7, 0], [0, 1, 0, 0, 0]]).double()
    torch.testing.assert_close(shorter.imposed_attention, wanted)


def test_sentences_are_cut_out_and_those_behind_them_are_renumbered():
    sentence = written([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1]], 7)
    given = torch.tensor([[0.2, 0.3, 0.5], [0.4, 0.6, 0.0]]).double()
    seen = trace(make("hierarchical"), replace(a_batch(), sentence=sentence, imposed_attention=given))
    shorter = shortened(seen, [0, 0, 1, 0], [[0, 2], [1, 2], [0], [2]])
    assert (shorter.tokens * shorter.mask).tolist() == [[2, 5, 8, 3], [6, 7, 8, 3], [2, 9, 0, 0], [8, 3, 0, 0]]
    assert shorter.sentence is not None
    assert shorter.sentence.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    wanted = torch.tensor([[2 / 7, 5 / 7], [0.375, 0.625], [1, 0], [1, 0]]).double()
    torch.testing.assert_close(shorter.imposed_attention, wanted)


def test_a_token_that_is_part_of_no_word_stays_so():
    """Items of a foreign model may be words in pieces: `sentence` numbers them, and -1 marks a symbol beside them."""
    sentence = written([[-1, 0, 0, 1, 2, -1], [-1, 0, 1, 1, -1]], 7)
    seen = trace(make("bilstm"), replace(a_batch(), sentence=sentence))
    items = torch.tensor([[True, True, True], [True, True, False]])
    words = replace(seen, encoded=Encoded(seen.encoded.hidden[:, :3], items))
    shorter = shortened(words, [0, 1], [[1, 2], [1]])
    assert (shorter.tokens * shorter.mask).tolist() == [[2, 7, 8, 3], [2, 10, 4, 3]]
    assert shorter.sentence is not None
    assert shorter.sentence.tolist() == [[-1, 0, 1, -1], [-1, 0, 0, -1]]


def some_parts() -> torch.Tensor:
    return torch.rand(BATCH, 5, TIME, generator=torch.Generator().manual_seed(0)) < 0.5


def test_only_what_was_chosen_is_run():
    model = make("gru")
    seen = trace(model, make_batch())
    keep = some_parts() & seen.encoded.items[:, None]
    chosen = torch.zeros(BATCH, 5, dtype=torch.bool)
    chosen[0, 3] = chosen[1, 0] = True
    assert keep[chosen].any(-1).all()
    imposed = torch.zeros(BATCH, TIME).double()
    actual = logits_by_deletion(model, seen, keep, chosen, tokens=17, imposed=imposed)
    assert actual.shape == (BATCH, 5, 2)
    assert (actual.isnan().all(-1) == ~chosen).all()


@pytest.mark.parametrize(("encoder", "tokens"), [("bilstm", 1), ("hierarchical", 17)])
def test_chunks_of_any_size_give_the_same(encoder, tokens):
    model = make(encoder)
    seen = trace(model, make_batch())
    items = seen.encoded.items[:, None]
    keep = some_parts()[..., : items.shape[-1]] & items
    chosen = keep.any(-1)
    imposed = torch.randn(*items.shape[::2], generator=torch.Generator().manual_seed(1)).double()
    wanted = logits_by_deletion(model, seen, keep, chosen, tokens=10**6, imposed=imposed)
    actual = logits_by_deletion(model, seen, keep, chosen, tokens=tokens, imposed=imposed)
    torch.testing.assert_close(actual, wanted, atol=1e-12, rtol=0, equal_nan=True)
