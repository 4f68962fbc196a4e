import pytest

from support.by_hand import findings_of, sigmoid


def test_permuting_two_weights_either_changes_nothing_or_swaps_them():
    values = findings_of("permutation", [4, -4], [0.75, 0.25], count=101)
    swapped = sigmoid(2.0) - sigmoid(-2.0)
    assert values["worst_tvd"] == pytest.approx(swapped)
    assert values["median_tvd"] in (pytest.approx(0.0), pytest.approx(swapped))
    assert values["some_flips"] == 1


def test_permuting_equal_items_matters_nothing():
    values = findings_of("permutation", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["worst_tvd"] == pytest.approx(0, abs=1e-12) and values["some_flips"] == 0
