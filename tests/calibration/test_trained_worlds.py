"""Trained models: one tiny deceptive model, and requirements that are not met."""

from dataclasses import replace

import pytest

from heedful.calibration import trained_worlds
from heedful.calibration.calibration_page import Calibration, markdown
from heedful.calibration.trained_worlds import (
    TrainedModel,
    TrainedRow,
    broken_rules,
    train_and_judge,
    trained_rows,
)
from heedful.schema import updated

TINY = {
    "data.train_limit": 400,
    "data.test_limit": 100,
    "network.embed_size": 20,
    "network.hidden_size": 16,
    "training.learning_rate": 0.01,
}
DECEPTIVE = TrainedModel("planted", "bilstm", "deceptive")


@pytest.fixture(scope="module")
def row():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trained_worlds, "SMALL", TINY)
        return trained_rows([train_and_judge(DECEPTIVE, 0)])[0]


def test_a_model_that_is_trained_to_deceive_gets_a_no(row):
    assert row.accuracy > 0.75
    assert row.answer.overall.answer == "No" and row.answer.overall.shares.points.value < 0.2
    assert row.answer.overall.shares.texts == 100
    assert broken_rules([row]) == []


def test_the_page_has_a_line_for_each_trained_model(row):
    page = markdown(Calibration([], 1, "heedful calibrate --trained", [row]))
    assert "## Trained models" in page
    assert f"| planted | BiLSTM, deceptive | {row.accuracy:.2f} |" in page and "negative: No, positive: No |" in page


def saying(row, model, answer, share=0.5):
    overall = updated(
        row.answer.overall, answer=answer, shares=updated(row.answer.overall.shares, points={"value": share, "n": 100})
    )
    classes = tuple(updated(each, answer=answer) for each in row.answer.classes)
    return TrainedRow(model, row.accuracy, updated(row.answer, overall=overall, classes=classes))


def test_requirements_that_are_not_met_are_named(row):
    assert "deceptive BiLSTM: No is required" in broken_rules([saying(row, DECEPTIVE, "Yes")])[0]
    honest = TrainedModel("planted", "average", "vanilla")
    assert "honest embedding model: Yes is required" in broken_rules([saying(row, honest, "No")])[0]
    assert broken_rules([saying(row, replace(honest, source="reviews"), "No")]) == []
    pair = saying(row, honest, "Yes", 0.95), saying(row, replace(honest, method="deceptive"), "Yes", 0.9)
    assert "it lowers it by 0.05" in broken_rules(pair)[0]
    assert broken_rules([pair[0], saying(row, pair[1].model, "For some texts", 0.8)]) == []
