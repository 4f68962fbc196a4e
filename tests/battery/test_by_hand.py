"""Each test on a model so small that its answer is known by hand."""

import pytest
import torch

from support.by_hand import found, sigmoid


def test_prediction():
    values = found("prediction", [4, -4], [0.75, 0.25])
    assert values["predicted"] == values["label"] == values["correct"] == 1
    assert values["probability"] == pytest.approx(sigmoid(2.0))
    assert values["items"] == 2 and values["max_attention"] == 0.75


def test_gradient_agreement_is_one_where_attention_times_token_is_in_attentions_order():
    assert found("gradient_agreement", [1, 1, 1], [0.5, 0.3, 0.2])["tau"] == pytest.approx(1.0)
    assert found("gradient_agreement", [1, 3, 9], [0.5, 0.3, 0.2])["tau"] == pytest.approx(-1.0)


def test_leave_one_out_agreement():
    # Left out, the first token (weight .75) moves the logit from 2 to -4, the second from 2 to 4.
    values = found("leave_one_out_agreement", [4, -4], [0.75, 0.25])
    assert values["tau"] == 1.0 and values["tau_gradient"] == 1.0


def test_permuting_two_weights_either_changes_nothing_or_swaps_them():
    values = found("permutation", [4, -4], [0.75, 0.25], count=101)
    swapped = sigmoid(2.0) - sigmoid(-2.0)
    assert values["worst_tvd"] == pytest.approx(swapped)
    assert values["median_tvd"] in (pytest.approx(0.0), pytest.approx(swapped))
    assert values["some_flips"] == 1


def test_permuting_equal_items_matters_nothing():
    values = found("permutation", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["worst_tvd"] == pytest.approx(0, abs=1e-12) and values["some_flips"] == 0


def test_the_adversary_moves_everything_to_the_least_attended_of_equal_items():
    values = found("adversary", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["js"] == pytest.approx(values["cap"])
    assert values["without_top_1"] == 1


def test_the_adversary_can_not_leave_the_only_item_that_gives_the_answer():
    values = found("adversary", [9, -9, -9], [0.98, 0.01, 0.01])
    assert values["without_top_1"] == 0
    assert values["js"] < 0.2 * values["cap"]


def test_the_top_three_of_three_items_leave_nothing():
    assert torch.tensor(found("adversary", [2, 2, 2], [0.7, 0.2, 0.1])["without_top_3"]).isnan()


def test_searching_finds_no_more_than_there_is():
    values = found("adversary", [2, 1, -1, 0], [0.6, 0.2, 0.1, 0.1], search=True, steps=200)
    assert 0 <= values["js_search"] <= values["js"] + 1e-9


def test_erasing_the_top_item_flips_and_the_other_does_not():
    values = found("erase_one", [4, -4], [0.75, 0.25])
    assert values["flips_attention"] == 1 and values["other_flips_attention"] == 0
    assert values["some_item_flips"] == 1
    assert values["delta_attention_attention"] == pytest.approx(0.5)
    assert values["delta_js_attention"] == pytest.approx(values["mean_delta_js_attention"])  # one other item only
    assert values["delta_js_attention"] > 0


def test_erasing_until_the_decision_flips():
    # 3 x .4 + 3 x .3 - 4 x .3 = .9; both positive items must go unless -4 alone is left with too much of one.
    values = found("erase_until_flip", [3, 3, -4], [0.4, 0.3, 0.3])
    assert values["count_minimal"] == 1  # without the first: (.9 - 1.2) / .6 < 0
    assert values["count_attention"] == 1
    assert values["fraction_attention"] == pytest.approx(1 / 3)
    assert values["mass_attention"] == pytest.approx(0.4)
    assert 1 <= values["count_random"] <= 3


def test_a_decision_that_nothing_flips_is_undefined():
    values = found("erase_until_flip", [3, 3, 4], [0.4, 0.3, 0.3], bias=1.0)
    assert all(torch.tensor(value).isnan() for value in values.values())


def test_a_ranking_that_misses_counts_as_everything_erased():
    # Erasing the second flips (logit -1 of what is left), but attention erases the first and keeps class 1 to the end.
    values = found("erase_until_flip", [-1, 3], [0.6, 0.4], bias=0.2)
    assert values["count_minimal"] == 1
    assert values["count_attention"] == 2 and values["fraction_attention"] == 1.0 and values["mass_attention"] == 1.0


def test_uniform_attention():
    values = found("uniform", [4, -4], [0.75, 0.25])
    assert values["tvd_uniform"] == pytest.approx(sigmoid(2.0) - 0.5)
    assert values["flips_uniform"] == 1 and values["correct_uniform"] == 0  # a tie goes to the first class
