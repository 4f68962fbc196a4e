import pytest

from support.by_hand import findings_of, sigmoid


def test_uniform_attention():
    values = findings_of("uniform", [4, -4], [0.75, 0.25])
    assert values["tvd_uniform"] == pytest.approx(sigmoid(2.0) - 0.5)
    assert values["flips_uniform"] == 1 and values["correct_uniform"] == 0  # a tie goes to the first class
