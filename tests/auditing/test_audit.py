"""The audit from model to verdict."""

import json
import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from heedful.auditing.audit import audit
from heedful.auditing.companions import Companions
from heedful.errors import HeedfulError, SettingError
from heedful.schema import Verdict
from heedful.settings import AuditSettings, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.types import Dataset, Example
from heedful.verdict.scoring import lines_across
from support.audits import QUICK, line_of
from support.four_verbs import Relu
from support.models import make, make_batch
from support.runs import changed, toy


def test_the_verdict_says_what_was_audited_and_how(finished, trained):
    verdict = finished.verdict
    assert (verdict.run, verdict.data, verdict.split, verdict.texts) == (key_of(trained.run), "mock-1", "test", 12)
    assert verdict.model == "average, additive attention" and verdict.labels == ("bad", "good")
    assert verdict.scores["accuracy"] == trained.scores["test"]["accuracy"]
    assert verdict.settings["audit"] == QUICK.model_dump(mode="json")
    assert verdict.settings["run"]["data"]["fingerprint"] == "f"
    assert verdict.seconds > 0 and set(verdict.versions) == {"heedful", "torch", "python"}


def test_the_verdict_is_json_with_null_where_undefined(finished):
    content = json.loads(json.dumps(finished.verdict.model_dump(mode="json"), allow_nan=False))
    assert [line["name"] for line in content["lines"]] == [line.name for line in finished.lines]
    assert Verdict.model_validate(content) == finished.verdict
    numbers = [line[name] for line in content["lines"] for name in ("value", "low", "score", "score_low")]
    assert all(value is None or math.isfinite(value) for value in numbers)


def test_the_model_is_left_as_it_was(trained):
    trained.model.train()
    before = {name: tensor.clone() for name, tensor in trained.model.state_dict().items()}
    audit(trained, toy(), QUICK)
    assert trained.model.training and trained.model.embedding.weight.dtype == torch.float32
    assert all(torch.equal(before[name], tensor) for name, tensor in trained.model.state_dict().items())
    trained.model.eval()


def test_progress_is_reported_up_to_the_last_text(trained):
    calls = []
    only = AuditSettings(tests=("uniform",), shown=0)
    audit(trained, toy(), only, report=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (12, 12) and calls == sorted(calls)


def test_what_to_show_is_chosen_on_dev_where_erasing_was_asked_for(trained):
    enough = replace(toy(), test=toy().train)
    finished = audit(trained, enough, QUICK)
    assert finished.advice is not None and finished.advice is finished.verdict.advice
    assert set(finished.advice.fractions) == {
        "attention",
        "product",
        "input_gradient",
        "leave_one_out",
        "random",
        "minimal",
    }
    assert finished.advice.chosen_on == "dev texts" and set(finished.dev["split"]) == {"dev"}
    left_out = audit(trained, enough, update_settings(QUICK, {"tests": ("uniform",)}))
    assert left_out.advice is None and left_out.dev.is_empty()
    some = update_settings(QUICK, {"options.erase_until_flip.by": ("attention",)})
    assert audit(trained, enough, some).advice is None


def test_the_headline_is_the_same_everywhere(trained):
    finished = audit(trained, replace(toy(), test=toy().train), QUICK)
    assert finished.headline == finished.verdict.headline
    assert finished.headline.advice == finished.advice.sentence
    assert "one training and 36 texts" in finished.headline.text


def test_too_few_texts_get_no_count(finished):
    assert finished.headline.answer == "too few texts" and finished.advice is None
    assert {line.outcome for line in finished.lines} == {"not counted"}


def test_a_model_of_random_labels_has_nothing_to_explain():
    words = toy()
    shuffled = [replace(example, label=(number * 7 // 3) % 2) for number, example in enumerate(words.train)]
    untaught = train(changed(training__epochs=1), replace(words, train=tuple(shuffled)))
    finished = audit(untaught, replace(words, test=tuple(shuffled)), QUICK)
    assert finished.headline.answer == "nothing to explain" and finished.verdict.learnt is False
    assert {line.outcome for line in finished.lines} == {"not counted"} and finished.advice is None


def test_a_model_that_always_gives_the_most_common_answer_has_nothing_to_explain(trained):
    rare = tuple(replace(example, label=1) if number % 9 else example for number, example in enumerate(toy().train))
    constant = deepcopy(trained)
    with torch.no_grad():
        for parameter in constant.model.head.parameters():
            parameter.zero_()
    finished = audit(constant, replace(toy(), test=rare), QUICK)
    assert finished.headline.answer == "nothing to explain"


def test_frozen_attention_is_audited_as_its_reference_gave_it(trained, finished):
    frozen = train(changed(network__attention="frozen", reference="base"), toy(), reference=trained)
    rows = audit(frozen, toy(), QUICK, Companions(reference=trained)).rows
    largest = [each.filter(measure="max_attention")["value"].to_list() for each in (rows, finished.rows)]
    assert largest[0] == pytest.approx(largest[1], abs=1e-6)
    with pytest.raises(SettingError, match="needs the attention to impose"):
        audit(frozen, toy(), QUICK)


def test_seeds_are_reported_together(finished):
    other = audit(train(changed(training__epochs=6, seed=1), toy()), toy(), QUICK)
    lines = lines_across([finished.rows, other.rows])
    assert lines[0].value == pytest.approx((finished.lines[0].value + other.lines[0].value) / 2)


def test_any_object_with_the_verbs_can_be_audited():
    finished = audit(make("bilstm"), [make_batch()], QUICK, labels=("no", "yes"))
    assert finished.verdict.labels == ("no", "yes") and finished.advice is None
    assert finished.examples["items"].to_list()[0][0] == "item 1"
    assert finished.verdict.run == finished.verdict.model == "LinearAttentionModel"


@pytest.mark.parametrize("has_query", [False, True])
def test_a_head_that_is_not_linear_is_audited_by_search(has_query):
    settings = update_settings(QUICK, {"tests": ("permutation", "erase_until_flip", "uniform")})
    finished = audit(make("average", head="tanh", has_query=has_query), [make_batch(has_query)], settings)
    assert "search" in finished.rows["solver"].to_list()
    assert line_of(finished, "permutation").best_kind == "yardstick"


def test_item_logits_that_do_not_sum_to_the_logits_are_an_error():
    with pytest.raises(
        HeedfulError, match="`item_logits` does not fit `decode`.*or, if what comes after attention is not"
    ):
        audit(Relu(make("bilstm")), [make_batch()], QUICK)


def test_a_model_of_sentences_is_asked_about_sentences():
    run = changed(network__encoder="hierarchical", training__epochs=1)
    finished = audit(train(run, toy(sentences=True)), toy(sentences=True), QUICK)
    assert line_of(finished, "erase_one").question == "Does the top sentence carry the decision?"
    assert finished.verdict.words is None


def test_texts_of_one_item_are_counted_as_undefined(trained):
    alone = replace(toy(), test=(*toy().test, Example(("bad",), 0, text="bad")))
    finished = audit(trained, alone, QUICK)
    assert line_of(finished, "permutation").undefined == 1 and line_of(finished, "uniform").undefined == 0


def test_a_test_split_of_one_class_is_no_error(trained):
    dataset: Dataset = replace(toy(), test=tuple(e for e in toy().test if e.label == 0))
    assert line_of(audit(trained, dataset, QUICK), "uniform").best == pytest.approx(0.0)


def test_a_model_of_the_users_own_needs_batches_and_ours_a_data_set(trained):
    with pytest.raises(SettingError, match="must be a list of `Batch`"):
        audit(make("average"), toy(), QUICK)
    with pytest.raises(SettingError, match="must be the Dataset"):
        audit(trained, [make_batch()], QUICK)
    with pytest.raises(SettingError, match="at least one batch"):
        audit(make("average"), [], QUICK)


def test_label_indicative_words_are_those_of_the_training_texts(finished):
    values = finished.rows.filter(test="token_scores", measure="polar_above_neutral")["value"]
    assert len(values) == 12
    words = finished.verdict.words
    assert (words.polar, words.neutral) == (2, 4)
    fillers = dict.fromkeys(("the", "film", "was", "so"), "neutral")
    assert {each.word: each.speaks_for for each in words.most} == {"bad": "bad", "good": "good", **fillers}


def test_a_model_of_the_users_is_asked_about_the_words_of_its_batches():
    settings = update_settings(QUICK, {"tests": ("token_scores",)})
    finished = audit(make(), [make_batch()], settings, labels=("no", "yes"))
    assert set(finished.rows.filter(test="token_scores")["measure"]) >= {"polar_above_neutral", "weight[yes]"}
    words = finished.verdict.words
    assert words is not None and all(each.word.startswith("token ") for each in words.most)
    assert audit(make(head="tanh"), [make_batch()], settings).verdict.words is None
    assert audit(make(), [make_batch()], update_settings(QUICK, {"tests": ("uniform",)})).verdict.words is None
