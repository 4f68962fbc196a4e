import pytest
import torch

from support.by_hand import values_of


def test_the_adversary_moves_everything_to_the_least_attended_of_equal_items():
    values = values_of("adversarial_attention", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["js"] == pytest.approx(values["cap"])
    assert values["without_top_1"] == 1


def test_the_adversary_cannot_leave_the_only_item_that_gives_the_answer():
    values = values_of("adversarial_attention", [9, -9, -9], [0.98, 0.01, 0.01])
    assert values["without_top_1"] == 0
    assert values["js"] < 0.2 * values["cap"]


def test_the_top_three_of_three_items_leave_nothing():
    assert torch.tensor(values_of("adversarial_attention", [2, 2, 2], [0.7, 0.2, 0.1])["without_top_3"]).isnan()


def test_searching_finds_no_more_than_there_is():
    values = values_of("adversarial_attention", [2, 1, -1, 0], [0.6, 0.2, 0.1, 0.1], search=True, steps=200)
    assert 0 <= values["js_search"] <= values["js"] + 1e-9
