"""The worst attention in a ball, and the certified radius."""

import pytest
import torch

from heedful.battery.embedding_noise import embedding_noise
from heedful.exact import certified_radius_on_simplex, worst_case_on_simplex

# Noise on a word, as the audit draws it.


def test_noise_is_that_of_the_audit(every, act):
    for each in every:
        for seed, scale in [(0, 0.01), (3, 2.0)]:
            findings = embedding_noise(each.evidence(), torch.Generator().manual_seed(seed), radii=(scale,))
            answer = act(each, "embedding_noise", seed=seed, scale=scale)
            assert answer["jsd"] == pytest.approx(float(findings.values["js"]), abs=1e-12)
            assert answer["tvd"] == pytest.approx(float(findings.values["tvd"]), abs=1e-12)
            assert answer["is_changed"] == bool(findings.values["flips"])
            assert answer["attention"] == pytest.approx(each.real(findings.items["noisy_attention"]), abs=1e-12)
            assert answer["items"] == [place for place, noisy in enumerate(each.real(findings.items["noisy"])) if noisy]
            assert not answer["is_settable"]


NORMS = ("l1", "l2", "linf")
ORDERS = {"l1": 1, "l2": 2, "linf": torch.inf}


def problem(case):
    evidence = case.evidence()
    return evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items


def test_two_classes_are_those_of_the_exact_form(model, act):
    for norm in NORMS:
        for name in ("average", "bilstm", "framed", "hierarchical", "nli"):
            case = model(name)
            worst = worst_case_on_simplex(*problem(case), 0.2, norm)
            answer = act(case, "worst_perturbation", radius=0.2, norm=norm)
            expected = case.real(problem(case)[0] + worst.perturbation)
            assert answer["attention"] == pytest.approx(expected, abs=1e-12)
            reached = answer["logits"][1] - answer["logits"][0]
            assert min(abs(reached - float(worst.low)), abs(reached - float(worst.high))) < 1e-9
            assert answer["solver"] == "exact"


def test_the_radius_is_the_certified_one_and_the_decision_changes_beyond_it(every_linear, act, model, every):
    for linear in every_linear:
        for norm in NORMS:
            certified = float(certified_radius_on_simplex(*problem(linear), norm))
            answer = act(linear, "worst_perturbation", radius=0.1, norm=norm)
            assert answer["radius"] == (None if certified == float("inf") else pytest.approx(certified, abs=1e-12))
            assert answer["most_radius"] == {"l1": 2.0, "l2": 2**0.5, "linf": 1.0}[norm]
    for norm in NORMS:
        case = model("bilstm")
        radius = act(case, "worst_perturbation", norm=norm)["radius"]
        assert radius is not None
        assert not act(case, "worst_perturbation", norm=norm, radius=0.999 * radius)["is_changed"]
        assert act(case, "worst_perturbation", norm=norm, radius=1.001 * radius)["is_changed"]
    assert act(model("tanh"), "worst_perturbation")["radius"] is None
    for each in every:
        answer = act(each, "worst_perturbation", radius=0)
        assert answer["tvd"] == pytest.approx(0, abs=1e-12)


def test_what_is_found_lies_in_the_ball_and_is_a_distribution(model, act):
    for name in ["three", "tanh"]:
        for norm in NORMS:
            case = model(name)
            answer = act(case, "worst_perturbation", radius=0.3, norm=norm)
            attention = torch.tensor(answer["attention"], dtype=torch.float64)
            own = torch.tensor(case.real(case.evidence().attention), dtype=torch.float64)
            assert attention.sum().item() == pytest.approx(1) and attention.min() >= -1e-12
            assert torch.linalg.vector_norm(attention - own, ORDERS[norm]) <= 0.3 + 1e-9
            assert answer["solver"] == {"three": "bound", "tanh": "search"}[name] and answer["tvd"] > 0
            assert "a worse one might exist" in answer["sentence"]
