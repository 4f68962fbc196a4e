from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.token_scores import attention_direction, head_alignment, head_rows
from heedful.token_scores.token_view import affine_matrix, item_gradients, token_view
from heedful.types import Batch
from support.four_verbs import FourVerbs
from support.models import HIDDEN, VOCABULARY, make
from support.pairwise import pairwise
from support.strategies import distributions, masks, padded


def every_token() -> Batch:
    tokens = torch.arange(VOCABULARY)[:, None]
    real = torch.ones_like(tokens, dtype=torch.bool)
    return Batch(tokens[:, 0], tokens, real, real, tokens[:, 0])


@pytest.mark.parametrize(
    ("encoder", "attention", "classes"), pairwise(product(("identity", "affine"), ("dot", "additive"), (2, 5)))
)
def test_it_sees_what_the_model_makes_of_each_token(encoder, attention, classes):
    model = make(encoder, attention, classes, scale=1.7)
    seen, view = trace(model, every_token()), token_view(model)
    torch.testing.assert_close(view.hidden, seen.encoded.hidden[:, 0].detach())
    torch.testing.assert_close(view.attention.scores, seen.scores[:, 0].detach())
    torch.testing.assert_close((view.polarity + view.bias)[:, -1], seen.logits[:, -1].detach())


@pytest.mark.parametrize("attention", ["dot", "additive"])
def test_slopes_and_the_kernel_product_are_those_of_autograd(attention):
    model = make("identity", attention, scale=1.7)
    view, scores = token_view(model).attention, trace(model, every_token()).scores[:, 0]
    slopes = view.slopes.expand(VOCABULARY, -1)
    weight, own = model.embedding.weight, list(model.attention.parameters())
    x = torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(0)).double()
    summed = torch.autograd.grad(x @ scores, own, retain_graph=True)
    for token in range(1, VOCABULARY):  # the embedding of padding has no gradient
        gradients = torch.autograd.grad(scores[token], [weight, *own], retain_graph=True)
        torch.testing.assert_close(slopes[token], gradients[0][token])
        wanted = sum((a * b).sum() for a, b in zip(gradients[1:], summed, strict=True))
        torch.testing.assert_close(view.kernel_product(x)[token], wanted, atol=1e-12, rtol=0)


def test_a_head_without_a_bias_has_zeros():
    assert token_view(make("identity", "dot", head_bias=False)).bias.tolist() == [0.0]


def test_dot_attention_and_head_are_aligned_by_the_product_of_their_weights():
    model = make("identity", "dot", scale=10.0)
    with torch.no_grad():
        model.attention.query.weight.copy_(torch.tensor([[1.0, 2, 0, 0, 0]]))
        model.head.linear.weight.copy_(torch.tensor([[3.0, -1, 5, 0, 0]]))
    assert head_alignment(model).tolist() == [1.0]


def test_more_labels_have_one_product_each():
    model = make("bilstm", "dot", 5)
    wanted = model.head.linear.weight @ model.attention.query.weight[0]
    assert head_rows(model).shape == (5, 2 * HIDDEN)
    torch.testing.assert_close(head_alignment(model), wanted)


def test_the_direction_of_additive_attention_is_its_gradient_at_a_state_of_zero():
    model = make("bilstm")
    with torch.no_grad():
        model.attention.hidden.bias.zero_()
    state = torch.zeros(1, 1, 2 * HIDDEN, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(model.attention.of(state).sum(), state)
    torch.testing.assert_close(attention_direction(model), gradient[0, 0])


def test_only_an_affine_encoder_has_a_matrix():
    assert affine_matrix(make("affine")).shape == (HIDDEN, 5)
    assert [affine_matrix(make(encoder)) for encoder in ("identity", "average", "bilstm")] == [None] * 3


@pytest.mark.parametrize("attention", ["uniform", "frozen"])
def test_attention_without_weights_of_its_own_has_no_direction(attention):
    with pytest.raises(SettingError, match="to have a direction V of its own"):
        attention_direction(make(attention=attention))


def test_dot_attention_on_a_query_has_no_direction():
    with pytest.raises(SettingError, match="to have a direction V of its own"):
        attention_direction(make(attention="dot", has_query=True))


@pytest.mark.parametrize("changes", [{"head": "tanh"}, {"has_query": True}])
def test_a_head_that_reads_more_than_the_state_or_bends_it_has_no_direction(changes):
    with pytest.raises(SettingError, match="to have a direction W"):
        head_rows(make(**changes))


def test_models_of_others_are_refused():
    with pytest.raises(SettingError, match="Heedful's own models; this one is a FourVerbs"):
        head_alignment(FourVerbs(make()))


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
