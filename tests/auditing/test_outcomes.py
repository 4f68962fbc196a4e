"""Outcomes of audited texts: removal by deleting and by replacing, what is shared, and what is left out."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from heedful.auditing.outcomes import Judge
from heedful.auditing.replacing import draw_words
from heedful.battery import Evidence
from heedful.jobs.work import load_data
from heedful.report.loading import audit
from heedful.schema import TextOutcome
from heedful.schema.table_columns import OUTCOMES
from heedful.settings import AuditSettings, DataSettings, NetworkSettings, OutcomeSettings, Run, TrainingSettings
from heedful.subjects.finished_run import FinishedRun
from heedful.subjects.subject import float64_eval_copy
from heedful.training.loop import train

ASKED = AuditSettings(tests=("outcome",), shown=5)


def trained(source="reviews", **network):
    network = {"encoder": "bilstm", "embed_size": 8, "hidden_size": 8, **network}
    run, dataset = load_data(
        Run(
            data=DataSettings(source=source, train_limit=200, test_limit=40),
            network=NetworkSettings(**network),
            training=TrainingSettings(epochs=4, learning_rate=0.05),
        )
    )
    return train(run, dataset), dataset


@pytest.fixture(scope="module")
def recurrent():
    return trained()


@pytest.fixture(scope="module")
def audited(recurrent):
    return audit(*recurrent, ASKED)


def test_every_text_has_a_row_per_ranking_and_removal(audited):
    test = audited.outcomes.filter(pl.col("split") == "test")
    assert dict(audited.outcomes.schema) == dict(OUTCOMES)
    assert test["example"].n_unique() == 40 and test.select("example", "ranking", "removal").is_unique().all()
    names = {"attention", "gradient_x_input", "attention_x_gradient", "weight_gradient", "leave_one_out", "alone"}
    for removal in ("delete", "replace"):
        rows = test.filter(pl.col("removal") == removal)
        assert set(rows["ranking"]) == names | {"effect"} and len(rows) == 7 * 40
    dev = audited.outcomes.filter(pl.col("split") == "dev")
    assert set(dev["removal"]) == {"delete"} and dev["example"].n_unique() == 40


def test_the_rankings_of_an_outcome_share_its_chance_best_and_key_words(audited):
    shared = ["chance", "best", "luck", "key_words", "predicted", "reason"]
    same = audited.outcomes.group_by("split", "example", "removal").agg(pl.col(name).n_unique() for name in shared)
    assert (same.select(shared) == 1).to_numpy().all()


def test_batches_and_other_texts_change_no_outcome(recurrent):
    model, dataset = recurrent
    alone = audit(model, replace(dataset, test=dataset.test[3:4], dev=()), ASKED).outcomes
    together = audit(model, replace(dataset, dev=()), ASKED).outcomes
    one = alone.filter(pl.col("removal") == "delete").drop("example")
    many = together.filter((pl.col("example") == 3) & (pl.col("removal") == "delete")).drop("example")
    for row, other in zip(one.to_dicts(), many.to_dicts(), strict=True):
        for name in row:
            assert row[name] == (pytest.approx(other[name], abs=1e-5) if isinstance(row[name], float) else other[name])


def test_duplicate_texts_are_read_once(recurrent):
    model, dataset = recurrent
    once = audit(model, replace(dataset, test=dataset.test[:4], dev=()), ASKED).verdict.passes
    twice = audit(model, replace(dataset, test=dataset.test[:4] * 2, dev=()), ASKED)
    assert twice.verdict.passes["texts"] == once["texts"] == 4
    assert twice.outcomes["example"].n_unique() == 8


def test_texts_of_one_word_are_counted_and_not_judged(recurrent):
    model, dataset = recurrent
    short = replace(dataset.test[0], tokens=dataset.test[0].tokens[:1], text="", rationale=None)
    found = audit(model, replace(dataset, test=(short, *dataset.test[:5]), dev=()), ASKED)
    rows = found.outcomes.filter(pl.col("example") == 0).to_dicts()
    assert [(row["ranking"], row["outcome"], row["reason"]) for row in rows[:1]] == [("attention", None, "one word")]
    assert found.answer.uncounted == {"one word": 1}
    assert TextOutcome.model_validate(rows[0]).key_words == ()


def test_a_recurrent_network_reads_replaced_words_as_if_each_text_were_run(recurrent):
    """The reader of variants against texts that are run one by one."""
    model, dataset = recurrent
    subject = FinishedRun(model).texts(dataset, AuditSettings(examples=6))
    copy = float64_eval_copy(subject.model)
    for batch in subject.batches():
        with torch.no_grad():
            quick = Evidence(copy, subject.trace(copy, batch), subject.context)
            judge = Judge(subject, AuditSettings(outcome=OutcomeSettings(swaps=0)))
            fast = judge.rows(quick).filter(pl.col("removal") == "replace")
            plain = Evidence(copy, subject.trace(copy, batch), subject.context)
            vars(plain)["variant_reader"] = None
            slow = judge.rows(plain).filter(pl.col("removal") == "replace")
        for column in ("chance", "best", "effect", "top_alone", "key_without"):
            np.testing.assert_allclose(fast[column].to_numpy(), slow[column].to_numpy(), atol=1e-5)


def test_a_word_is_replaced_by_a_different_one_as_often_as_it_occurs():
    counts, generator = np.array([0, 6, 3, 1]), np.random.default_rng(0)
    drawn = draw_words(counts, np.full(4000, 1), generator)
    assert set(drawn.tolist()) == {2, 3} and (drawn == 2).mean() == pytest.approx(0.75, abs=0.03)
    assert draw_words(np.array([0, 6]), np.array([1]), generator) is None


def test_encoders_that_read_each_word_alone_have_no_moved_information():
    found = audit(*trained(encoder="average"), ASKED)
    assert found.answer.moved.value == 0.0 and found.answer.moved.n > 10


def test_the_state_that_carries_another_word_is_moved_information(recurrent):
    found = audit(*recurrent, ASKED)
    moved = found.outcomes.filter(pl.col("is_moved").is_not_null())
    assert set(moved.filter(pl.col("is_moved"))["outcome"]) <= {"misses"}
    assert (moved.filter(pl.col("is_moved"))["top_alone"] < moved.filter(pl.col("is_moved"))["probability"]).all()


def test_sentences_of_hierarchical_models_are_removed_and_replaced():
    found = audit(*trained("mock-2", encoder="hierarchical"), ASKED)
    reasons = set(found.outcomes["reason"].drop_nulls())
    assert found.outcomes.height and reasons <= {"one word", "undefined", "many words", "default", "any words"}


def test_frozen_weights_leave_undefined_texts_out_of_the_count(recurrent):
    model, dataset = recurrent
    found = audit(model, replace(dataset, test=dataset.test[:3], dev=()), ASKED)
    assert found.answer.headline == "Too few texts"
    assert found.answer.overall.shares.texts == 3


def test_texts_without_labels_are_judged_and_accuracy_is_not_checked(recurrent):
    model, dataset = recurrent
    unlabeled = replace(dataset, train=(), dev=(), test=tuple(replace(each, label=-1) for each in dataset.test))
    found = audit(model, unlabeled, AuditSettings(shown=5))
    assert not found.answer.is_checked and found.answer.most_common is None and found.verdict.beats_constant is None
    assert found.verdict.scores == {} and found.outcomes["is_correct"].is_null().all()
    assert set(found.examples["label"]) == {""}


def test_without_the_outcome_among_the_tests_there_is_no_answer(recurrent):
    found = audit(*recurrent, AuditSettings(tests=("uniform",), shown=2))
    assert found.answer is None and found.outcomes.is_empty() and found.shares == ()
