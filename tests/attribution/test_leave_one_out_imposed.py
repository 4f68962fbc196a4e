"""Leave-one-out under imposed weights, against every shortened text written out and decoded with what is left."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from heedful.attribution import (
    convolution,
    leave_one_out,
    leave_one_out_imposed,
    leave_one_out_reference,
    recurrent_step,
)
from heedful.models.encoders import ENCODERS, FLAT
from heedful.models.trace import trace
from heedful.types import Batch
from support.four_verbs import FourVerbs
from support.models import BATCH, LENGTHS, TIME, make, make_batch
from support.pairwise import pairwise


def seen_by(model, batch):
    with torch.no_grad():
        return trace(model, batch)


def draw_log_weights(seen, seed=0):
    """Normal numbers at every position: at padding, too, where nothing may be read from them."""
    return torch.randn(seen.encoded.items.shape, generator=torch.Generator().manual_seed(seed)).double()


def close(actual, wanted):
    torch.testing.assert_close(actual, wanted, atol=1e-10, rtol=0, equal_nan=True)


def without(batch: Batch, row: int, kept: list[int]) -> Batch:
    """One text with the tokens at these places alone."""
    read = torch.ones(1, len(kept), dtype=torch.bool)
    left = Batch(batch.index[:1], batch.tokens[row, kept][None], read, read, batch.labels[:1])
    if batch.query_tokens is None or batch.query_mask is None:
        return left
    return replace(left, query_tokens=batch.query_tokens[row : row + 1], query_mask=batch.query_mask[row : row + 1])


def written_out(model, seen, log_weights):
    """Delete the token, encode anew, decode with the other tokens' weights divided by their sum; NaN without any."""
    wanted = torch.full((*seen.encoded.items.shape, seen.logits.shape[-1]), torch.nan, dtype=torch.float64)
    for row, length in enumerate(LENGTHS.tolist()):
        for item in range(length):
            kept = [place for place in range(length) if place != item]
            if not kept:
                continue
            shorter = without(seen.batch, row, kept)
            encoded = model.encode(model.embed(shorter), shorter)
            weights = log_weights[row, kept].exp()
            wanted[row, item] = model.decode(encoded, (weights / weights.sum())[None])[0]
    return wanted


@torch.no_grad()
@pytest.mark.parametrize(
    ("encoder", "head", "attention", "has_query"),
    pairwise((*row, row[2] == "dot") for row in product(FLAT, ("linear", "tanh"), ("additive", "dot"))),
)
def test_it_is_deleting_encoding_anew_and_imposing_what_is_left(encoder, head, attention, has_query):
    model = make(encoder, attention, classes=5, has_query=has_query, head=head, temperature=0.5)
    seen = seen_by(model, make_batch(has_query))
    imposed = [draw_log_weights(seen, seed) for seed in (0, 1)]
    for compute in (leave_one_out_imposed, leave_one_out_reference):
        actual = compute(model, seen, imposed)
        assert actual.shape == (3, BATCH, TIME, 5)
        for way, weights in enumerate(imposed, start=1):
            close(actual[way], written_out(model, seen, weights))
        close(actual[0], leave_one_out(model, seen))


@torch.no_grad()
@pytest.mark.parametrize("sentences", FLAT)
def test_a_hierarchical_model_loses_whole_sentences(sentences):
    model, batch = make("hierarchical", sentences=sentences), make_batch()
    seen = seen_by(model, batch)
    weights = draw_log_weights(seen)
    fast, reference = (compute(model, seen, [weights]) for compute in (leave_one_out_imposed, leave_one_out_reference))
    close(fast, reference)
    assert batch.sentence is not None
    for row, item in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        kept = (batch.mask[row] & (batch.sentence[row] != item)).nonzero()[:, 0].tolist()
        left = batch.sentence[row, kept]
        shorter = replace(without(batch, row, kept), sentence=(left - (left > item).long())[None])
        encoded = model.encode(model.embed(shorter), shorter)
        others = [other for other in range(3 if row == 0 else 2) if other != item]
        close(fast[1, row, item], model.decode(encoded, weights[row, others].softmax(-1)[None])[0])


@pytest.mark.parametrize("encoder", ["identity", "affine", "average"])
def test_own_weights_imposed_are_attending_anew_where_no_state_depends_on_another(encoder):
    model = make(encoder)
    seen = seen_by(model, make_batch())
    attending, imposed = leave_one_out_imposed(model, seen, [seen.attention.log()])
    close(imposed, attending)


def test_own_weights_imposed_are_not_attending_anew_in_context():
    model = make("bilstm")
    seen = seen_by(model, make_batch())
    attending, imposed = leave_one_out_imposed(model, seen, [seen.attention.log()])
    assert ((attending - imposed).abs()[0] > 1e-6).any(-1).all()


@torch.no_grad()
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_very_sharp_weighting_leaves_a_rest_with_its_shape(encoder):
    """Log weights thousands apart: without the top item it is as if that had never had any weight."""
    model = make(encoder)
    seen = seen_by(model, make_batch())
    mild = draw_log_weights(seen)
    sharp = mild.clone()
    sharp[:, 1] += 5000.0
    for compute in (leave_one_out_imposed, leave_one_out_reference):
        _, wanted, actual = compute(model, seen, [mild, sharp])
        close(actual[:, 1], wanted[:, 1])
        assert actual[seen.encoded.items & (seen.encoded.items.sum(1, keepdim=True) > 1)].isfinite().all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_it_is_undefined_where_no_imposed_weight_is_left(encoder):
    """All weight on the first item: nothing is left without it; without any other, all of it."""
    model = make(encoder)
    seen = seen_by(model, make_batch())
    one_hot = torch.full(seen.encoded.items.shape, -torch.inf, dtype=torch.float64)
    one_hot[:, 0] = 0.0
    for compute in (leave_one_out_imposed, leave_one_out_reference):
        attending, imposed = compute(model, seen, [one_hot])
        assert imposed[:, 0].isnan().all() and attending[:2, 0].isfinite().all()
        assert imposed[:, 1:][seen.encoded.items[:, 1:]].isfinite().all()


class Counting(FourVerbs):
    """Counts the texts that it encodes."""

    encoded = 0

    def encode(self, embedded, batch):
        Counting.encoded += len(embedded)
        return super().encode(embedded, batch)


def test_every_shortened_text_is_encoded_once_for_all_weightings():
    model = Counting(make("bilstm"))
    seen = seen_by(model, make_batch())
    for ways in (0, 1, 3):
        Counting.encoded = 0
        leave_one_out_imposed(model, seen, [draw_log_weights(seen, seed) for seed in range(ways)])
        assert Counting.encoded == 7 + 4  # one for each token, but for the text that has no other


@pytest.mark.parametrize(
    ("encoder", "module", "function"),
    [("cnn", convolution, "states_beside_gap"), ("bilstm", recurrent_step.RecurrentStep, "apply")],
)
def test_fast_paths_read_once_for_all_weightings(encoder, module, function, monkeypatch):
    model = make(encoder)
    seen = seen_by(model, make_batch())
    calls, original = [], getattr(module, function)
    monkeypatch.setattr(module, function, lambda *given: calls.append(1) or original(*given))
    monkeypatch.setattr(model.encoder, "forward", lambda *_: pytest.fail("a text was encoded"))
    counts = []
    for ways in (0, 1, 3):
        calls.clear()
        leave_one_out_imposed(model, seen, [draw_log_weights(seen, seed) for seed in range(ways)])
        counts.append(len(calls))
    assert counts[0] > 0 and len(set(counts)) == 1


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_batch_size_and_order_change_nothing(encoder):
    model, batch = make(encoder), make_batch()
    seen = seen_by(model, batch)
    weights = draw_log_weights(seen)
    together = leave_one_out_imposed(model, seen, [weights])
    order = torch.tensor([2, 0, 1])
    moved = replace(
        batch,
        **{name: getattr(batch, name)[order] for name in ("index", "tokens", "mask", "attendable_mask", "labels")},
    )
    assert batch.sentence is not None
    moved = replace(moved, sentence=batch.sentence[order])
    close(leave_one_out_imposed(model, seen_by(model, moved), [weights[order]]), together[:, order])


def test_the_weights_that_are_given_are_left_untouched():
    model = make("bilstm")
    seen = seen_by(model, make_batch())
    weights = draw_log_weights(seen)
    before = weights.clone()
    leave_one_out_imposed(model, seen, [weights])
    assert torch.equal(weights, before)
