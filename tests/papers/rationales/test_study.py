import pytest
import torch

from heedful.papers import STUDIES
from heedful.papers.rationales.study import iou_f1
from support.synthetic_results import known, made_cell, results_of

STUDY = STUDIES["rationales"]


def test_guided_models_have_the_loss_and_marks_are_asked_about():
    by_method = {each.method: each.run.run for each in STUDY.runs_at("small")}
    assert by_method["none"].network.attention == "uniform"
    assert {by_method[name].training.method for name in ("none", "attention")} == {"vanilla"}
    assert by_method["guided as published"].training.options == {"weight": 100.0, "compared": "softmax"}
    assert by_method["guided"].training.options == {"weight": 1.0}
    for each in STUDY.runs_at("medium"):
        audit = known(each.audit)
        assert "plausibility" in audit.tests
        assert audit.options["plausibility"]["k"] == (5.0 if each.data == "hatexplain" else 0.31)


def test_minilm_is_guided_and_not_from_medium_scale_on(monkeypatch):
    monkeypatch.setattr("heedful.papers.reproduction.has_minilm", lambda: True)
    assert not [each for each in STUDY.runs_at("small") if each.encoder == "minilm"]
    cells = {(each.data, each.method): each.run.run for each in STUDY.runs_at("medium") if each.encoder == "minilm"}
    assert set(cells) == {("hatexplain", "attention"), ("hatexplain", "guided")}
    assert {run.network.encoder for run in cells.values()} == {"hf:minilm"}
    assert [run.training.method for run in cells.values()] == ["vanilla", "guided_by_rationales"]


def test_iou_f1_is_that_of_the_means_by_hand():
    precision, recall = (torch.tensor([own], dtype=torch.float64) for own in ([0.2, 0.4], [0.5, 0.7]))
    columns = {
        f"plausibility.hatexplain_{name}_attention": own for name, own in (("precision", precision), ("recall", recall))
    }
    value = iou_f1(made_cell("hatexplain", "bilstm", "attention", columns=columns), "attention")
    assert value.value == pytest.approx(2 * 0.3 * 0.6 / 0.9) and value.n == 2


def test_printed_numbers_stand_beside_hatexplain():
    performance = STUDY.tables(results_of(STUDY))[0]
    papers = {name: entries[0].paper for name, entries in performance.rows}
    assert papers[("hatexplain", "attention")] == 0.621 and papers[("eraser_movies", "attention")] is None
