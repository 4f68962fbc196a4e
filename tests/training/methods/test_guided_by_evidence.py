"""The evidence by hand and against a plain loop, and what training by it does to attention."""

from dataclasses import replace
from math import log

import pytest
import torch

from heedful.errors import SettingError
from heedful.models.attention import masked_softmax
from heedful.models.trace import trace
from heedful.settings import TrainingSettings
from heedful.training.methods import bind_loss, bind_teachers
from heedful.training.methods.guided_by_evidence import (
    METHOD,
    evidence_gap,
    evidence_of,
    guided_by_evidence,
    normalised,
)
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from heedful.types import Reference
from support.by_hand import Bag, batch_of
from support.models import BATCH, LENGTHS, TIME, make, make_batch

NOTHING = torch.Generator()
NAN = torch.nan
DELETIONS = torch.tensor([[0.1, 0.0, 0.3, 0.2, 0.0, 0.0, 0.4], [0.0, 0.5, 0.0, 0.0, 0, 0, 0], [NAN, 0, 0, 0, 0, 0, 0]])


def reference(model) -> Reference:
    seen = trace(model, make_batch())
    return Reference(seen.attention.detach(), seen.logits.detach(), DELETIONS.double())


def by_hand(**options):
    """Weights (3/4, 1/4) on two words that say 2 and -6, above a bias of 5."""
    model = Bag(torch.tensor([2.0, -6.0]).double(), torch.tensor([0.75, 0.25]).double().log(), bias=5.0)
    seen = trace(model, batch_of(1, 2))
    return guided_by_evidence(Step(model, seen, None, NOTHING), **options) - vanilla(Step(model, seen, None, NOTHING))


def kl(p, q) -> float:
    return sum(a * log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def js(p, q) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return kl(p, middle) / 2 + kl(q, middle) / 2


def test_by_hand():
    weights = (0.75, 0.25)
    assert by_hand().item() == pytest.approx(js(weights, (2 / 8, 6 / 8)))
    assert by_hand(target="squared_item_logit", weight=3.0).item() == pytest.approx(3 * js(weights, (0.1, 0.9)))
    assert by_hand(divergence="kl").item() == pytest.approx(kl((2 / 8, 6 / 8), weights))


@pytest.mark.parametrize("target", ["item_logit", "squared_item_logit", "leave_one_out"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize(("divergence", "distance"), [("js", js), ("kl", lambda own, wanted: kl(wanted, own))])
def test_it_is_what_a_plain_loop_over_texts_finds(target, classes, divergence, distance):
    model = make(classes=classes)
    seen, base = trace(model, make_batch()), reference(model)
    actual = guided_by_evidence(Step(model, seen, base, NOTHING), weight=0.7, target=target, divergence=divergence)
    head = model.head.linear.weight.detach()
    for row, length in enumerate(LENGTHS.tolist()):
        predicted = int(seen.logits[row].argmax())
        sizes = []
        for place in range(length):
            said = (head @ seen.encoded.hidden[row, place]).tolist()
            logits = [0.0, *said] if classes == 2 else said
            others = [logit for label, logit in enumerate(logits) if label != predicted]
            margin = logits[predicted] - sum(others) / len(others)
            sizes.append(
                {"item_logit": abs(margin), "squared_item_logit": margin**2}.get(target, DELETIONS[row, place])
            )
        total = float(sum(sizes))
        gap = distance(seen.attention[row, :length].tolist(), [float(s) / total for s in sizes]) if total > 0 else 0.0
        plain = -seen.logits[row].log_softmax(-1)[seen.batch.labels[row]].item()
        assert actual[row].item() == pytest.approx(plain + 0.7 * gap, abs=1e-7 if target == "leave_one_out" else 1e-9)


def test_a_text_in_which_no_item_says_anything_is_trained_plainly():
    model = make()
    with torch.no_grad():
        model.head.linear.weight.zero_()
    seen = trace(model, make_batch())
    gap = evidence_gap(Step(model, seen, None, NOTHING), target="item_logit", moves_target=True)
    assert not gap.any()
    gradients = torch.autograd.grad(gap.sum(), [seen.scores, model.head.linear.weight])
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("moves_target", [False, True])
def test_the_gradient_reaches_the_evidence_only_where_asked(moves_target):
    model = make()
    seen = trace(model, make_batch())
    gap = evidence_gap(Step(model, seen, None, NOTHING), target="item_logit", moves_target=moves_target).sum()
    head, scores = torch.autograd.grad(gap, [model.head.linear.weight, seen.scores], allow_unused=True)
    assert scores.any() and (head is not None and bool(head.any())) == moves_target


def test_descending_the_loss_draws_attention_to_the_evidence():
    """By the scores themselves: no model stands between."""
    model = make()
    seen = trace(model, make_batch())
    items, scores = seen.encoded.items, torch.zeros(BATCH, TIME, dtype=torch.float64, requires_grad=True)
    for _ in range(400):
        attention = masked_softmax(scores, items)
        value = evidence_gap(Step(model, replace(seen, attention=attention), None, NOTHING), target="item_logit")
        (gradient,) = torch.autograd.grad(value.sum(), scores, retain_graph=True)
        scores = (scores - 4 * gradient).detach().requires_grad_()
    wanted, _ = normalised(evidence_of(Step(model, seen, None, NOTHING), "item_logit"), items)
    torch.testing.assert_close(masked_softmax(scores, items), wanted, atol=1e-3, rtol=0)


def test_only_leave_one_out_has_a_teacher():
    def planned(**options):
        return bind_teachers(METHOD, TrainingSettings(method="guided_by_evidence", options=options))

    assert planned().count == 0 and not planned().leave_one_out
    assert planned(target="squared_item_logit", teachers=4).count == 0
    by_deletion = planned(target="leave_one_out")
    assert (by_deletion.count, by_deletion.method, by_deletion.leave_one_out) == (1, "vanilla", True)
    assert planned(target="leave_one_out", teachers=2, teacher_seed=4).first_seed == 4


def test_what_cannot_be_is_refused_with_what_to_do():
    model = make(has_query=True, head="tanh")
    seen = trace(model, make_batch(True))
    with pytest.raises(SettingError, match=r"target 'item_logit' needs a model that is linear.*'leave_one_out'"):
        guided_by_evidence(Step(model, seen, None, NOTHING))
    with pytest.raises(SettingError, match="needs a reference run"):
        guided_by_evidence(Step(model, seen, None, NOTHING), target="leave_one_out")
    without = replace(reference(make()), leave_one_out=None)
    with pytest.raises(SettingError, match="needs a reference with `leave_one_out`"):
        guided_by_evidence(Step(model, seen, without, NOTHING), target="leave_one_out")
    for wrong in ({"target": "gradient"}, {"divergence": "tv"}, {"weight": -1.0}):
        with pytest.raises(SettingError, match="option"):
            bind_loss(METHOD, TrainingSettings(method="guided_by_evidence", options=wrong))
