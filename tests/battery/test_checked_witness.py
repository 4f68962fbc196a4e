"""What an exact form claims is run through the model, and an error where it does not hold."""

from dataclasses import replace

import pytest
import torch

from heedful.battery import Evidence, adversarial_attention, erase_until_flip
from heedful.battery.checked_witness import check_adversarial_attention, check_flip_set
from heedful.errors import HeedfulError
from heedful.exact import eps_max_js, minimal_flip_set
from heedful.measures import js_divergence
from heedful.models.trace import trace
from support.by_hand import Bag, batch_of, evidence_by_hand, sigmoid
from support.evidence import evidence_of_kind, seeded

EPS = 0.05


def two_texts() -> Evidence:
    """Logits 3, 3, -4 in one text and 2, -1, 1 in the other, with the weights .4, .3, .3 in both."""
    logits, weights = torch.tensor([[3.0, 3, -4, 2, -1, 1], [0.4, 0.3, 0.3] * 2], dtype=torch.float64)
    model = Bag(logits, weights.log())
    batch = replace(batch_of(2, 3), index=torch.tensor([17, 18]))
    return Evidence(model, trace(model, batch))


def solved(evidence):
    return eps_max_js(evidence.attention, evidence.item_logits, evidence.items, EPS)


@pytest.mark.parametrize("kind", ["token-wise", "recurrent", "five classes", "sentences", "query", "uniform"])
def test_what_exact_forms_find_holds(kind):
    evidence = evidence_of_kind(kind)
    with torch.no_grad():
        adversarial = adversarial_attention.adversarial_attention(evidence, seeded())
        flip = erase_until_flip.erase_until_flip(evidence, seeded(), rankings=2, by=("attention",))
    assert adversarial.items["adversarial_attention"].shape == flip.items["minimal_set"].shape


def test_a_prediction_that_moves_too_far_is_named_with_how_far():
    evidence = two_texts()
    best = solved(evidence)
    check_adversarial_attention(evidence, best.attention, best.js, EPS)
    # All weight on the second word of the second text: logit -1, where the model has .8.
    attention = torch.cat([best.attention[:1], torch.tensor([[0.0, 1.0, 0.0]]).double()])
    with pytest.raises(HeedfulError) as caught:
        check_adversarial_attention(evidence, attention, js_divergence(attention, evidence.attention), EPS)
    assert "test 'adversarial_attention': the exact answer for text 18 does not hold" in str(caught.value)
    moved = sigmoid(0.8) - sigmoid(-1)
    assert f"its prediction should move by at most 0.05; the number is {moved:.6g}" in str(caught.value)
    assert "correct it, or remove it" in str(caught.value) and "please report it" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda attention, js: (0.9 * attention, js), r"should sum to 1; the number is 0\.9"),
        (lambda attention, js: (attention * torch.tensor([[-1.0]]), js), "should sum to 1; the number is"),
        (lambda attention, js: (attention, js + 0.01), "its divergence from the model's attention should be"),
        (lambda attention, js: (attention.roll(1, 1), js), "the number is"),
        (lambda attention, js: (attention * torch.nan, js), "the number is nan"),
    ],
)
def test_what_is_no_attention_or_another_is_refused(change, message):
    evidence = two_texts()
    best = solved(evidence)
    with pytest.raises(HeedfulError, match=f"text 17 does not hold .*{message}"):
        check_adversarial_attention(evidence, *change(best.attention, best.js), EPS)


def test_a_set_without_which_the_decision_stands_is_refused():
    evidence = two_texts()
    smallest = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items)
    check_flip_set(evidence, smallest.erased)
    wrong = smallest.erased.clone()
    wrong[1] = torch.tensor([False, False, True])  # what is left of the second text: (2 x .4 - 1 x .3) / .7
    with pytest.raises(HeedfulError) as caught:
        check_flip_set(evidence, wrong)
    assert "test 'erase_until_flip': the exact answer for text 18 does not hold" in str(caught.value)
    assert f"the decision should lead by at most 0; the number is {0.5 / 0.7:.9g}" in str(caught.value)


def test_a_set_that_leaves_nothing_is_refused_and_no_set_claims_nothing():
    evidence = two_texts()
    with pytest.raises(HeedfulError, match="text 17 .*the number is nan"):
        check_flip_set(evidence, evidence.items)
    check_flip_set(evidence, torch.zeros_like(evidence.items))


@pytest.mark.parametrize(
    ("logits", "erased"),
    [
        ([2, 1, -1], [True, False, False]),  # what is left is a tie, and class 0 comes first
        ([0.1 + 0.2, 0.1, -0.1], [True, False, False]),
        ([1, -1, 0], [False, True, False]),  # a tie from the start: either class may be called the decision
    ],
)
def test_ties_may_be_decided_either_way(logits, erased):
    evidence = evidence_by_hand(logits, [1 / 3] * 3)
    check_flip_set(evidence, torch.tensor([erased]))


def test_the_battery_runs_what_it_found(monkeypatch):
    evidence = two_texts()

    def wrong_adversary(*problem):
        best = eps_max_js(*problem)
        return replace(best, attention=best.attention.roll(1, 1))

    def wrong_set(*problem):
        return replace(minimal_flip_set(*problem), erased=torch.tensor([[False, False, True]] * 2))

    monkeypatch.setattr(adversarial_attention, "eps_max_js", wrong_adversary)
    monkeypatch.setattr(erase_until_flip, "minimal_flip_set", wrong_set)
    with pytest.raises(HeedfulError, match="test 'adversarial_attention'"):
        adversarial_attention.adversarial_attention(evidence, seeded())
    with pytest.raises(HeedfulError, match="test 'erase_until_flip'"):
        erase_until_flip.erase_until_flip(evidence, seeded(), rankings=2, by=("attention",))
