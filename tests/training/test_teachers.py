"""Which runs teach a run, what they say in the mean, and that training takes these and no others."""

import pytest
import torch

from heedful.attribution.leave_one_out import leave_one_out
from heedful.data.batching import collate, encode_split
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.training.methods import METHODS, Method, Teachers
from heedful.training.metrics import Outputs, outputs
from heedful.training.teachers import (
    leave_one_out_sizes,
    mean_outputs,
    planned_teachers,
    reference_outputs,
    teachers_of,
)
from support.four_verbs import FourVerbs
from support.runs import changed, same, toy

CPU = torch.device("cpu")


def taught(**changes):
    options = {"training__method": "ensemble", "training__options": {"teachers": 2}, "training__epochs": 1}
    return changed(data__fingerprint="f", **{**options, **changes})


@pytest.fixture(scope="module")
def teachers():
    return [train(each, toy()) for each in teachers_of(taught())]


def test_teachers_differ_from_the_run_in_method_options_and_seed_alone():
    run = taught(training__record_flow=(0, 1))
    for number, teacher in enumerate(teachers_of(run), start=1):
        assert (teacher.training.method, teacher.training.options, teacher.seed) == ("vanilla", {}, 1000 + number)
        again = {"training": run.training, "seed": run.seed}
        assert update_settings(teacher, again) == run and teacher.training.record_flow == ()
        assert teacher.training.epochs == run.training.epochs


def test_runs_of_different_seeds_share_no_teacher_unless_asked():
    keys = [{key_of(each) for each in teachers_of(taught(seed=seed))} for seed in range(50)]
    assert len(set().union(*keys)) == 100
    fixed = {"training__options": {"teachers": 2, "teacher_seed": 7}}
    own, other = (teachers_of(taught(seed=seed, **fixed)) for seed in (0, 1))
    assert own == other and [each.seed for each in own] == [7, 8]


def test_no_teacher_has_teachers_of_its_own():
    for method in METHODS:
        teachers = teachers_of(taught(training__method=method, training__options={}))
        assert all(teachers_of(teacher) == () for teacher in teachers)
        assert len(teachers) == planned_teachers(taught(training__method=method, training__options={}).training).count


def test_the_mean_is_of_attention_of_probabilities_and_of_sizes():
    draw = torch.Generator().manual_seed(0)
    parts = []
    for _ in range(3):
        rows = [torch.rand(length, generator=draw).double() for length in (4, 2)]
        logits = torch.randn(2, 5, generator=draw).double()
        parts.append(Outputs(tuple(row / row.sum() for row in rows), logits, tuple(row**2 for row in rows)))
    mean = mean_outputs(parts)
    for text in range(2):
        torch.testing.assert_close(mean.attention[text], sum(part.attention[text] for part in parts) / 3)
        torch.testing.assert_close(mean.leave_one_out[text], sum(part.leave_one_out[text] for part in parts) / 3)
    torch.testing.assert_close(mean.logits.exp(), sum(part.logits.softmax(-1) for part in parts) / 3)
    assert mean_outputs(parts[:1]) is parts[0]


@pytest.mark.parametrize("encoder", ["gru", "hierarchical"])
def test_the_sizes_are_those_of_every_shortened_text(encoder):
    data = toy(sentences=encoder == "hierarchical")
    trained = train(changed(network__encoder=encoder, training__epochs=1), data)
    split = encode_split(data.test, trained.words)
    sizes = leave_one_out_sizes(trained.model, split)
    attention = outputs(trained.model, split).attention
    assert [len(row) for row in sizes] == [len(row) for row in attention]
    for index, row in enumerate(sizes):
        seen = trace(trained.model, collate(split, [index]))
        without = leave_one_out(FourVerbs(trained.model), seen)
        wanted = (without.softmax(-1) - seen.logits.softmax(-1)[:, None]).abs().sum(-1)[0] / 2
        torch.testing.assert_close(row, wanted, atol=1e-6, rtol=0, equal_nan=True)


def test_outputs_are_of_each_split_in_its_order(teachers):
    data = toy()
    means = reference_outputs(teachers, data, ("train", "dev"), CPU)
    alone = [outputs(each.model, encode_split(data.dev, each.words)) for each in teachers]
    assert len(means["train"].attention) == len(data.train) and means["dev"].leave_one_out is None
    torch.testing.assert_close(means["dev"].attention[3], (alone[0].attention[3] + alone[1].attention[3]) / 2)
    assert reference_outputs([], data, ("train",), CPU) == {}
    (own,) = reference_outputs(teachers[:1], data, ("dev",), CPU, with_leave_one_out=("dev",)).values()
    assert len(own.leave_one_out) == len(data.dev) and torch.equal(own.logits, alone[0].logits)


def test_a_run_takes_its_own_teachers_and_no_others(teachers):
    run, data = taught(), toy()
    trained = train(run, data, teachers=teachers)
    assert same(trained, train(run, data, teachers=teachers))
    with pytest.raises(SettingError, match=r"method 'ensemble' needs 2 teachers: give `teachers`.*teachers_of"):
        train(run, data)
    for wrong in (teachers[::-1], teachers[:1]):
        with pytest.raises(SettingError, match="`teachers` must be the 2 runs"):
            train(run, data, teachers=wrong)
    with pytest.raises(SettingError, match="`teachers` must be the 0 runs"):
        train(changed(data__fingerprint="f"), data, teachers=teachers)


def test_a_reference_takes_their_place(teachers):
    run = taught(reference=key_of(teachers[0].run))
    trained = train(run, toy(), reference=teachers[0])
    logged = {(r.epoch, r.split, r.measure) for r in trained.history}
    assert (1, "dev", "teacher_js") in logged


def test_sizes_of_leave_one_out_reach_the_loss_text_by_text(teachers, monkeypatch):
    """Each batch's reference holds the sizes of its own texts, whatever their order."""
    data, taken = toy(), {}

    def loss(step):
        for row, index in enumerate(step.trace.batch.index.tolist()):
            taken[index] = step.reference.leave_one_out[row][step.trace.encoded.items[row]]
        return METHODS["vanilla"].loss(step)

    monkeypatch.setitem(METHODS, "spy", Method(loss, teachers=lambda: Teachers(1, leave_one_out=True)))
    run = taught(training__method="spy", training__options={}, reference=key_of(teachers[0].run))
    train(run, data, reference=teachers[0])
    wanted = leave_one_out_sizes(teachers[0].model, encode_split(data.train, teachers[0].words))
    assert len(taken) == len(data.train)
    for index, row in taken.items():
        torch.testing.assert_close(row, wanted[index], equal_nan=True)
