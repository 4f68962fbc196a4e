"""Conicity by hand, against a plain loop, and what training by it does to hidden states."""

import pytest
import torch

from heedful.models.trace import trace
from heedful.training.loop import train
from heedful.training.methods.diversity import conicity, diversity
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from support.models import LENGTHS, make, make_batch
from support.runs import changed, same, toy

NOTHING = torch.Generator()


def plainly(hidden, items):
    """For one text after the other: the cosine of each state with the mean, averaged."""
    values = []
    for states, real in zip(hidden, items, strict=True):
        own = [state for state, is_item in zip(states, real, strict=True) if is_item]
        mean = sum(own) / len(own)
        cosines = [(state @ mean) / (state.norm() * mean.norm()) for state in own]
        values.append(sum(cosines) / len(cosines))
    return torch.stack(values)


def losses(model, **options):
    step = Step(model, trace(model, make_batch()), None, NOTHING)
    return diversity(step, **options), vanilla(step), step.trace.encoded


@pytest.mark.parametrize("encoder", ["average", "bilstm", "cnn", "hierarchical"])
def test_it_is_what_a_plain_loop_over_texts_finds(encoder):
    diverse, plain, encoded = losses(make(encoder), weight=0.7)
    wanted = 0.7 * plainly(encoded.hidden, encoded.items)
    torch.testing.assert_close(diverse - plain, wanted, atol=1e-9, rtol=0)


def test_the_gradient_is_that_of_the_plain_loop():
    encoded = losses(make())[2]
    first, second = (encoded.hidden.detach().clone().requires_grad_() for _ in range(2))
    (actual,) = torch.autograd.grad(conicity(first, encoded.items).sum(), first)
    (wanted,) = torch.autograd.grad(plainly(second, encoded.items).sum(), second)
    torch.testing.assert_close(actual, wanted, atol=1e-9, rtol=0)
    assert actual[encoded.items][: LENGTHS[0]].any() and not actual[~encoded.items].any()


def test_states_that_cancel_out_or_are_zero_have_no_direction_and_a_finite_gradient():
    hidden = torch.tensor([[[1.0, 2.0], [-1.0, -2.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]]]).double()
    hidden.requires_grad_()
    values = conicity(hidden, torch.ones(3, 2, dtype=torch.bool))
    torch.testing.assert_close(values.detach(), torch.tensor([0.0, 0.0, 0.5]).double())
    (gradient,) = torch.autograd.grad(values.sum(), hidden)
    assert gradient.isfinite().all()


def test_training_lowers_conicity_and_logs_it_by_epoch():
    def trained(method, **options):
        training = {"training__method": method, "training__options": options, "training__epochs": 6}
        return train(changed(network__encoder="gru", **training), toy())

    plain, none, diverse = trained("vanilla"), trained("diversity", weight=0.0), trained("diversity", weight=2.0)
    assert same(plain, none)

    def logged(run, epoch):
        (value,) = [
            record.value
            for record in run.history
            if (record.epoch, record.split, record.measure) == (epoch, "dev", "conicity")
        ]
        return value

    assert logged(diverse, 6) < min(logged(diverse, 1), logged(none, 6)) - 0.1
    assert diverse.scores["test"]["roc_auc"] == 1.0
