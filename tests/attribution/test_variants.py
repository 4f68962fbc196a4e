"""Variants of texts against the same texts written out and read whole."""

from dataclasses import replace
from itertools import product

import numpy
import pytest
import torch

from heedful.attribution import prefix_tree
from heedful.attribution.deletion import logits_by_deletion
from heedful.attribution.prefix_tree import NOTHING, read_tree
from heedful.attribution.subsets import logits_of_subsets
from heedful.attribution.variants import variant_reader
from heedful.models.attention import ATTENTIONS
from heedful.models.trace import rerun, trace
from heedful.types import Batch
from support.four_verbs import FourVerbs
from support.models import BATCH, TIME, VOCABULARY, cut, give_attention, make, make_batch
from support.pairwise import pairwise

RECURRENT = ("rnn", "lstm", "bilstm", "gru", "bigru")
PARTS = 6


def seen_by(model, batch):
    with torch.no_grad():
        return trace(model, batch)


def random_parts(seen, seed=0):
    return torch.rand(BATCH, PARTS, TIME, generator=torch.Generator().manual_seed(seed)) < 0.6


def close(actual, wanted):
    torch.testing.assert_close(actual, wanted, atol=1e-12, rtol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("encoder", "attention", "classes", "has_query", "head"),
    pairwise(product(RECURRENT, ATTENTIONS, (2, 5), (False, True), ("linear", "tanh"))),
)
def test_parts_are_what_texts_of_their_own_would_be(encoder, attention, classes, has_query, head):
    model, batch = make(encoder, attention, classes, has_query, head), make_batch(has_query)
    batch = give_attention(batch, hierarchical=False) if attention == "frozen" else batch
    seen = seen_by(model, batch)
    keep = random_parts(seen) & seen.encoded.items[:, None]
    own = logits_by_deletion(model, seen, keep, keep.any(-1), tokens=50)
    close(logits_of_subsets(model, seen, keep), own)


@pytest.mark.parametrize("encoder", RECURRENT)
def test_changed_words_are_read_as_the_whole_text_would_be(encoder):
    model, batch = make(encoder), make_batch()
    seen = seen_by(model, batch)
    changed = torch.zeros_like(batch.mask)
    changed[0, 2] = changed[0, 5] = changed[1, 0] = changed[2, 0] = True
    change = torch.randn(*batch.mask.shape, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    change = change * changed[..., None]
    reader = variant_reader(model, seen)
    assert reader is not None
    attention, logits = reader.attention_and_logits((seen.embedded + change)[changed], changed)
    with torch.no_grad():
        expected = rerun(model, seen, change)
    close(attention, expected.attention)
    close(logits, expected.logits)


def long_text(length=200):
    tokens = torch.randint(1, VOCABULARY, (2, length), generator=torch.Generator().manual_seed(5))
    mask = torch.arange(length) < torch.tensor([[length], [length - 31]])
    return Batch(torch.arange(2), tokens * mask, mask, mask, torch.zeros(2, dtype=torch.long))


def test_a_variant_is_read_until_it_has_settled_and_no_further():
    model, batch = make("bilstm"), long_text()
    seen = seen_by(model, batch)
    reader = variant_reader(model, seen)
    assert reader is not None
    places = numpy.arange(batch.mask.shape[1])
    sequence = numpy.append(numpy.delete(places, [20, 120]), [NOTHING, NOTHING])[None]
    for direction in reader.directions:
        read = read_tree(direction, sequence)
        computed = len(read.states) - direction.count
        assert 0 < computed < 150  # two gaps, after each of which the state is soon the old one
    keep = batch.mask[:, None].clone()
    keep[0, 0, [20, 120]] = False
    close(logits_of_subsets(model, seen, keep), logits_of_subsets(FourVerbs(model), seen, keep))


def test_nothing_settles_that_still_differs(monkeypatch):
    model, batch = make("bilstm"), long_text()
    seen, keep = seen_by(model, batch), batch.mask[:, None].clone()
    keep[:, 0, [3, 90]] = False
    usual = logits_of_subsets(model, seen, keep)
    monkeypatch.setattr(prefix_tree, "SETTLED", {torch.float64: -1.0})
    close(logits_of_subsets(model, seen, keep), usual)
    monkeypatch.setattr(prefix_tree, "SETTLED", {torch.float64: 1.0})
    assert (logits_of_subsets(model, seen, keep) - usual).abs().max() > 1e-6


def test_texts_do_not_depend_on_their_company(monkeypatch):
    model, batch = make("bilstm"), make_batch()
    seen = seen_by(model, batch)
    keep = random_parts(seen)
    together = logits_of_subsets(model, seen, keep)
    for row in range(BATCH):
        length = int(batch.mask[row].sum())
        alone = seen_by(model, replace(cut(batch, [row], length), marks=None))
        close(logits_of_subsets(model, alone, keep[row : row + 1, :, :length]), together[row : row + 1])
    monkeypatch.setattr("heedful.attribution.variants.CELLS", 5)
    monkeypatch.setattr("heedful.attribution.variants.SCORED", 3)
    close(logits_of_subsets(model, seen, keep), together)


@pytest.mark.parametrize("encoder", ["cnn", "average", "hierarchical", "transformer"])
def test_other_encoders_have_no_reader(encoder):
    model, batch = make(encoder), make_batch()
    assert variant_reader(model, seen_by(model, batch)) is None
    assert variant_reader(FourVerbs(model), seen_by(model, batch)) is None
