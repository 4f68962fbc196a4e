import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.attribution.reuse.token_wise import contexts
from support.strategies import masks, padded, scores


def one_by_one(hidden, score, items):
    """Softmax over what is left, for each item in turn."""
    actual = torch.full_like(hidden, torch.nan)
    for row, item in items.nonzero().tolist():
        left = items[row].clone()
        left[item] = False
        if left.any():
            actual[row, item] = score[row, left].softmax(-1) @ hidden[row, left]
    return actual


@st.composite
def scored_states(draw):
    items = draw(masks())
    hidden = torch.randn(*items.shape, 3, generator=torch.Generator().manual_seed(draw(st.integers(0, 9)))).double()
    return hidden, draw(scores(items)), items


@given(scored_states())
def test_it_is_the_softmax_over_what_is_left(example):
    hidden, score, items = example
    actual = contexts(hidden, score, items)
    wanted = one_by_one(hidden, score, items)
    torch.testing.assert_close(actual[items], wanted[items], atol=1e-12, rtol=0, equal_nan=True)


@given(scored_states())
def test_padding_changes_nothing(example):
    hidden, score, items = example
    wider = torch.cat([hidden, torch.full_like(hidden[:, :1], 7.0)], 1)
    actual = contexts(wider, padded(score, 1), padded(items, 1))[:, :-1]
    torch.testing.assert_close(actual[items], contexts(hidden, score, items)[items], equal_nan=True)


def test_no_digits_are_lost_where_one_item_has_all_the_weight():
    hidden = torch.tensor([[[1.0], [2.0], [4.0]]])
    actual = contexts(hidden, torch.tensor([[0.0, 2000.0, 0.0]]), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(actual, torch.tensor([[[2.0], [2.5], [2.0]]]))


def test_an_item_of_no_weight_changes_nothing():
    hidden = torch.tensor([[[1.0], [2.0], [4.0]]])
    actual = contexts(hidden, torch.tensor([[0.0, -torch.inf, 0.0]]), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(actual, torch.tensor([[[4.0], [2.5], [1.0]]]))
