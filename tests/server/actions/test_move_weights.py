"""Weights on other items: shuffled, worst, uniform."""

import pytest
import torch

from heedful.battery.uniform import uniform
from heedful.exact import draw_permutations, eps_max_js, eps_max_js_bound, worst_permutation
from heedful.report.explanations import explain

# Adversarial attention, as `heedful.explain` has it.


def test_other_attention_is_that_of_the_exact_form_and_the_explanation(model, act, every):
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
    for each in every:
        explained = explain(each.trained, (each.text, each.query) if each.query else each.text)[0].other_attention
        answer = act(each, "other_attention")
        assert answer["attention"] == pytest.approx(explained.weights, abs=1e-9)
        assert answer["jsd"] == pytest.approx(explained.js, abs=1e-9)
        assert answer["solver"] == explained.solver
        assert f"{100 * explained.share:.0f}% of the maximum" in answer["sentence"]


def test_three_classes_have_a_bound_and_other_heads_are_searched(model, act):
    case = model("three")
    evidence, answer = case.evidence(), act(case, "other_attention")
    witness = eps_max_js_bound(evidence.attention, evidence.item_logits, evidence.items, 0.01)
    assert answer["solver"] == "bound" and answer["jsd"] == pytest.approx(float(witness.js), abs=1e-9)
    assert "More different attention might exist" in answer["sentence"]
    answer = act(model("tanh"), "other_attention")
    assert answer["solver"] == "search" and answer["tvd"] <= 0.01
    assert torch.tensor(answer["attention"]).sum().item() == pytest.approx(1)


def test_a_shuffle_is_drawn_by_its_seed_and_seeds_differ(every, act, model):
    for each in every:
        evidence = each.evidence()
        order = draw_permutations(evidence.items, torch.Generator().manual_seed(5), 1)[:, 0]
        shuffled = evidence.attention.gather(1, order)
        answer = act(each, "shuffle", seed=5)
        assert answer["attention"] == each.real(shuffled)
        assert answer["logits"] == pytest.approx(evidence.decode(shuffled)[0].tolist(), abs=1e-12)
        assert answer == act(each, "shuffle", seed=5)
    drawn = {tuple(act(model("bilstm"), "shuffle", seed=seed)["attention"]) for seed in range(5)}
    assert len(drawn) > 1


def test_the_worst_permutation_is_exact_or_searched(every_linear, act, model):
    for linear in every_linear:
        evidence, answer = linear.evidence(), act(linear, "worst_permutation")
        worst = worst_permutation(evidence.attention, evidence.item_logits, evidence.items)
        assert answer["tvd"] == pytest.approx(float(worst.tvd), abs=1e-12)
        assert answer["attention"] == pytest.approx(linear.real(worst.attention), abs=1e-12)
        assert answer["solver"] == worst.solver
    case = model("tanh")
    answer, evidence = act(case, "worst_permutation"), case.evidence()
    assert answer["solver"] == "search"
    assert sorted(answer["attention"]) == pytest.approx(sorted(case.real(evidence.attention)), abs=1e-12)
    shuffled = [act(case, "shuffle", seed=seed)["tvd"] for seed in range(5)]
    assert answer["tvd"] >= sorted(shuffled)[2]


def test_uniform_weights_are_those_of_the_audit(every, act):
    for each in every:
        evidence, answer = each.evidence(), act(each, "uniform")
        findings = uniform(evidence, torch.Generator())
        assert answer["tvd"] == pytest.approx(float(findings.values["tvd_uniform"]), abs=1e-12)
        assert answer["is_changed"] == bool(findings.values["flips_uniform"])
        assert answer["attention"] == pytest.approx([1 / len(answer["attention"])] * len(answer["attention"]))
