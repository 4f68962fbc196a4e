"""Leave-one-out in single precision: wherever that could decide something, the answer is that of double precision."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution import leave_one_out_imposed, mixed_precision
from heedful.attribution.mixed_precision import FEWEST, SHORT, close_calls, leave_one_out_to_rank
from heedful.measures import ties_within, total_variation_distance
from heedful.models.attention_model import build_model
from heedful.models.trace import trace
from heedful.settings import NetworkSettings
from heedful.types import Batch
from support.models import make, make_batch
from support.pairwise import pairwise

VOCABULARY, LONGEST = 60, 29


def texts(count=40, longest=LONGEST, repeated=False) -> Batch:
    """Texts of many lengths; repeated words, and nothing else, where ties are wanted."""
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, longest + 1, (count, 1), generator=draw)
    mask = torch.arange(longest) < lengths
    tokens = torch.randint(1, 3 if repeated else VOCABULARY, mask.shape, generator=draw) * mask
    return Batch(torch.arange(count), tokens, mask, mask, torch.zeros(count, dtype=torch.long))


def case(batch, encoder="bilstm", classes=2, **changes):
    """A model, what it saw, two weightings to impose, and what the whole texts are predicted to be by all three."""
    torch.manual_seed(3)
    settings = NetworkSettings(encoder=encoder, embed_size=12, hidden_size=10, embedding_start="normal", **changes)
    model = build_model(settings, VOCABULARY, classes).double().eval()
    with torch.no_grad():
        seen = trace(model, batch)
        draw = torch.randn(2, *seen.scores.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        imposed = [each.masked_fill(~seen.encoded.items, -torch.inf).log_softmax(-1) for each in draw]
        others = [model.decode(seen.encoded, weights.exp()).softmax(-1) for weights in imposed]
    return model, seen, imposed, torch.stack([seen.logits.softmax(-1), *others])


def ranks(logits, whole, items):
    """Ranks with ties of what leaving each item out moves."""
    moved = total_variation_distance(logits.softmax(-1), whole[:, :, None].expand(logits.shape))
    return ties_within(moved, items.expand(moved.shape))


def lost(logits, whole):
    """How much less probable the prediction is without each item."""
    sure, decided = whole.max(-1, keepdim=True)
    return sure - logits.softmax(-1).gather(-1, decided[:, :, None].expand(*logits.shape[:3], 1))[..., 0]


@pytest.fixture
def asked(monkeypatch):
    """In which precision how many items were left out."""
    calls = []

    def spy(*arguments, left_out=None, precision=None):
        calls.append((precision, None if left_out is None else int(left_out.sum())))
        return leave_one_out_imposed(*arguments, left_out=left_out, precision=precision)

    monkeypatch.setattr(mixed_precision, "leave_one_out_imposed", spy)
    return calls


@pytest.mark.parametrize(
    ("encoder", "classes", "repeated"), pairwise(product(("bilstm", "gru", "rnn"), (2, 4), (False, True)))
)
def test_ranks_ties_and_decisions_are_those_of_double_precision(encoder, classes, repeated, asked):
    model, seen, imposed, whole = case(texts(repeated=repeated), encoder, classes)
    actual, wanted = leave_one_out_to_rank(model, seen, imposed, whole), leave_one_out_imposed(model, seen, imposed)
    items = seen.encoded.items
    torch.testing.assert_close(ranks(actual, whole, items), ranks(wanted, whole, items), equal_nan=True)
    assert torch.equal(actual.nan_to_num(0.0).argmax(-1), wanted.nan_to_num(0.0).argmax(-1))
    first, second = (lost(logits, whole) for logits in (actual, wanted))
    assert torch.equal(first > 0, second > 0)
    signed = [ties_within(each, items.expand(each.shape)) for each in (first, second)]
    torch.testing.assert_close(*signed, equal_nan=True)
    torch.testing.assert_close(actual, wanted, atol=1e-5, rtol=0, equal_nan=True)
    assert asked[0] == (torch.float32, int(items.sum()))
    assert asked[1][0] is None


def test_single_precision_alone_would_break_ties():
    model, seen, imposed, whole = case(texts(repeated=True))
    quick, wanted = (
        leave_one_out_imposed(model, seen, imposed, precision=precision) for precision in (torch.float32, None)
    )
    items = seen.encoded.items
    assert not torch.equal(ranks(quick, whole, items), ranks(wanted, whole, items))


def test_most_words_are_left_out_in_single_precision_alone(asked):
    leave_one_out_to_rank(*case(texts(400)))
    (_, all_items), (_, again) = asked
    assert again < 0.2 * all_items


def test_where_single_precision_is_off_by_more_than_assumed_all_is_in_double(monkeypatch, asked):
    model, seen, imposed, whole = case(texts())
    monkeypatch.setattr(mixed_precision, "ERROR", 1e-12)
    actual, wanted = leave_one_out_to_rank(model, seen, imposed, whole), leave_one_out_imposed(model, seen, imposed)
    torch.testing.assert_close(actual, wanted, atol=1e-13, rtol=0, equal_nan=True)
    (_, all_items), (_, first), (precision, rest) = asked
    assert precision is None and first + rest == all_items


def test_long_texts_are_in_double_precision(asked):
    batch = texts(longest=SHORT + 40)
    is_long = batch.mask.sum(1) > SHORT
    assert FEWEST <= int((~is_long).sum()) < 40
    model, seen, imposed, whole = case(batch)
    actual, wanted = leave_one_out_to_rank(model, seen, imposed, whole), leave_one_out_imposed(model, seen, imposed)
    torch.testing.assert_close(actual[:, is_long], wanted[:, is_long], atol=1e-13, rtol=0, equal_nan=True)
    assert asked[0] == (torch.float32, int(batch.mask[~is_long].sum()))


@pytest.mark.parametrize("encoder", ["bilstm", "average", "cnn"])
def test_few_texts_and_other_models_are_read_in_double_precision_once(encoder, asked):
    leave_one_out_to_rank(*case(texts(FEWEST - 1)))
    leave_one_out_to_rank(*case(texts(), "average" if encoder == "bilstm" else encoder))
    assert asked == [(None, None)] * 2


def test_a_model_in_single_precision_stays_in_it(asked):
    model, seen, imposed, whole = case(texts())
    model = model.float()
    with torch.no_grad():
        seen = trace(model, texts())
    assert leave_one_out_to_rank(model, seen, [each.float() for each in imposed], whole.float()).dtype == torch.float32
    assert asked == [(None, None)]


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.floats(1e-6, 1e-2),
)
def test_errors_move_no_rank_of_what_is_no_close_call(values, shifts, error):
    """Close calls take their true values; all others are off by up to the error."""
    true, items = torch.tensor([values], dtype=torch.float64), torch.ones(1, len(values), dtype=torch.bool)
    seen = true + error * torch.tensor([shifts[: len(values)]], dtype=torch.float64)
    mended = true.where(close_calls(seen, items, torch.tensor([error], dtype=torch.float64)), seen)
    assert torch.equal(ties_within(mended, items), ties_within(true, items))
    assert torch.equal(mended > 0, true > 0)


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average", "hierarchical"])
def test_chosen_items_alone_are_left_out(encoder):
    model, batch = make(encoder), make_batch()
    with torch.no_grad():
        seen = trace(model, batch)
    items = seen.encoded.items
    weights = [torch.randn(items.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)]
    left_out = items & (torch.arange(items.shape[1]) % 2 == 0)
    left_out[1] = False
    some, every = (
        leave_one_out_imposed(model, seen, weights, left_out=left_out),
        leave_one_out_imposed(model, seen, weights),
    )
    torch.testing.assert_close(some, every.where(left_out[..., None], torch.nan), atol=1e-13, rtol=0, equal_nan=True)
