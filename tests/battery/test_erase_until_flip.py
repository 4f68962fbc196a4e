import pytest
import torch

from support.by_hand import findings_of


def test_erasing_until_the_decision_flips():
    # 3 x .4 + 3 x .3 - 4 x .3 = .9; both positive items must go unless -4 alone is left with too much of one.
    values = findings_of("erase_until_flip", [3, 3, -4], [0.4, 0.3, 0.3])
    assert values["count_minimal"] == 1  # without the first: (.9 - 1.2) / .6 < 0
    assert values["count_attention"] == 1
    assert values["fraction_attention"] == pytest.approx(1 / 3)
    assert values["mass_attention"] == pytest.approx(0.4)
    assert 1 <= values["count_random"] <= 3


def test_a_decision_that_nothing_flips_is_undefined():
    values = findings_of("erase_until_flip", [3, 3, 4], [0.4, 0.3, 0.3], bias=1.0)
    assert all(torch.tensor(value).isnan() for value in values.values())


def test_a_ranking_that_misses_counts_as_everything_erased():
    # Erasing the second flips (logit -1 of what is left), but attention erases the first and keeps class 1 to the end.
    values = findings_of("erase_until_flip", [-1, 3], [0.6, 0.4], bias=0.2)
    assert values["count_minimal"] == 1
    assert values["count_attention"] == 2 and values["fraction_attention"] == 1.0 and values["mass_attention"] == 1.0
