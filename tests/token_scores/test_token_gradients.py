import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.token_scores.token_gradients import pulls_on_items
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
def test_pulls_are_minus_the_gradients_to_polarity_and_scores(drawn):
    attention, polarity, errors, _ = drawn
    scores = attention.log().requires_grad_()
    polarity = polarity.clone().requires_grad_()
    logits = (scores.softmax(-1)[..., None] * polarity).sum(1)
    wanted = torch.autograd.grad((logits * errors).sum(), (polarity, scores))
    found = pulls_on_items(attention, polarity.detach(), errors)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs.nan_to_num(0.0), atol=1e-12, rtol=0)


@given(weighed())
def test_what_one_item_gains_in_score_the_others_lose(drawn):
    attention, polarity, errors, _ = drawn
    on_weight = pulls_on_items(attention, polarity, errors)[1]
    torch.testing.assert_close(on_weight.sum(1), torch.zeros(len(errors)).double(), atol=1e-12, rtol=0)


@given(weighed())
def test_padding_changes_nothing(drawn):
    attention, polarity, errors, items = drawn
    wider = torch.cat([polarity, torch.full_like(polarity[:, :1], 7.0)], 1)
    more = torch.nn.functional.pad(attention, (0, 1))
    for ours, wide in zip(
        pulls_on_items(attention, polarity, errors), pulls_on_items(more, wider, errors), strict=True
    ):
        torch.testing.assert_close(wide[padded(items, 1)], ours[items], atol=1e-14, rtol=0)
