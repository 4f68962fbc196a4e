"""The authors' optimiser, followed from where theirs started."""

import numpy as np
import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.battery.adversarial_attention import adversarial_attention, search_adversary
from heedful.exact import eps_max_js, eps_max_js_bound, prediction_survives_on_items, without_top
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.trace import trace
from support.by_hand import findings_of
from support.evidence import evidence_of
from support.folders import needs_golden
from support.golden_models import NAMES, load_full
from support.models import make, make_batch


def test_the_adversary_moves_everything_to_the_least_attended_of_equal_items():
    values = findings_of("adversarial_attention", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["js"] == pytest.approx(values["cap"])
    assert values["without_top_1"] == 1


def test_the_adversary_cannot_leave_the_only_item_that_gives_the_answer():
    values = findings_of("adversarial_attention", [9, -9, -9], [0.98, 0.01, 0.01])
    assert values["without_top_1"] == 0
    assert values["js"] < 0.2 * values["cap"]


@pytest.mark.parametrize(("task", "eps"), [("classification", 0.01), ("nli", 0.01), ("qa", 0.05)])
def test_answers_to_questions_may_move_further_as_in_the_papers(task, eps):
    model = make("average")
    with torch.no_grad():
        evidence = Evidence(model, trace(model, make_batch()), Context(task=task))
        default = adversarial_attention(evidence, torch.Generator()).values["js"]
        named = adversarial_attention(evidence, torch.Generator(), eps=eps).values["js"]
    torch.testing.assert_close(default, named, atol=0, rtol=0, equal_nan=True)


def test_the_attention_that_is_shown_has_that_divergence_and_keeps_the_answer():
    evidence = evidence_of(make())
    with torch.no_grad():
        findings = adversarial_attention(evidence, torch.Generator(), eps=0.05)
        shown = findings.items["adversarial_attention"]
        moved = total_variation_distance(evidence.decode(shown).softmax(-1), evidence.probabilities)
    js = js_divergence(shown, evidence.attention, evidence.items)
    torch.testing.assert_close(js[:2], findings.values["js"][:2])
    assert (moved <= 0.05 + 1e-9).all()


@pytest.mark.parametrize("classes", [3, 5])
def test_with_more_classes_each_top_is_answered_as_if_alone(classes):
    evidence = evidence_of(make(classes=classes))
    with torch.no_grad():
        values = adversarial_attention(evidence, torch.Generator(), eps=0.05).values
    assert evidence.item_logits is not None
    problem = (evidence.attention, evidence.item_logits, evidence.items)
    torch.testing.assert_close(values["js"], eps_max_js_bound(*problem, 0.05).js, equal_nan=True)
    for top in (1, 3):
        rest = without_top(evidence.attention, evidence.items, top)
        alone = prediction_survives_on_items(*problem, rest, 0.05).where(evidence.count > top, torch.nan)
        decided = ~alone.isnan()
        assert decided.any()
        assert torch.equal(values[f"without_top_{top}"][decided], alone[decided])


pytestmark = needs_golden


@pytest.fixture(params=NAMES, scope="module")
def golden(request):
    return load_full(request.param)


def evidence_of_golden(golden) -> Evidence:
    with torch.no_grad():
        return Evidence(golden.model, trace(golden.model, golden.batch))


@pytest.mark.parametrize("steps", [1, 2, 10, 100])
def test_the_iterates_are_theirs(golden, steps):
    evidence = evidence_of_golden(golden)
    start = torch.tensor(golden.results["adv_init_logits_f64"])
    result = search_adversary(evidence.decode, evidence.attention, evidence.items, start, steps=steps)
    wanted = golden.results[f"adv_logits_after{steps}_f64"]
    np.testing.assert_allclose(result.scores.numpy(), wanted, atol=1e-6, rtol=0)


@pytest.mark.slow
def test_the_end_is_theirs_and_below_the_exact_answer(golden):
    evidence = evidence_of_golden(golden)
    start = torch.tensor(golden.results["adv_init_logits_f64"])
    result = search_adversary(evidence.decode, evidence.attention, evidence.items, start, steps=500)
    np.testing.assert_allclose(result.attention.numpy(), golden.results["adv_attn_f64"], atol=1e-6, rtol=0)
    np.testing.assert_allclose(result.tvd.numpy(), golden.results["adv_dy_f64"], atol=1e-6, rtol=0)
    np.testing.assert_allclose(result.js.numpy(), golden.results["adv_jsd_f64"], atol=1e-6, rtol=0)
    best, _ = result.best(0.01)
    np.testing.assert_allclose(best.numpy(), golden.results["emax_jsd_eps0.01_f64"], atol=1e-6, rtol=0)
    assert evidence.item_logits is not None
    exact = eps_max_js(evidence.attention, evidence.item_logits, evidence.items, 0.01)
    assert (exact.js >= best - 1e-9).all()
