import pytest

from support.by_hand import findings_of, sigmoid


def test_prediction():
    values = findings_of("prediction", [4, -4], [0.75, 0.25])
    assert values["predicted"] == values["label"] == values["correct"] == 1
    assert values["probability"] == pytest.approx(sigmoid(2.0))
    assert values["items"] == 2 and values["max_attention"] == pytest.approx(0.75)
