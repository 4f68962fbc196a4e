import pytest
import torch

from heedful.attribution.linear_parts import scoring_of
from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.attribution.reuse.recurrent import contexts
from heedful.models.encoders.recurrent import Recurrent
from heedful.models.trace import trace
from support.models import LENGTHS, make, make_batch

RECURRENT = ["rnn", "gru", "bigru", "lstm", "bilstm"]


def encoder_inputs(model, seen, *imposed):
    scoring = scoring_of(model.attention, model.temperature, seen.encoded, seen.scores)
    batch, hidden = seen.batch, seen.encoded.hidden
    return EncoderInputs(
        seen.embedded, batch.mask, batch.attendable_mask, hidden, seen.scores / model.temperature, scoring, imposed
    )


def log_weights(seen, spread=1.0):
    """Log weights of every item; none where there is no item."""
    drawn = spread * torch.randn(seen.scores.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return drawn.to(seen.scores).masked_fill(~seen.encoded.items, -torch.inf)


def one_by_one(model, seen, imposed):
    """The contexts of each shortened text, encoded alone: by attention, and by the imposed log weights."""
    actual = torch.full_like(seen.encoded.hidden, torch.nan).repeat(2, 1, 1, 1)
    for row, length in enumerate(LENGTHS.tolist()):
        for gap in range(length if length > 1 else 0):
            kept = [place for place in range(length) if place != gap]
            read = torch.ones(1, length - 1, dtype=torch.bool)
            hidden = model.encoder(seen.embedded[row : row + 1, kept], read)
            scores = model.attention.of(hidden) / model.temperature
            actual[0, row, gap] = scores[0].softmax(-1) @ hidden[0]
            actual[1, row, gap] = imposed[row, kept].softmax(-1) @ hidden[0]
    return actual


@pytest.mark.parametrize("encoder", RECURRENT)
@pytest.mark.parametrize("most", [1, 5, 6, 9, 1024])
def test_groups_of_variants_of_any_size_give_the_same(encoder, most):
    model = make(encoder)
    assert isinstance(model.encoder, Recurrent)
    with torch.no_grad():
        seen = trace(model, make_batch())
        imposed = log_weights(seen)
        actual = contexts(model.encoder, encoder_inputs(model, seen, imposed), most)
        wanted = one_by_one(model, seen, imposed)
    several = seen.encoded.items & (LENGTHS > 1)[:, None]
    torch.testing.assert_close(actual[:, several], wanted[:, several], atol=1e-13, rtol=0)
    assert actual[:, 2, 0].isnan().all()


@pytest.mark.parametrize("encoder", RECURRENT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scores_too_far_apart_for_exponentials_are_summed_up_all_the_same(encoder, dtype):
    model = make(encoder, temperature=1e-4).to(dtype)
    assert isinstance(model.encoder, Recurrent)
    with torch.no_grad():
        seen = trace(model, make_batch())
        assert (seen.scores.amax(1) - seen.scores.amin(1)).max() / 1e-4 > 800
        imposed = log_weights(seen, spread=2000.0)
        actual = contexts(model.encoder, encoder_inputs(model, seen, imposed))
        wanted = one_by_one(model, seen, imposed)
    several = seen.encoded.items & (LENGTHS > 1)[:, None]
    # At this temperature single precision's rounding of scores is a matter of 1e-3 of the weights.
    atol = 1e-10 if dtype == torch.float64 else 0.02
    torch.testing.assert_close(actual[:, several], wanted[:, several], atol=atol, rtol=0)
