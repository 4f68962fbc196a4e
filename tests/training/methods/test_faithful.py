"""The recipe is the sum of its parts, each of which can be switched off, with what it needs."""

import pytest
import torch

from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import TrainingSettings
from heedful.training.loop import train
from heedful.training.methods import METHODS, bind_loss, bind_teachers
from heedful.training.methods.diversity import diversity
from heedful.training.methods.ensemble import ensemble
from heedful.training.methods.faithful import METHOD
from heedful.training.methods.guided_by_evidence import guided_by_evidence
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from heedful.training.teachers import teachers_of
from heedful.types import Reference
from support.models import make, make_batch
from support.runs import changed, toy

NOTHING = torch.Generator()
OFF = {"diversity": 0.0, "evidence": 0.0, "attention": 0.0, "prediction": 0.0}


def reference() -> Reference:
    torch.manual_seed(3)
    other = make("average")
    seen = trace(other, make_batch())
    deletions = torch.rand(seen.attention.shape, generator=torch.Generator().manual_seed(1)).double()
    return Reference(seen.attention.detach().roll(1, 0).where(seen.encoded.items, 0.0), seen.logits.detach(), deletions)


@pytest.mark.parametrize(
    "options",
    [
        {"diversity": 0.3},
        {"evidence": 0.7},
        {"evidence": 0.7, "target": "squared_item_logit"},
        {"evidence": 0.7, "target": "leave_one_out"},
        {"attention": 1.3},
        {"prediction": 0.4},
        {"diversity": 0.3, "evidence": 0.7, "attention": 1.3, "prediction": 0.4},
    ],
)
def test_it_is_the_sum_of_its_parts(options):
    model, base = make(), reference()
    seen = trace(model, make_batch())
    plain = vanilla(Step(model, seen, None, NOTHING))
    given = {**OFF, "target": "item_logit", **options}
    guided = guided_by_evidence(Step(model, seen, base, NOTHING), weight=given["evidence"], target=given["target"])
    weights = {"weight_attention": given["attention"], "weight_prediction": given["prediction"]}
    wanted = diversity(Step(model, seen, None, NOTHING), weight=given["diversity"]) + guided
    wanted = wanted + ensemble(Step(model, seen, base, NOTHING), **weights) - 2 * plain
    actual = METHOD.loss(Step(model, seen, base, NOTHING), **given)
    torch.testing.assert_close(actual, wanted, atol=1e-9, rtol=0)
    assert (actual - plain).abs().amax() > 1e-3


def planned(**options):
    return bind_teachers(METHOD, TrainingSettings(method="faithful", options=options))


def test_teachers_are_trained_by_the_same_recipe_without_teachers():
    plan = planned(diversity=0.3)
    assert (plan.count, plan.method, plan.leave_one_out) == (3, "faithful", True)
    assert plan.options == {"diversity": 0.3, **{name: 0.0 for name in ("evidence", "attention", "prediction")}}
    assert (
        bind_teachers(METHODS["faithful"], TrainingSettings(method="faithful", options=dict(plan.options))).count == 0
    )
    by_logits = planned(evidence=0.7, target="squared_item_logit")
    assert by_logits.options["evidence"] == 0.7 and by_logits.options["target"] == "squared_item_logit"
    assert not by_logits.leave_one_out


def test_what_does_not_concern_the_teachers_leaves_them_the_same():
    assert planned(attention=3.0, prediction=0.0).options == planned().options
    assert planned(teachers=5).options == planned().options


def test_there_are_teachers_only_where_something_is_learnt_from_them():
    assert planned(attention=0.0, prediction=0.0, evidence=0.0).count == 0
    assert planned(attention=0.0, prediction=0.0, evidence=1.0, target="item_logit").count == 0
    by_deletion = planned(attention=0.0, prediction=0.0, evidence=1.0, target="leave_one_out", teachers=2)
    assert (by_deletion.count, by_deletion.leave_one_out) == (2, True)
    assert by_deletion.options["diversity"] == 0.5 and by_deletion.options["evidence"] == 0


def test_it_trains_with_every_part():
    data = toy()
    options = {"attention": 1.0, "teachers": 2}
    training = {"training__method": "faithful", "training__options": options, "training__epochs": 6}
    run = changed(network__encoder="gru", data__fingerprint=data.fingerprint, **training)
    teachers = [train(each, data) for each in teachers_of(run)]
    trained = train(run, data, teachers=teachers)
    logged = {(r.epoch, r.measure): r.value for r in trained.history if r.split == "dev"}
    assert logged[6, "teacher_js"] < logged[1, "teacher_js"] and logged[6, "conicity"] < logged[1, "conicity"]
    assert trained.scores["test"]["roc_auc"] == 1.0


def test_wrong_options_are_refused():
    for wrong in ({"target": "gradient"}, {"diversity": -1.0}, {"teachers": 101}, {"weight": 1.0}):
        with pytest.raises(SettingError, match="option"):
            bind_loss(METHOD, TrainingSettings(method="faithful", options=wrong))
