import pytest
import torch

from heedful.errors import SettingError
from heedful.token_scores import attention_direction, head_alignment, head_rows
from heedful.token_scores.directions import affine_matrix
from support.four_verbs import FourVerbs
from support.models import HIDDEN, make


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
