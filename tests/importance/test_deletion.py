from dataclasses import replace

import pytest
import torch

from heedful.importance import deletion
from heedful.importance.deletion import logits_by_deletion, without_item
from heedful.importance.items import item_of_token
from heedful.model import trace
from heedful.types import Batch
from test_model import make, make_batch


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


def test_a_token_is_cut_out_and_the_rest_moves_up():
    seen = trace(make("bilstm"), replace(a_batch(), given=written([[0, 1, 2, 3, 4], [0, 1, 2, 5]], 7).double()))
    shorter = without_item(seen, item_of_token(seen), torch.tensor([1, 0]), torch.tensor([1, 3]))
    assert (shorter.tokens * shorter.mask).tolist() == [[2, 10, 4, 3, 0], [2, 5, 6, 8, 3]]
    assert shorter.mask.sum(1).tolist() == [4, 5]
    assert shorter.attendable.long().tolist() == [[0, 1, 1, 0, 0], [0, 1, 1, 1, 0]]
    assert shorter.index.tolist() == [13, 11] and shorter.labels.tolist() == [1, 0]
    assert shorter.query_tokens is not None and shorter.query_tokens.tolist() == [[7, 0], [5, 6]]
    assert shorter.query_mask is not None and shorter.query_mask.long().tolist() == [[1, 0], [1, 1]]
    wanted = torch.tensor([[0, 2 / 7, 5 / 7, 0, 0], [0, 1 / 7, 2 / 7, 4 / 7, 0]]).double()
    torch.testing.assert_close(shorter.given, wanted)


def test_a_sentence_is_cut_out_and_those_behind_it_are_renumbered():
    sentence = written([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1]], 7)
    given = torch.tensor([[0.2, 0.3, 0.5], [0.4, 0.6, 0.0]]).double()
    seen = trace(make("hierarchical"), replace(a_batch(), sentence=sentence, given=given))
    shorter = without_item(seen, item_of_token(seen), torch.tensor([0, 0, 1]), torch.tensor([1, 0, 1]))
    assert (shorter.tokens * shorter.mask).tolist() == [[2, 5, 8, 3], [6, 7, 8, 3], [2, 9, 0, 0]]
    assert shorter.sentence is not None
    assert shorter.sentence.tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    torch.testing.assert_close(shorter.given, torch.tensor([[2 / 7, 5 / 7], [0.375, 0.625], [1, 0]]).double())


def test_only_what_was_chosen_is_run():
    model = make("gru")
    seen = trace(model, make_batch())
    chosen = torch.zeros_like(seen.encoded.items)
    chosen[0, 3] = chosen[1, 0] = True
    found = logits_by_deletion(model, seen, chosen)
    assert (found.isnan().all(-1) == ~chosen).all()


@pytest.mark.parametrize("tokens", [1, 17, 10**6])
def test_chunks_of_any_size_give_the_same(tokens, monkeypatch):
    model = make("bilstm")
    seen = trace(model, make_batch())
    chosen = seen.encoded.items & (seen.encoded.items.sum(1, keepdim=True) > 1)
    wanted = logits_by_deletion(model, seen, chosen)
    monkeypatch.setattr(deletion, "TOKENS", tokens)
    found = logits_by_deletion(model, seen, chosen)
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0, equal_nan=True)
