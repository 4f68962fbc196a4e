import pytest
import torch
from torch.testing import assert_close

from heedful.exact.linear_form import checked_attention, checked_item_logits, normalised_attention, two_class_margin

TWO = torch.tensor([[True, True, False], [True, True, True]])


def test_what_is_no_item_counts_for_nothing_whatever_stands_there():
    attention = torch.tensor([[0.75, 0.25, 9.0], [0.5, 0.25, 0.25]])
    assert checked_attention(attention, TWO)[0].tolist() == [0.75, 0.25, 0]
    logits = torch.full((2, 3, 5), torch.nan)
    assert checked_item_logits(logits, TWO)[0, 2].tolist() == [0] * 5


def test_weights_that_do_not_sum_to_1_are_refused():
    for total in (0.9, 1.1, 0.0, float("nan")):
        attention = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, total]])
        message = "attention must sum to 1 over the items of each row; row 1 sums to .*. Did you pass scores"
        with pytest.raises(ValueError, match=message):
            checked_attention(attention, TWO)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"attention must not be negative; the least weight of row 0 is -0.5"):
        checked_attention(torch.tensor([[1.5, -0.5, 0.0], [0.5, 0.5, 0.0]]), TWO)


def test_coarse_weights_are_accepted_and_made_to_sum_to_1():
    attention = torch.tensor([[0.3, 0.7, 0.0], [1 / 3, 1 / 3, 1 / 3]]).half()
    assert_close(normalised_attention(attention, TWO).sum(-1), torch.ones(2).double(), atol=1e-15, rtol=0)


def test_three_classes_are_not_two():
    with pytest.raises(ValueError, match="must have 2 classes for an exact answer; it has 3. Use eps_max_js_bound"):
        two_class_margin(torch.zeros(2, 3, 3), TWO)


def test_the_gradient_passes():
    attention = torch.tensor([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]], requires_grad=True)
    checked_attention(attention, TWO).sum().backward()
    assert attention.grad is not None
    assert torch.equal(attention.grad, TWO.float())
