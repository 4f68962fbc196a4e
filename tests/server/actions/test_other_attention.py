"""The most different attention with the same answer, as `heedful.explain` has it."""

import pytest
import torch

from heedful.exact import eps_max_js, eps_max_js_bracket
from heedful.report.explanation import explain


def test_it_is_that_of_the_exact_form(model, act):
    for name in ("average", "bilstm", "framed"):
        case = model(name)
        evidence, answer = case.evidence(), act(case, "other_attention")
        best = eps_max_js(evidence.attention, evidence.item_logits, evidence.items, 0.01)
        assert answer["solver"] == "exact" and answer["is_settable"]
        assert answer["jsd"] == pytest.approx(float(best.js), abs=1e-12)
        assert answer["attention"] == pytest.approx(case.real(best.attention), abs=1e-12)
        assert answer["probabilities"] == pytest.approx(
            evidence.decode(best.attention).softmax(-1)[0].tolist(), abs=1e-12
        )
        assert answer["tvd"] <= 0.01 + 1e-9


def test_it_is_that_of_the_explanation(each, act):
    explained = explain(each.trained, (each.text, each.query) if each.query else each.text)[0].other_attention
    answer = act(each, "other_attention")
    assert answer["attention"] == pytest.approx(explained.weights, abs=1e-9)
    assert answer["jsd"] == pytest.approx(explained.js, abs=1e-9)
    assert answer["solver"] == explained.solver
    assert f"{100 * explained.share:.0f} % of the maximum" in answer["sentence"]


def test_three_classes_are_bracketed(model, act):
    case = model("three")
    evidence, answer = case.evidence(), act(case, "other_attention")
    bracket = eps_max_js_bracket(evidence.attention, evidence.item_logits, evidence.items, 0.01)
    assert answer["solver"] == "bound" and answer["jsd"] == pytest.approx(float(bracket.lower), abs=1e-9)
    assert "more different still" in answer["sentence"]


def test_a_head_that_is_not_linear_is_searched(model, act):
    answer = act(model("tanh"), "other_attention")
    assert answer["solver"] == "search" and answer["tvd"] <= 0.01
    assert torch.tensor(answer["attention"]).sum().item() == pytest.approx(1)
