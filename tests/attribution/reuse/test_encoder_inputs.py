import torch

from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.attribution.reuse.scoring import scoring_of
from heedful.models.trace import trace
from support.models import make, make_batch


def test_selected_texts_are_cut_to_the_longest_of_them():
    model = make("bilstm", "dot", has_query=True)
    seen = trace(model, make_batch(has_query=True))
    scoring = scoring_of(model.attention, 1.0, seen.encoded, seen.scores)
    batch = seen.batch
    inputs = EncoderInputs(
        seen.embedded, batch.mask, batch.attendable, seen.encoded.hidden, seen.scores, scoring, (seen.scores + 1,)
    )
    some = inputs.select(torch.tensor([2, 1]))
    assert some.mask.long().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    torch.testing.assert_close(some.hidden, seen.encoded.hidden[[2, 1], :4])
    torch.testing.assert_close(some.imposed, ((seen.scores + 1)[[2, 1], :4],))
    torch.testing.assert_close(some.scoring.weight, scoring.weight[[2, 1]])


def test_reordering_twice_by_its_own_inverse_changes_nothing():
    model = make("bilstm")
    seen = trace(model, make_batch())
    scoring = scoring_of(model.attention, 1.0, seen.encoded, seen.scores)
    batch = seen.batch
    inputs = EncoderInputs(
        seen.embedded, batch.mask, batch.attendable, seen.encoded.hidden, seen.scores, scoring, (seen.scores + 1,)
    )
    back = torch.arange(6, -1, -1).expand(3, 7)
    turned = inputs.reordered(back)
    assert torch.equal(turned.vectors, inputs.vectors.flip(1)) and torch.equal(turned.items, inputs.items.flip(1))
    assert torch.equal(turned.imposed[0], inputs.imposed[0].flip(1))
    again = turned.reordered(back)
    for name in ("vectors", "mask", "items", "hidden", "scores"):
        assert torch.equal(getattr(again, name), getattr(inputs, name))
    assert torch.equal(again.scoring.constant, inputs.scoring.constant)
