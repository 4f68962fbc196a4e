"""What the model says under other weights, in numbers and words."""

import pytest

from heedful.server.predictions import divergence, prediction_change


def test_the_own_logits_move_nothing(each):
    with each.served.reading(each.text, each.query) as read:
        own = prediction_change(read, read.evidence.trace.logits)
        assert own.tvd == 0 and not own.is_changed and "moves by 0.00" in own.move and "stays" in own.move
        assert divergence(read, read.evidence.attention) == pytest.approx(0, abs=1e-12)


def test_a_changed_decision_is_named(model):
    case = model("average")
    with case.served.reading(case.text) as read:
        other = prediction_change(read, -read.evidence.trace.logits)
    labels = case.served.info.labels
    assert other.is_changed and other.label == labels[1 - int(case.evidence().predicted[0])]
    assert f"changes to {other.label} ({other.probability:.2f})" in other.move
