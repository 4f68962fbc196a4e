"""What is audited, checked before anything is measured."""

import math
from dataclasses import replace

import pytest
import torch

from heedful.data.sampling import random_order
from heedful.errors import DataError, HeedfulError, SettingError
from heedful.models.attention_model import AttentionModel
from heedful.report.loading import audit
from heedful.settings import AuditSettings
from heedful.settings.validation import update_settings
from heedful.subjects.custom_model import CustomModel, CustomSubject
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.subject import float64_eval_copy
from heedful.types import Encoded
from support.audits import QUICK
from support.four_verbs import FourVerbs
from support.models import make, make_batch
from support.runs import toy

ONLY = AuditSettings(tests=("prediction",), shown=0)


def test_weights_that_are_no_numbers_are_named_at_once():
    model = make("average")
    with torch.no_grad():
        model.get_parameter("head.linear.bias").fill_(math.nan)
    with pytest.raises(HeedfulError, match="parameter 'head.linear.bias' holds NaN"):
        audit(model, [make_batch()], QUICK)


def test_a_module_is_measured_on_a_copy_in_double_precision_and_evaluation_mode():
    model = make("average").float().train()
    copy = float64_eval_copy(model)
    assert isinstance(copy, AttentionModel)
    assert copy is not model and not copy.training and copy.embedding.weight.dtype == torch.float64
    assert model.training and model.embedding.weight.dtype == torch.float32
    own = FourVerbs(model)
    assert float64_eval_copy(own) is own


def test_an_order_is_drawn_by_the_seed():
    assert sorted(random_order(11, 3)) == list(range(11))
    assert random_order(11, 3) == random_order(11, 3) != random_order(11, 4)


def test_fewer_texts_can_be_asked_for(trained):
    rows = audit(trained, toy(), AuditSettings(tests=("prediction",), examples=5)).rows
    assert rows["example"].n_unique() == 5


def test_a_sample_is_drawn_by_the_seed_and_read_whole(trained):
    subject = FinishedRun(trained).texts(toy(), AuditSettings(examples=5, seed=3))
    assert list(subject.numbers) == sorted(random_order(12, 3)[:5])
    assert sorted(index for batch in subject.batches() for index in batch.index.tolist()) == list(subject.numbers)


def test_500_texts_are_drawn_by_default_and_all_without_a_number(trained):
    many = replace(toy(), test=toy().test * 50)
    assert len(FinishedRun(trained).texts(many, ONLY).numbers) == 500
    assert len(FinishedRun(trained).texts(many, update_settings(ONLY, {"examples": None})).numbers) == 12 * 50


def test_what_attention_weighs_is_what_the_examples_say(trained):
    assert FinishedRun(trained).texts(toy(), ONLY).item == "word"
    assert FinishedRun(trained).texts(toy(sentences=True), ONLY).item == "sentence"
    assert CustomSubject(make(), CustomModel(labels=("a", "b"))).texts([make_batch()], AuditSettings()).item == "word"


def test_words_are_counted_under_their_labels(trained):
    context = FinishedRun(trained).texts(toy(), ONLY).context
    counts = dict(zip(context.vocabulary, context.token_counts().tolist(), strict=True))
    assert counts["bad"] == [18, 0] and counts["good"] == [0, 18]
    assert context.labels == ("bad", "good") and context.task == "classification"


def test_data_that_a_run_cannot_read_is_refused(trained):
    with pytest.raises(DataError, match="the run's labels, 'bad', 'good'; 'toy' also has 'odd'"):
        FinishedRun(trained).texts(toy(labels=("bad", "good", "odd")), ONLY)
    with pytest.raises(DataError, match="it reads texts without a query; 'toy' is of nli"):
        FinishedRun(trained).texts(toy(task="nli"), ONLY)
    with pytest.raises(DataError, match="must have test texts to audit; 'toy' has none"):
        FinishedRun(trained).texts(replace(toy(), test=()), ONLY)


def test_words_are_counted_on_the_audited_texts_where_there_are_no_others(trained):
    subject = FinishedRun(trained).texts(replace(toy(), train=(), dev=()), ONLY)
    counts = dict(zip(subject.context.vocabulary, subject.context.token_counts().tolist(), strict=True))
    assert counts["bad"] == [6, 0] and subject.counted_on == "the audited texts"
    finished = audit(trained, replace(toy(), train=(), dev=()), QUICK)
    assert set(finished.outcomes["split"]) == {"test"} and finished.verdict.counted_on == "the audited texts"


def test_labels_are_read_in_the_runs_order(trained):
    turned = replace(toy(), labels=("good", "bad"))
    labels = [example.label for example in FinishedRun(trained)._readable(turned).test]
    assert labels == [1 - example.label for example in toy().test]
    good = tuple(replace(example, label=0) for example in toy().test)
    only_good = replace(toy(), labels=("good",), train=good, dev=good, test=good)
    assert {example.label for example in FinishedRun(trained)._readable(only_good).test} == {1}
    assert FinishedRun(trained)._readable(toy()) == toy()


def test_items_of_ones_own_model_are_sentences_where_they_are_not_tokens():
    assert CustomSubject(make("hierarchical")).texts([make_batch()], AuditSettings()).item == "sentence"
    with pytest.raises(SettingError, match="`Batch.sentence`, the index of the item"):
        CustomSubject(Halved(make("average"))).texts([replace(make_batch(), sentence=None)], AuditSettings())


class Halved(FourVerbs):
    """Attends to every other token, and does not say so."""

    def encode(self, embedded, batch):
        encoded = self.model.encode(embedded, batch)
        return Encoded(encoded.hidden[:, ::2], encoded.items[:, ::2])

    def attend(self, encoded, batch):
        weights = encoded.items.double()
        return weights, weights / weights.sum(1, keepdim=True)
