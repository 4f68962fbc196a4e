import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.reading import Reading, of_similar_length
from heedful.attribution.scoring import scoring_of
from heedful.models.trace import trace
from support.models import make, make_batch


@given(st.lists(st.integers(0, 30), min_size=1, max_size=11), st.integers(1, 100))
def test_every_row_comes_once_and_no_chunk_is_too_large(lengths, most):
    chunks = [chunk.tolist() for chunk in of_similar_length(torch.tensor(lengths), most)]
    assert sorted(row for chunk in chunks for row in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        assert len(chunk) == 1 or len(chunk) * max(lengths[row] for row in chunk) <= most


def test_some_texts_are_cut_to_the_longest_of_them():
    model = make("bilstm", "dot", has_query=True)
    seen = trace(model, make_batch(has_query=True))
    scoring = scoring_of(model.attention, 1.0, seen.encoded, seen.scores)
    batch = seen.batch
    reading = Reading(seen.embedded, batch.mask, batch.attendable, seen.encoded.hidden, seen.scores, scoring)
    some = reading.some(torch.tensor([2, 1]))
    assert some.mask.long().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    torch.testing.assert_close(some.hidden, seen.encoded.hidden[[2, 1], :4])
    torch.testing.assert_close(some.scoring.weight, scoring.weight[[2, 1]])


def test_reordering_twice_by_its_own_inverse_changes_nothing():
    model = make("bilstm")
    seen = trace(model, make_batch())
    scoring = scoring_of(model.attention, 1.0, seen.encoded, seen.scores)
    batch = seen.batch
    reading = Reading(seen.embedded, batch.mask, batch.attendable, seen.encoded.hidden, seen.scores, scoring)
    back = torch.arange(6, -1, -1).expand(3, 7)
    turned = reading.reordered(back)
    assert torch.equal(turned.inputs, reading.inputs.flip(1)) and torch.equal(turned.items, reading.items.flip(1))
    again = turned.reordered(back)
    for name in ("inputs", "mask", "items", "hidden", "scores"):
        assert torch.equal(getattr(again, name), getattr(reading, name))
    assert torch.equal(again.scoring.constant, reading.scoring.constant)
