"""Leave-one-out against every shortened text written out: attended to anew, or under imposed weights."""

from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from heedful.attribution import recurrent_step
from heedful.attribution.leave_one_out import leave_one_out, leave_one_out_to_rank, states_beside_gap
from heedful.attribution.variants import variant_reader
from heedful.measures import total_variation_distance
from heedful.measures.ranking import ties_within
from heedful.models.attention_model import LinearAttentionModel, build_model
from heedful.models.encoders import ENCODERS, FLAT
from heedful.models.encoders.cnn import Cnn
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch, Encoded
from support.folders import each_source
from support.four_verbs import FourVerbs
from support.golden_models import NAMES, Golden, load_golden
from support.models import (
    BATCH,
    HIDDEN,
    LENGTHS,
    NETWORK,
    TIME,
    VOCABULARY,
    cases,
    cut,
    give_attention,
    make,
    make_batch,
)
from support.pairwise import pairwise


@pytest.fixture
def no_reference(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a shortened text was run")

    monkeypatch.setattr("heedful.attribution.subsets.logits_by_deletion", refuse)


def framed(batch: Batch) -> Batch:
    """The two longer texts, whose first and last tokens are now a start and an end symbol."""
    both = cut(batch, [0, 1], TIME)
    return replace(both, attendable_mask=(torch.arange(TIME) > 0) & (torch.arange(TIME) < LENGTHS[:2, None] - 1))


def reference(model, seen, imposed=None):
    """Every shortened text run, as it is for a model that is not known to be ours."""
    return leave_one_out(FourVerbs(model), seen, imposed)


def assert_same(actual, wanted, atol=1e-10):
    torch.testing.assert_close(actual, wanted, atol=atol, rtol=0, equal_nan=True)


def assert_same_as_reference(golden: Golden) -> None:
    seen = trace(golden.model, golden.batch)
    items = seen.encoded.items
    wanted = golden.results["loo_out_f64"][items.numpy()]
    for compute in (leave_one_out, reference):
        ours = compute(golden.model, seen).softmax(-1)[..., 1]
        np.testing.assert_allclose(ours[items].numpy(), wanted, atol=1e-8, rtol=0)
        assert ours[~items].isnan().all()


@each_source
@pytest.mark.parametrize("name", NAMES)
def test_the_authors_weights_give_the_authors_outputs(name, source):
    assert_same_as_reference(load_golden(name, source))


@pytest.mark.parametrize(("encoder", "attention", "classes", "has_query", "head"), cases("linear", "tanh"))
def test_every_fast_path_equals_running_every_shortened_text(encoder, attention, classes, has_query, head):
    temperature = 1.0 if attention == "frozen" else 0.5
    model = make(encoder, attention, classes, has_query, head, temperature=temperature)
    seen = trace(model, give_attention(make_batch(has_query), encoder == "hierarchical"))
    actual = leave_one_out(model, seen)
    assert actual.shape == (*seen.encoded.items.shape, classes)
    assert_same(actual, reference(model, seen))
    several = seen.encoded.items & (seen.encoded.items.sum(1, keepdim=True) > 1)
    assert (actual[several] != seen.logits[several.nonzero()[:, 0]]).any(-1).all()


@pytest.mark.parametrize(("encoder", "has_query"), [(name, bool(n % 2)) for n, name in enumerate(FLAT)])
def test_start_and_end_symbols_stay(encoder, has_query):
    model = make(encoder, has_query=has_query)
    batch = make_batch(has_query)
    seen = trace(model, framed(batch))
    actual = leave_one_out(model, seen)
    assert_same(actual, reference(model, seen))
    assert (actual.isnan().any(-1) == ~seen.batch.attendable_mask).all()
    tokens = torch.cat([batch.tokens[:1, :2], batch.tokens[:1, 3:]], 1)
    read = torch.ones(1, TIME - 1, dtype=torch.bool)
    between = (torch.arange(TIME - 1) > 0) & (torch.arange(TIME - 1) < TIME - 2)
    shorter = replace(
        cut(batch, [0], TIME), tokens=tokens, mask=read, attendable_mask=between[None], sentence=None, marks=None
    )
    torch.testing.assert_close(actual[0, 2], trace(model, shorter).logits[0], atol=1e-12, rtol=0)


@pytest.mark.parametrize("encoder", [encoder for encoder in FLAT if encoder != "transformer"])
def test_models_of_ours_are_not_run_again(encoder, no_reference):
    """But for a transformer: every state depends on every other, so that nothing can be used again."""
    for attention in ("additive", "frozen"):
        model = make(encoder, attention)
        leave_one_out(model, trace(model, give_attention(make_batch(), hierarchical=False)))


@pytest.mark.parametrize(("words", "sentences"), [("identity", "gru"), ("bilstm", "average"), ("bilstm", "cnn")])
def test_a_hierarchical_model_loses_whole_sentences(words, sentences):
    """Against the model on texts written without that sentence, with sentences of unlike lengths and a start symbol."""
    model = make("hierarchical", words=words, sentences=sentences)
    sentence = torch.tensor([[0, 0, 0, 1, 2, 2, 2], [0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]])
    batch = replace(make_batch(), sentence=sentence)
    batch = replace(batch, attendable_mask=batch.mask & (torch.arange(TIME) > 0) | (LENGTHS == 1)[:, None] & batch.mask)
    seen = trace(model, batch)
    actual = leave_one_out(model, seen)
    assert_same(actual, reference(model, seen))
    for row, item in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        kept = batch.mask[row] & (sentence[row] != item)
        tokens, left = batch.tokens[row, kept], sentence[row, kept]
        read = torch.ones(1, len(tokens), dtype=torch.bool)
        renumbered = left - (left > item).long()
        shorter = Batch(batch.index[:1], tokens[None], read, batch.attendable_mask[row, kept][None], batch.labels[:1])
        wanted = trace(model, replace(shorter, sentence=renumbered[None])).logits[0]
        torch.testing.assert_close(actual[row, item], wanted, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("encoder", "head"), [(name, ("linear", "tanh")[n % 2]) for n, name in enumerate(ENCODERS)])
def test_without_its_only_item_a_text_is_undefined(encoder, head):
    """Not the model's answer to nothing, even where it has one."""
    model = make(encoder, classes=5, head=head)
    seen = trace(model, make_batch())
    for compute in (leave_one_out, reference):
        actual = compute(model, seen)
        assert actual[2, 0].isnan().all() and actual[:2][seen.encoded.items[:2]].isfinite().all()


def one_hot_but_in_the_first_text() -> torch.Tensor:
    """All weight on the first token; in the first text on two others."""
    given = torch.zeros(BATCH, TIME).double()
    given[:, 0] = 1.0
    given[0, 3:5] = 0.5
    given[0, 0] = 0.0
    return given


@pytest.mark.parametrize("encoder", ["average", "gru", "bilstm", "cnn"])
def test_without_all_its_imposed_weight_a_text_is_undefined(encoder):
    model, batch = make(encoder, "frozen"), make_batch()
    seen = trace(model, replace(batch, imposed_attention=one_hot_but_in_the_first_text()))
    actual = leave_one_out(model, seen)
    assert_same(actual, reference(model, seen))
    emptied = torch.zeros_like(seen.encoded.items)
    emptied[1:, 0] = True
    assert (actual.isnan().any(-1) == (emptied | ~seen.encoded.items)).all()


@pytest.mark.parametrize("encoder", ["average", "bilstm"])
def test_weight_imposed_on_padding_hides_nothing(encoder):
    """What stands beside the text in `imposed_attention` is no weight of the text."""
    model, batch = make(encoder, "frozen"), make_batch()
    given = one_hot_but_in_the_first_text()
    clean = leave_one_out(model, trace(model, replace(batch, imposed_attention=given)))
    soiled = replace(batch, imposed_attention=given.masked_fill(~batch.mask, 0.5))
    assert_same(leave_one_out(model, trace(model, soiled)), clean)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_padding_batch_size_and_order_change_nothing(encoder):
    has_query = encoder in ("bilstm", "cnn", "average")
    model, batch = make(encoder, has_query=has_query), make_batch(has_query)
    for compute in (leave_one_out, reference):
        together = compute(model, trace(model, batch))
        assert_same(compute(model, trace(model, cut(batch, [2, 0, 1], TIME))), together[[2, 0, 1]], atol=1e-12)
        for row, length in enumerate(LENGTHS.tolist()):
            alone = compute(model, trace(model, cut(batch, [row], length)))[0]
            assert_same(alone, together[row, : len(alone)], atol=1e-12)
            assert together[row, len(alone) :].isnan().all()


@pytest.mark.parametrize("encoder", ["average", "bilstm", "gru", "cnn"])
def test_single_precision_is_near_double(encoder):
    model, batch = make(encoder), make_batch()
    exact = leave_one_out(model, trace(model, batch))
    model.float()
    rough = leave_one_out(model, trace(model, batch))
    assert rough.dtype == torch.float32
    assert_same(rough.double(), exact, atol=1e-6)


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "transformer"])
def test_nothing_is_left_behind(encoder):
    """The trace, the weights and their gradients are as they were, and what comes back hangs on no graph."""
    model, batch = make(encoder), give_attention(make_batch(), encoder == "hierarchical")
    seen = trace(model, batch)
    holders = (seen, seen.batch, seen.encoded)
    tensors = [getattr(holder, f.name) for holder in holders for f in fields(holder)]
    tensors = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)] + list(model.parameters())
    before = [tensor.detach().clone() for tensor in tensors]
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    imposed = torch.randn(seen.encoded.items.shape).double()
    tensors, before = [*tensors, imposed], [*before, imposed.clone()]
    assert not leave_one_out(model, seen).requires_grad and not leave_one_out(model, seen, imposed).requires_grad
    for now, then in zip(tensors, before, strict=True):
        torch.testing.assert_close(now.detach(), then, rtol=0, atol=0, equal_nan=True)
    assert all((parameter.grad == 3).all() and parameter.requires_grad for parameter in model.parameters())


def test_words_in_pieces_are_left_out_whole():
    """A foreign model whose items are words: `sentence` numbers them, and -1 marks a symbol that is part of none."""

    class Words(FourVerbs):
        def encode(self, embedded, batch):
            assert batch.sentence is not None
            word = batch.sentence.where(batch.mask, -1)
            belongs = torch.arange(int(word.max()) + 1)[:, None] == word[:, None]
            return Encoded(belongs.double() @ embedded, belongs.any(-1))

        def attend(self, encoded, batch):
            return encoded.hidden[..., 0], encoded.items / encoded.items.sum(1, keepdim=True).double()

        def decode(self, encoded, attention):
            return (attention[:, None] @ encoded.hidden)[:, 0, :2]

    words = Words(make("identity"))
    mask = torch.ones(1, 5, dtype=torch.bool)
    batch = Batch(torch.tensor([0]), torch.tensor([[2, 5, 6, 7, 3]]), mask, mask, torch.tensor([0]))
    batch = replace(batch, sentence=torch.tensor([[-1, 0, 0, 1, -1]]))
    actual = leave_one_out(words, trace(words, batch))
    embedded = words.embed(batch)[0, :, :2]
    torch.testing.assert_close(actual, torch.stack([embedded[3], embedded[1] + embedded[2]])[None])


def test_models_with_parts_that_are_not_ours_are_run_by_the_reference():
    class Doubling(LinearAttentionModel):
        def encode(self, embedded, batch):
            encoded = super().encode(embedded, batch)
            return replace(encoded, hidden=2 * encoded.hidden)

    torch.manual_seed(0)
    model = Doubling(NETWORK, VOCABULARY, 2, False).double().eval()
    seen = trace(model, make_batch())
    assert_same(leave_one_out(model, seen), reference(model, seen))

    class Largest(nn.Module):
        """A score that depends on the other items."""

        def forward(self, encoded, batch):
            hidden = encoded.hidden.masked_fill(~encoded.items[..., None], -9.0)
            return (hidden - hidden.amax(1, keepdim=True)).sum(-1)

    model = make("average")
    model.attention = Largest()
    seen = trace(model, make_batch())
    assert_same(leave_one_out(model, seen), reference(model, seen))


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_a_long_text_fits(encoder):
    """More places than are read at a time, so in groups."""
    settings = NetworkSettings(encoder=encoder, embed_size=3, hidden_size=HIDDEN, kernels=(3,))
    torch.manual_seed(0)
    model = build_model(settings, VOCABULARY, 2).double().eval()
    tokens = torch.randint(1, VOCABULARY, (1, 1100), generator=torch.Generator().manual_seed(0))
    read = torch.ones_like(tokens, dtype=torch.bool)
    batch = Batch(torch.tensor([0]), tokens, read, read, torch.tensor([0]))
    actual = leave_one_out(model, trace(model, batch))
    for item in (0, 500, 1023, 1024, 1025, 1099):
        shorter = torch.cat([tokens[:, :item], tokens[:, item + 1 :]], 1)
        short = replace(batch, tokens=shorter, mask=read[:, 1:], attendable_mask=read[:, 1:])
        torch.testing.assert_close(actual[0, item], trace(model, short).logits[0], atol=1e-12, rtol=0)


# Under imposed weights.


def draw_log_weights(seen, seed=0):
    """Normal numbers at every position: at padding, too, where nothing may be read from them."""
    return torch.randn(seen.encoded.items.shape, generator=torch.Generator().manual_seed(seed)).double()


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
            if kept:
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
    seen = trace(model, make_batch(has_query))
    weights = draw_log_weights(seen)
    for compute in (leave_one_out, reference):
        assert_same(compute(model, seen, weights), written_out(model, seen, weights))


@torch.no_grad()
def test_a_hierarchical_model_loses_whole_sentences_under_imposed_weights():
    model, batch = make("hierarchical", sentences="gru"), make_batch()
    seen = trace(model, batch)
    weights = draw_log_weights(seen)
    actual = leave_one_out(model, seen, weights)
    assert batch.sentence is not None
    for row, item in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        kept = (batch.mask[row] & (batch.sentence[row] != item)).nonzero()[:, 0].tolist()
        left = batch.sentence[row, kept]
        shorter = replace(without(batch, row, kept), sentence=(left - (left > item).long())[None])
        encoded = model.encode(model.embed(shorter), shorter)
        others = [other for other in range(3 if row == 0 else 2) if other != item]
        assert_same(actual[row, item], model.decode(encoded, weights[row, others].softmax(-1)[None])[0])


@torch.no_grad()
def test_own_weights_imposed_are_attending_anew_only_where_no_state_depends_on_another():
    for encoder, is_same in (("identity", True), ("average", True), ("bilstm", False), ("cnn", False)):
        model = make(encoder)
        seen = trace(model, make_batch())
        apart = leave_one_out(model, seen, seen.attention.log()) - leave_one_out(model, seen)
        assert (apart[0].abs().amax(-1) < 1e-10).all() if is_same else (apart[0].abs().amax(-1) > 1e-6).all()


@torch.no_grad()
@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "transformer"])
def test_imposed_weights_may_be_very_sharp_or_none(encoder):
    """Log weights thousands apart: without the top item it is as if that had never had any weight."""
    model = make(encoder)
    seen = trace(model, make_batch())
    mild, one_hot = draw_log_weights(seen), torch.full(seen.encoded.items.shape, -torch.inf).double()
    sharp = mild.clone()
    sharp[:, 1] += 5000.0
    one_hot[:, 0] = 0.0
    actual = leave_one_out(model, seen, sharp)
    assert_same(actual[:, 1], leave_one_out(model, seen, mild)[:, 1])
    assert actual[seen.encoded.items & (seen.encoded.items.sum(1, keepdim=True) > 1)].isfinite().all()
    imposed = leave_one_out(model, seen, one_hot)
    assert imposed[:, 0].isnan().all() and imposed[:, 1:][seen.encoded.items[:, 1:]].isfinite().all()


class Counting(FourVerbs):
    """Counts the texts that it encodes."""

    encoded = 0

    def encode(self, embedded, batch):
        Counting.encoded += len(embedded)
        return super().encode(embedded, batch)


def test_every_shortened_text_is_encoded_once():
    model = Counting(make("bilstm"))
    seen = trace(model, make_batch())
    for imposed in (None, draw_log_weights(seen)):
        Counting.encoded = 0
        leave_one_out(model, seen, imposed)
        assert Counting.encoded == 7 + 4  # one for each token, but for the text that has no other


def test_a_text_is_read_on_from_the_gap_until_it_has_settled(monkeypatch):
    """The steps of a text that is ten times as long are not a hundred times as many."""
    steps, original = [], recurrent_step.RecurrentStep.apply
    monkeypatch.setattr(
        recurrent_step.RecurrentStep, "apply", lambda *given: steps.append(len(given[1])) or original(*given)
    )
    model, taken = make("bilstm"), []
    for length in (60, 600):
        tokens = torch.randint(1, VOCABULARY, (1, length), generator=torch.Generator().manual_seed(0))
        read = torch.ones_like(tokens, dtype=torch.bool)
        seen = trace(model, Batch(torch.tensor([0]), tokens, read, read, torch.tensor([0])))
        steps.clear()
        leave_one_out(model, seen)
        taken.append(sum(steps))
    assert 0 < taken[1] < 40 * taken[0]


# Through convolutions.


@pytest.mark.parametrize("kernels", [(1,), (3,), (5, 1), (7, 3)])
def test_states_beside_a_gap_are_those_of_the_shortened_text(kernels):
    model, batch = make("cnn", kernels=kernels), make_batch()
    seen = trace(model, batch)
    assert isinstance(model.encoder, Cnn)
    near = states_beside_gap(model.encoder, seen.embedded, batch.mask)
    reach = max(kernels) // 2
    assert sorted(near) == [offset for offset in range(-reach, reach + 1) if offset]
    for row, length in enumerate(LENGTHS.tolist()):
        for gap in range(length):
            kept = [place for place in range(length) if place != gap]
            if not kept:
                continue
            shorter = model.encoder(seen.embedded[row : row + 1, kept], torch.ones(1, length - 1, dtype=torch.bool))[0]
            for place, state in zip(kept, shorter, strict=True):
                actual = near.get(place - gap, seen.encoded.hidden)[row, place]
                torch.testing.assert_close(actual, state, atol=1e-14, rtol=0)
    assert seen.encoded.hidden.shape[1] == TIME


def test_float32_decides_no_rank_and_no_tie():
    """Words of little effect, some of them twice: read in float32 alone, some ranks are others."""
    torch.manual_seed(0)
    model = build_model(NetworkSettings(encoder="bilstm", embed_size=8, hidden_size=8), 30, 2).double().eval()
    tokens = torch.randint(4, 12, (24, 40))
    mask = torch.arange(40) < torch.randint(20, 41, (24, 1))
    batch = Batch(torch.arange(24), tokens * mask, mask, mask, torch.zeros(24, dtype=torch.long))
    with torch.no_grad():
        seen = trace(model, batch)
    exact, quick = variant_reader(model, seen), variant_reader(model, seen, torch.float32)

    def ranks(logits):
        lost = total_variation_distance(logits.softmax(-1), seen.logits.softmax(-1)[:, None].expand_as(logits))
        return ties_within(lost.masked_fill(~mask, 0.0), mask)

    wanted = ranks(leave_one_out(model, seen, reader=exact))
    found = leave_one_out_to_rank(model, seen, exact, quick)
    assert torch.equal(ranks(found), wanted)
    assert not torch.equal(ranks(leave_one_out(model, seen, reader=quick)), wanted)
    torch.testing.assert_close(found, leave_one_out(model, seen, reader=exact), atol=1e-5, rtol=0, equal_nan=True)
    assert not torch.equal(found.nan_to_num(), leave_one_out(model, seen, reader=exact).nan_to_num())
