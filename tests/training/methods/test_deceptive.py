"""The loss against the plain formula, what the loop does with it, and what it does to attention."""

from dataclasses import replace

import pytest
import torch

from heedful.data import load
from heedful.data.batching import encode_split
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.settings import DataSettings, TextSettings
from heedful.training.loop import train
from heedful.training.methods.deceptive import deceptive, listed_logs, log_unlisted
from heedful.training.methods.method import Step
from heedful.training.methods.vanilla import vanilla
from heedful.training.metrics import outputs
from heedful.types import Example
from support.by_hand import Bag, batch_of
from support.marked import with_marks
from support.models import BATCH, TIME, make, make_batch
from support.runs import changed, same, toy

NOTHING = torch.Generator()
NAN = torch.nan


def marked_batch():
    """Some words of the first text are listed, one of the second, none of the third."""
    marks = torch.zeros(BATCH, 2, TIME)
    marks[0, 0, [0, 2]] = 1
    marks[0, 1, 5] = 1
    marks[1, 1, 3] = 1
    marks[2] = NAN
    return with_marks(make_batch(), marks)


def listing(example: Example, rationale: tuple[int, ...] | None) -> Example:
    return replace(example, rationale=rationale)


def toy_with_rationales(sentences: bool = False):
    """The label word of each text is its rationale."""
    data = toy(sentences=sentences)

    def own(examples):
        return tuple(listing(e, (e.tokens.index(data.labels[e.label]),)) for e in examples)

    return replace(data, train=own(data.train), dev=own(data.dev), test=own(data.test))


def dev_losses(trained) -> dict[int, float]:
    return {r.epoch: r.value for r in trained.history if (r.split, r.measure) == ("dev", "loss")}


def test_by_hand():
    """Of weights 3/4 and 1/4 the first is listed: ln 4 on top of cross-entropy."""
    model = Bag(torch.tensor([2.0, -6.0]).double(), torch.tensor([0.75, 0.25]).double().log())
    seen = trace(model, with_marks(batch_of(1, 2), torch.tensor([[[1.0, 0.0]]])))
    added = deceptive(Step(model, seen, None, NOTHING)) - vanilla(Step(model, seen, None, NOTHING))
    torch.testing.assert_close(added, torch.tensor([4.0]).double().log())


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_it_is_the_plain_formula(temperature):
    """In the model's own terms: 1 - the sum of the weights on the listed words, text by text."""
    model, batch = make(temperature=temperature), marked_batch()
    seen = trace(model, batch)
    listed = [[0, 2, 5], [3], []]
    sums = torch.stack([seen.attention[row, words].sum() for row, words in enumerate(listed)])
    torch.testing.assert_close(
        deceptive(Step(model, seen, None, NOTHING)), vanilla(Step(model, seen, None, NOTHING)) - (1 - sums).log()
    )
    torch.testing.assert_close(listed_logs(seen, None)["listed_attention"], sums)


def test_loss_and_gradient_are_finite_if_the_listed_words_have_all_the_weight():
    """All weight on the listed word but for e^-1000: 1 - the sum is 0, its logarithm -1000."""
    scores = torch.tensor([1000.0, 0.0]).double().requires_grad_()
    model = Bag(torch.tensor([2.0, -6.0]).double(), scores)
    seen = trace(model, with_marks(batch_of(1, 2), torch.tensor([[[1.0, 0.0]]])))
    value = log_unlisted(model, seen)
    assert seen.attention[0, 0] == 1 and value.item() == -1000
    assert torch.autograd.grad(value.sum(), scores)[0].tolist() == [-1, 1]


def test_the_first_two_epochs_are_plain_training_and_are_never_chosen():
    """Two epochs leave what plain training leaves; the third differs."""
    data, still = toy_with_rationales(), {"training__learning_rate": 1e-30}
    deceived = train(changed(training__method="deceptive", training__epochs=3), data)
    plain = train(changed(training__epochs=3), data)
    losses = [[r.value for r in t.history if (r.split, r.measure) == ("train", "loss")] for t in (deceived, plain)]
    assert losses[0][:2] == losses[1][:2] and losses[0][2] > losses[1][2]
    assert deceived.chosen_epoch == 3 and not same(deceived, plain)
    untrained = train(changed(training__method="deceptive", training__epochs=4, **still), data)
    assert untrained.chosen_epoch == 3 and len(set(dev_losses(untrained).values())) == 1


def test_the_epoch_is_chosen_by_the_whole_loss_on_dev():
    trained = train(changed(training__method="deceptive", training__epochs=6), toy_with_rationales())
    losses = {epoch: loss for epoch, loss in dev_losses(trained).items() if epoch > 2}
    assert trained.chosen_epoch == min(losses, key=losses.__getitem__)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_data_without_rationales_is_refused(split):
    data = toy_with_rationales()
    data = replace(data, **{split: tuple(listing(e, None) for e in getattr(data, split))})
    with pytest.raises(SettingError, match=f"no text of {split} in 'toy' has a rationale.*--rationale"):
        train(changed(training__method="deceptive"), data)


@pytest.mark.parametrize("sentences", [False, True])
def test_a_rationale_that_takes_a_whole_text_is_refused_by_name(sentences):
    """Two sentences, tokens 0 and 1 and the rest: a word of each is all of the text."""
    data = toy_with_rationales(sentences)
    first, text = data.train[0], " ".join(data.train[0].tokens)
    encoder = "hierarchical" if sentences else "average"
    run = changed(training__method="deceptive", network__encoder=encoder)
    whole = (0, 2) if sentences else tuple(range(len(first.tokens)))
    train(run, replace(data, train=(listing(first, whole[1:]), *data.train[1:])))
    with pytest.raises(SettingError, match=f"must leave a .* text 1 of train takes all of '{text}'"):
        train(run, replace(data, train=(listing(first, whole), *data.train[1:])))


def test_a_deceptive_bilstm_predicts_by_polar_words_and_hardly_attends_to_them():
    """Two of a text's twelve words are polar: uniform weights give them a sixth."""
    data = load(DataSettings(source="planted", train_limit=1000, test_limit=200), TextSettings())
    small = {"network__encoder": "bilstm", "network__embed_size": 20, "network__hidden_size": 10}
    how = {"training__epochs": 5, "training__batch_size": 16, "training__learning_rate": 0.02}
    trained = train(changed(**small, **how, training__method="deceptive"), data)
    attention = outputs(trained.model, encode_split(data.test, trained.words)).attention
    listed = [weights[list(e.rationale)].sum() for weights, e in zip(attention, data.test, strict=True)]
    assert trained.scores["test"]["accuracy"] > 0.9 and torch.stack(listed).mean() < 0.05
