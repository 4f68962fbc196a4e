"""Cases whose answer is known, and properties that any answer has."""

from math import isnan, log

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.attefa import attefa, constant_adversary, constant_bound, gave_up, js_caps, rescaling_bound
from heedful.measures import js_divergence
from strategies import distributions, masks, padded

LN2 = log(2)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=11).map(lambda p: torch.tensor(p, dtype=torch.float64))


def test_attefa_is_a_ratio_of_means_and_not_a_mean_of_ratios():
    assert attefa(torch.tensor([0.0, 0.4]), torch.tensor([LN2, 0.1 * LN2])) == pytest.approx(0.2 / 0.55)


def test_a_constant_adversary_on_balanced_data_scores_what_the_paper_prints_for_mock_1():
    """Token-wise encoder: |p - q| = 0.5 and JSD 0.393 of the attention, where seeds print 0.767 to 0.879."""
    assert attefa(torch.tensor([0.5]), torch.tensor([0.393])) == pytest.approx(0.88, abs=0.005)


def test_attefa_is_at_most_one_and_undefined_where_nothing_moved():
    assert attefa(torch.tensor([0.9]), torch.tensor([0.1])) == 1.0
    assert attefa(torch.tensor([0.1]), torch.tensor([0.0])) == 1.0
    assert attefa(torch.tensor([0.0]), torch.tensor([0.3])) == 0.0
    assert isnan(attefa(torch.tensor([0.0]), torch.tensor([0.0])))


def one_hots(items: torch.Tensor, row: int) -> torch.Tensor:
    return torch.eye(items.shape[1], dtype=torch.float64)[items[row]]


@given(st.data())
def test_a_cap_is_the_largest_divergence_of_all_weight_on_one_item(data):
    items = data.draw(masks())
    base = data.draw(distributions(items))
    caps = js_caps(base, items)
    for row, cap in enumerate(caps):
        single = one_hots(items, row)
        torch.testing.assert_close(cap, js_divergence(base[row].expand_as(single), single).max(), atol=1e-9, rtol=0)
    torch.testing.assert_close(js_caps(padded(base), padded(items)), caps, atol=0, rtol=0)


@given(st.data())
def test_a_cap_by_type_is_the_largest_divergence_of_all_weight_on_one_type(data):
    """By a plain loop over the types of each text; of any attention, also one that weighs equal tokens differently."""
    items = data.draw(masks())
    base = data.draw(distributions(items))
    drawn = data.draw(st.lists(st.integers(1, 3), min_size=items.numel(), max_size=items.numel()))
    tokens = torch.tensor(drawn).reshape(items.shape)
    caps = js_caps(base, items, tokens)
    assert (caps <= js_caps(base, items) + 1e-9).all()
    for row, cap in enumerate(caps):
        found = []
        for kind in tokens[row][items[row]].unique():
            members = (items[row] & (tokens[row] == kind)).double()
            found.append(js_divergence(base[row], members / members.sum()))
        torch.testing.assert_close(cap, torch.stack(found).max(), atol=1e-9, rtol=0)
    torch.testing.assert_close(js_caps(padded(base), padded(items), padded(tokens).long()), caps, atol=1e-12, rtol=0)


def test_where_equal_tokens_weigh_alike_the_cap_is_that_of_the_lightest_type():
    base = torch.tensor([[0.1, 0.1, 0.1, 0.3, 0.4], [0.2, 0.2, 0.2, 0.4, 0.0]]).double()
    items = base > 0
    by_type = js_caps(base, items, torch.tensor([[2, 2, 2, 5, 7], [3, 3, 3, 3, 0]]))
    alone = js_caps(torch.tensor([[0.3, 0.7], [1.0, 0.0]]), torch.tensor([[True, True], [True, False]]))
    # the second text is one type, whose even attention (a quarter each) differs a little from 0.2, 0.2, 0.2, 0.4
    assert by_type[0] == pytest.approx(float(alone[0]))
    assert by_type[1] == pytest.approx(float(js_divergence(base[1, :4], torch.full((4,), 0.25).double())))
    assert alone[1] == 0


def test_a_text_of_one_item_has_cap_zero_and_one_with_an_unattended_item_ln_2():
    base = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    items = torch.tensor([[True, False, False], [True, True, False]])
    assert js_caps(base, items).tolist() == pytest.approx([0, LN2])


def test_scores_passed_for_weights_are_refused():
    with pytest.raises(ValueError, match="attention must sum to 1"):
        js_caps(torch.tensor([[2.0, 1.0]]), torch.tensor([[True, True]]))


@given(probabilities, st.floats(0, 1))
def test_no_constant_pays_less_than_the_median(p, constant):
    assert constant_adversary(p) <= float((p - constant).abs().mean()) + 1e-12


def test_a_constant_pays_the_share_of_the_rarer_class_of_a_sure_base():
    assert constant_adversary(torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0])) == pytest.approx(0.4)


@given(probabilities)
def test_with_caps_of_ln_2_the_bounds_are_what_the_adversaries_pay(p):
    caps = torch.full_like(p, LN2)
    assert rescaling_bound(p, caps) == pytest.approx(float(torch.minimum(p, 1 - p).mean()))
    assert constant_bound(p, caps) == pytest.approx(constant_adversary(p))


def test_the_bounds_are_attefa_of_the_adversaries_they_describe():
    """Base 0.9, 0.8, 0.2: the median is 0.8; caps that average ln 2 x 0.9."""
    p, caps = torch.tensor([0.9, 0.8, 0.2]), LN2 * torch.tensor([1.0, 0.8, 0.9])
    assert constant_bound(p, caps) == pytest.approx((0.7 / 3) / 0.9)
    assert rescaling_bound(p, caps) == pytest.approx((0.5 / 3) / 0.9)


def test_the_rescaling_adversary_reaches_its_bound():
    """Built from scores: other attention, the same decisions, and predictions as sure as they can be."""
    draw = torch.Generator().manual_seed(0)
    z, base_scores, scores = (torch.randn(7, 5, generator=draw, dtype=torch.float64) for _ in range(3))
    base_logit = (base_scores.softmax(-1) * z).sum(-1)
    rescaled = 1e6 * z * (base_scores - scores).exp()
    logit = (scores.softmax(-1) * rescaled).sum(-1)
    p = base_logit.sigmoid()
    assert torch.equal(logit > 0, base_logit > 0)
    js = js_divergence(scores.softmax(-1), base_scores.softmax(-1))
    assert attefa((logit.sigmoid() - p).abs(), js) == pytest.approx(rescaling_bound(p, js))


@given(st.data())
def test_an_adversary_better_than_the_constant_one_scores_no_more_than_the_bound(data):
    """Whatever its TVD and JSD, if JSD is within the caps and the loss at most that of a constant at the caps."""
    p = data.draw(probabilities)
    cap = data.draw(st.floats(0.05, LN2))
    js = cap * data.draw(st.floats(0.01, 1))
    most = constant_adversary(p) - cap / LN2 + js / LN2
    assume(most >= 0)
    tvd = most * data.draw(st.floats(0, 1))
    score = attefa(torch.tensor([tvd]).double(), torch.tensor([js]).double())
    assert score <= constant_bound(p, torch.full_like(p, cap)) + 1e-6


def both(p: torch.Tensor) -> torch.Tensor:
    return torch.stack([1 - p, p], -1)


def test_the_same_prediction_for_all_but_a_hundredth_has_given_up():
    constant = torch.full((300,), 0.6)
    assert gave_up(both(constant))
    assert gave_up(both(constant + 0.09 * (torch.arange(300) % 3 - 1)))
    assert not gave_up(both(constant + 0.11 * (torch.arange(300) % 3 - 1)))
    stray = constant.clone()
    stray[:3] = 0.0
    assert gave_up(both(stray))
    stray[:4] = 0.0
    assert not gave_up(both(stray))


def test_three_classes_that_differ_have_not_given_up():
    assert not gave_up(torch.eye(3).repeat(5, 1))
    assert gave_up(torch.tensor([[0.2, 0.3, 0.5]]).repeat(5, 1))


def test_a_timid_model_counts_as_one_that_gave_up_though_it_ranks_the_texts():
    """Why the rule is to be asked of the base model first."""
    assert gave_up(both(torch.linspace(0.48, 0.52, 7)))
