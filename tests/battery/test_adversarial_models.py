"""Cases whose answer is known, and properties that any answer has."""

from math import isnan, log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from heedful.battery.adversarial_models import (
    BETTER,
    GAVE_UP,
    NO_BETTER,
    adversary_rows,
    attefa,
    base_rows,
    best_constant,
    constant_adversary,
    family,
    gave_up,
    js_caps,
    rescaling_adversary,
)
from heedful.exact import frozen_optimum
from heedful.measures import js_divergence, total_variation_distance
from support.strategies import distributions, masks, padded

LN2 = log(2)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=11).map(lambda p: torch.tensor(p, dtype=torch.float64))


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
        divergences = []
        for kind in tokens[row][items[row]].unique():
            members = (items[row] & (tokens[row] == kind)).double()
            divergences.append(js_divergence(base[row], members / members.sum()))
        torch.testing.assert_close(cap, torch.stack(divergences).max(), atol=1e-9, rtol=0)
    torch.testing.assert_close(js_caps(padded(base), padded(items), padded(tokens).long()), caps, atol=1e-12, rtol=0)


def test_a_text_of_one_item_has_cap_zero_and_one_with_an_unattended_item_ln_2():
    base = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    items = torch.tensor([[True, False, False], [True, True, False]])
    assert js_caps(base, items).tolist() == pytest.approx([0, LN2])


def test_scores_passed_for_weights_are_refused():
    with pytest.raises(ValueError, match="attention must sum to 1"):
        js_caps(torch.tensor([[2.0, 1.0]]), torch.tensor([[True, True]]))


def both(p: torch.Tensor) -> torch.Tensor:
    return torch.stack([1 - p, p], -1)


@given(probabilities, st.floats(0, 1))
def test_no_constant_pays_less_than_the_median(p, constant):
    paid = constant_adversary(both(p))
    assert float(paid.mean()) <= float((p - constant).abs().mean()) + 1e-12
    assert float(paid.mean()) == pytest.approx(float((p - p.median()).abs().mean()), abs=1e-12)


@pytest.mark.parametrize("texts", [1, 2, 7, 30])
@pytest.mark.parametrize("classes", [3, 5])
def test_no_constant_of_many_classes_pays_less_by_linear_programming(texts, classes):
    """Variables: the constant, then |p - constant| of each text and class; half their sum is what it pays."""
    draw = torch.Generator().manual_seed(texts)
    p = (4 * torch.randn(texts, classes, generator=draw, dtype=torch.float64)).softmax(-1)
    size = texts * classes
    constant, moved = np.tile(np.eye(classes), (texts, 1)), np.eye(size)
    least = linprog(
        c=[0.0] * classes + [0.5 / texts] * size,
        A_ub=np.block([[constant, -moved], [-constant, -moved]]),
        b_ub=np.concatenate([p.numpy().ravel(), -p.numpy().ravel()]),
        A_eq=[[1.0] * classes + [0.0] * size],
        b_eq=[1.0],
    )
    assert float(constant_adversary(p).mean()) == pytest.approx(least.fun, abs=1e-9)
    best = best_constant(p)
    assert float(best.sum()) == pytest.approx(1) and (best >= 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_rescaling_adversary_can_be_built(classes):
    """From scores: other attention, the same decisions, and predictions as sure as they can be."""
    draw = torch.Generator().manual_seed(0)
    z = torch.randn(7, 5, classes, generator=draw, dtype=torch.float64)
    base_scores, scores = (torch.randn(7, 5, 1, generator=draw, dtype=torch.float64) for _ in range(2))
    base_logits = (base_scores.softmax(1) * z).sum(1)
    rescaled = 1e6 * z * (base_scores - scores).exp()
    logits = (scores.softmax(1) * rescaled).sum(1)
    p = base_logits.softmax(-1)
    assert torch.equal(logits.argmax(-1), base_logits.argmax(-1))
    torch.testing.assert_close(total_variation_distance(logits.softmax(-1), p), rescaling_adversary(p))


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


# A base of two texts, three items each, sure of itself; the second text has a padded item.
ITEMS = torch.tensor([[True, True, True], [True, True, False]])
ATTENTION = torch.tensor([[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]).double()
SURE = torch.tensor([[0.9, 0.1], [0.1, 0.9]]).double()
ITEM_LOGITS = torch.tensor([[[2.0, 0.0], [2.0, 0.0], [-1.0, 0.0]], [[-3.0, 0.0], [0.5, 0.0], [9.0, 0.0]]]).double()


def attempt(attention: torch.Tensor, predictions: torch.Tensor) -> dict[str, torch.Tensor]:
    return adversary_rows(attention, predictions, ATTENTION, SURE, ITEMS)


WON = attempt(torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]).double(), torch.tensor([[0.8, 0.2], [0.1, 0.9]]))
CONSTANT = attempt(torch.tensor([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]).double(), torch.full((2, 2), 0.5))


def test_the_rows_of_an_adversary_by_hand():
    assert WON["tvd"].tolist() == pytest.approx([0.1, 0.0])
    torch.testing.assert_close(WON["js"], js_caps(ATTENTION, ITEMS))  # all weight on a least attended item
    torch.testing.assert_close(WON["loss"], WON["tvd"] - WON["js"] / LN2)
    assert WON["apart"].tolist() == pytest.approx([0.35, 0.35])
    assert CONSTANT["apart"].tolist() == [0, 0]


def test_the_family_by_hand():
    members = family(base_rows(ATTENTION, SURE, ITEMS), [CONSTANT, WON])
    cap = float(js_caps(ATTENTION, ITEMS).mean())
    assert members.cap == pytest.approx(cap)
    assert [member.tvd for member in members.seeds] == pytest.approx([0.4, 0.05])
    assert [member.unit_tvd for member in members.seeds] == pytest.approx([0.2, 0.025])
    assert [member.js for member in members.seeds] == pytest.approx([cap, cap])
    assert [member.loss for member in members.seeds] == pytest.approx([0.4 - cap / LN2, 0.05 - cap / LN2])
    values = [0.4 / (cap / LN2), 0.05 / (cap / LN2)]
    assert [member.attefa for member in members.seeds] == pytest.approx(values)
    assert [member.attefa_of_cap for member in members.seeds] == pytest.approx([0.4, 0.05])
    assert [member.gave_up for member in members.seeds] == [True, False]
    assert members.best == 1
    assert members.mean == pytest.approx(sum(values) / 2)
    assert members.spread == pytest.approx((values[0] - values[1]) / 2)


def test_an_adversary_that_did_not_give_up_may_be_no_better_than_a_constant_answer():
    """One moves its predictions nearly as far as a constant answer does, and its attention not at all."""
    lost = adversary_rows(ATTENTION, SURE.flip(-1).lerp(SURE, 0.2), ATTENTION, SURE, ITEMS)
    members = family(base_rows(ATTENTION, SURE, ITEMS), [CONSTANT, lost, WON])
    assert members.seeds[1].gave_up is False and members.seeds[1].loss > members.constant.loss
    assert members.outcomes == (GAVE_UP, NO_BETTER, BETTER)


def test_the_members_that_need_no_training():
    members = family(base_rows(ATTENTION, SURE, ITEMS, ITEM_LOGITS), [WON])
    # the adversary that gave up is the constant member: it pays the same and its attention is at the cap
    assert members.constant == family(base_rows(ATTENTION, SURE, ITEMS), [CONSTANT]).seeds[0]
    assert members.rescaled.tvd == pytest.approx(0.1) and members.rescaled.js == pytest.approx(members.cap)
    optimum = frozen_optimum(ATTENTION, ITEM_LOGITS, ITEMS)
    assert members.frozen is not None
    assert members.frozen.loss == pytest.approx(float(optimum.loss.mean()))
    assert members.frozen.attefa == attefa(optimum.moved, optimum.js)


def test_the_frozen_optimum_is_left_out_where_it_is_not_known():
    three = torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    not_linear = base_rows(ATTENTION, SURE, ITEMS)
    more = base_rows(ATTENTION, three, ITEMS, torch.zeros(2, 3, 3).double())
    for base, predictions in ((not_linear, SURE), (more, three)):
        members = family(base, [adversary_rows(ATTENTION, predictions, ATTENTION, predictions, ITEMS)])
        assert members.frozen is None
        assert isnan(members.seeds[0].attefa) and members.seeds[0].loss == 0


def test_a_token_wise_adversary_is_held_against_the_cap_of_types_and_the_frozen_optimum_is_not():
    """A text of one type of token leaves no other attention; the frozen optimum may still choose among equals."""
    even = ITEMS / ITEMS.sum(-1, keepdim=True)
    rows = base_rows(even, SURE, ITEMS, ITEM_LOGITS, torch.tensor([[5, 5, 5], [7, 7, 0]]))
    members = family(rows, [adversary_rows(even, SURE, even, SURE, ITEMS)])
    assert members.cap == pytest.approx(0, abs=1e-12)
    assert rows["frozen_js"].min() > 0
    assert members.frozen is not None
    assert members.frozen.attefa_of_cap == attefa(rows["frozen_tvd"], rows["frozen_js"], rows["cap"])


def test_nobody_gave_up_on_a_base_that_says_the_same_for_every_text():
    timid = torch.tensor([[0.52, 0.48], [0.48, 0.52]])
    rows = adversary_rows(ATTENTION, timid, ATTENTION, timid, ITEMS)
    assert family(base_rows(ATTENTION, timid, ITEMS), [rows]).seeds[0].gave_up is None


def test_of_seeds_with_the_same_loss_the_first_is_best_and_one_seed_has_no_spread():
    base = base_rows(ATTENTION, SURE, ITEMS)
    assert family(base, [CONSTANT, WON, WON]).best == 1
    assert family(base, [WON]).spread == 0


def test_padding_changes_no_row():
    wide = (padded(ATTENTION), SURE, padded(ITEMS), torch.nn.functional.pad(ITEM_LOGITS, (0, 0, 0, 3), value=7.0))
    for name, values in base_rows(ATTENTION, SURE, ITEMS, ITEM_LOGITS).items():
        torch.testing.assert_close(base_rows(*wide)[name], values, atol=1e-12, rtol=0)
    torch.testing.assert_close(
        adversary_rows(padded(ATTENTION.flip(0)), SURE, padded(ATTENTION), SURE, padded(ITEMS))["js"],
        adversary_rows(ATTENTION.flip(0), SURE, ATTENTION, SURE, ITEMS)["js"],
        atol=1e-12,
        rtol=0,
    )
