import pytest
import torch

from heedful.battery import Context, Evidence
from heedful.battery.adversarial_attention import adversarial_attention
from heedful.exact import eps_max_js_bound, prediction_survives_on_items, without_top
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.trace import trace
from support.by_hand import findings_of
from support.evidence import evidence_of
from support.models import make, make_batch


def test_the_adversary_moves_everything_to_the_least_attended_of_equal_items():
    values = findings_of("adversarial_attention", [2, 2, 2], [0.7, 0.2, 0.1])
    assert values["js"] == pytest.approx(values["cap"])
    assert values["without_top_1"] == 1


def test_the_adversary_cannot_leave_the_only_item_that_gives_the_answer():
    values = findings_of("adversarial_attention", [9, -9, -9], [0.98, 0.01, 0.01])
    assert values["without_top_1"] == 0
    assert values["js"] < 0.2 * values["cap"]


def test_the_top_three_of_three_items_leave_nothing():
    assert torch.tensor(findings_of("adversarial_attention", [2, 2, 2], [0.7, 0.2, 0.1])["without_top_3"]).isnan()


def test_searching_finds_no_more_than_there_is():
    values = findings_of("adversarial_attention", [2, 1, -1, 0], [0.6, 0.2, 0.1, 0.1], search=True, steps=200)
    assert 0 <= values["js_search"] <= values["js"] + 1e-9


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
