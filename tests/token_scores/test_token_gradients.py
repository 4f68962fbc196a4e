import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.token_scores.token_gradients import item_gradients
from support.strategies import distributions, masks, padded

ROWS = 3


@st.composite
def weighed(draw):
    """Attention, the polarity of each item for three labels, the labels' errors, and the mask."""
    items = draw(masks())
    random = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    polarity = torch.randn(*items.shape, ROWS, generator=random).double()
    return draw(distributions(items)), polarity, torch.randn(len(items), ROWS, generator=random).double(), items


@given(weighed())
def test_they_are_minus_the_gradients_to_polarity_and_scores(drawn):
    attention, polarity, errors, _ = drawn
    scores = attention.log().requires_grad_()
    polarity = polarity.clone().requires_grad_()
    logits = (scores.softmax(-1)[..., None] * polarity).sum(1)
    wanted = torch.autograd.grad((logits * errors).sum(), (polarity, scores))
    actual = item_gradients(attention, polarity.detach(), errors)
    for ours, theirs in zip(actual, wanted, strict=True):
        torch.testing.assert_close(ours, theirs.nan_to_num(0.0), atol=1e-12, rtol=0)


@given(weighed())
def test_what_one_item_gains_in_score_the_others_lose(drawn):
    attention, polarity, errors, _ = drawn
    to_score = item_gradients(attention, polarity, errors)[1]
    torch.testing.assert_close(to_score.sum(1), torch.zeros(len(errors)).double(), atol=1e-12, rtol=0)


@given(weighed())
def test_padding_changes_nothing(drawn):
    attention, polarity, errors, items = drawn
    wider = torch.cat([polarity, torch.full_like(polarity[:, :1], 7.0)], 1)
    more = torch.nn.functional.pad(attention, (0, 1))
    for ours, wide in zip(
        item_gradients(attention, polarity, errors), item_gradients(more, wider, errors), strict=True
    ):
        torch.testing.assert_close(wide[padded(items, 1)], ours[items], atol=1e-14, rtol=0)
