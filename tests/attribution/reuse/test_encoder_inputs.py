from dataclasses import replace

import torch

from heedful.attribution.linear_parts import scoring_of
from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.models.trace import trace
from support.models import make, make_batch


def test_selected_texts_are_cut_to_the_longest_of_them():
    model = make("bilstm", "dot", has_query=True)
    seen = trace(model, make_batch(has_query=True))
    scoring = scoring_of(model.attention, 1.0, seen.encoded, seen.scores)
    batch = seen.batch
    inputs = EncoderInputs(
        seen.embedded, batch.mask, batch.attendable_mask, seen.encoded.hidden, seen.scores, scoring, (seen.scores + 1,)
    )
    hidden = seen.encoded.hidden.shape[-1]
    per_text = torch.randn(3, 4, hidden, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    some = inputs.select(torch.tensor([2, 1]))
    assert some.mask.long().tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    torch.testing.assert_close(some.hidden, seen.encoded.hidden[[2, 1], :4])
    torch.testing.assert_close(some.imposed, ((seen.scores + 1)[[2, 1], :4],))
    torch.testing.assert_close(some.scoring.weight, scoring.weight[[2, 1]])
    assert some.value_weight is None
    for weight, wanted in ((per_text, per_text[[2, 1]]), (per_text[0], per_text[0])):
        selected = replace(inputs, value_weight=weight).select(torch.tensor([2, 1]))
        assert selected.value_weight is not None and torch.equal(selected.value_weight, wanted)
