"""Distillation against a plain loop, its teachers, and what training by it does to attention."""

from math import log

import pytest
import torch

from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import TrainingSettings
from heedful.training.loop import train
from heedful.training.methods import bind_loss, bind_teachers
from heedful.training.methods.ensemble import METHOD, ensemble
from heedful.training.methods.method import Step
from heedful.training.teachers import teachers_of
from heedful.types import Reference
from support.models import BATCH, LENGTHS, TIME, make, make_batch
from support.runs import changed, toy

NOTHING = torch.Generator()


def reference(classes=2) -> Reference:
    draw = torch.Generator().manual_seed(5)
    items = torch.arange(TIME) < LENGTHS[:, None]
    weights = torch.rand(BATCH, TIME, generator=draw).double() * items
    logits = torch.randn(BATCH, classes, generator=draw).double()
    return Reference(weights / weights.sum(1, keepdim=True), logits)


def kl(wanted, own) -> float:
    return sum(p * log(p / q) for p, q in zip(wanted.tolist(), own.tolist(), strict=True) if p > 0)


@pytest.mark.parametrize("classes", [2, 5])
def test_it_is_what_a_plain_loop_over_texts_finds(classes):
    model, base = make(classes=classes), reference(classes)
    seen = trace(model, make_batch())
    actual = ensemble(Step(model, seen, base, NOTHING), weight_attention=0.7, weight_prediction=0.3)
    for row, length in enumerate(LENGTHS.tolist()):
        p, wanted = seen.logits[row].softmax(-1), base.logits[row].softmax(-1)
        plain = -p[seen.batch.labels[row]].log().item()
        attended = kl(base.attention[row, :length], seen.attention[row, :length])
        assert actual[row].item() == pytest.approx(plain + 0.7 * attended + 0.3 * kl(wanted, p), abs=1e-9)


def test_it_has_three_plain_teachers_unless_options_say_otherwise():
    plan = bind_teachers(METHOD, TrainingSettings(method="ensemble"))
    assert (plan.count, plan.method, plan.options, plan.first_seed) == (3, "vanilla", {}, None)
    options = {"teachers": 5, "teacher_seed": 7, "weight_attention": 2.0}
    plan = bind_teachers(METHOD, TrainingSettings(method="ensemble", options=options))
    assert (plan.count, plan.first_seed) == (5, 7)


def test_without_teachers_it_says_so():
    model = make()
    with pytest.raises(SettingError, match="needs a reference run"):
        ensemble(Step(model, trace(model, make_batch()), None, NOTHING))
    with pytest.raises(SettingError, match="option 'teachers' of method 'ensemble'"):
        bind_loss(METHOD, TrainingSettings(method="ensemble", options={"teachers": 0}))


def test_training_brings_attention_and_predictions_to_the_teachers():
    data, options = toy(), {"teachers": 2, "weight_attention": 10.0}
    training = {"training__method": "ensemble", "training__options": options, "training__epochs": 8}
    run = changed(network__encoder="gru", data__fingerprint=data.fingerprint, **training)
    student = train(run, data, teachers=[train(each, data) for each in teachers_of(run)])
    logged = {(r.epoch, r.measure): r.value for r in student.history if r.split == "dev"}
    assert logged[8, "teacher_js"] < logged[1, "teacher_js"] / 2
    assert student.scores["test"]["roc_auc"] == 1.0
