"""The audit from model to verdict."""

import json
import math
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from heedful.errors import HeedfulError, SettingError
from heedful.report.loading import audit
from heedful.schema import Verdict
from heedful.settings import AuditSettings, ComparisonModels, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.types import Dataset, Example
from heedful.verdict.scoring import lines_across
from support.audits import QUICK, line_of
from support.custom_models import CLASSES, VOCABULARY, BagOfWords, Linear, knowing, texts, words_of
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


def test_what_to_show_is_chosen_on_dev_texts_if_there_are_enough(trained):
    data = replace(toy(), test=toy().train, dev=toy().train)
    enough = update_settings(QUICK, {"verdict.dev_texts": 30, "verdict.decided_texts": 5})
    finished = audit(trained, data, enough)
    chosen = finished.recommendation
    assert chosen is not None and chosen is finished.answer.recommendation
    assert chosen.show == "attention" or chosen.chosen_on in ("dev texts", "")
    assert set(finished.outcomes["split"]) == {"dev", "test"} and set(finished.rows["split"]) == {"test"}
    left_out = audit(trained, data, update_settings(QUICK, {"tests": ("uniform",)}))
    assert left_out.recommendation is None and left_out.outcomes.is_empty()


def test_dev_texts_that_are_audited_have_outcomes_once(trained):
    on_dev = audit(trained, toy(), AuditSettings(tests=("outcome",), split="dev", shown=0))
    assert set(on_dev.outcomes["split"]) == {"dev"} and set(on_dev.rows["split"]) == {"dev"}
    assert not on_dev.outcomes.select("example", "ranking", "removal").is_duplicated().any()


def test_too_few_texts_get_no_answer(finished):
    assert finished.answer.headline == "Too few texts" and finished.recommendation.show == "nothing"


def test_a_model_of_random_labels_has_nothing_to_explain():
    words = toy()
    shuffled = [replace(example, label=(number * 7 // 3) % 2) for number, example in enumerate(words.train)]
    untaught = train(changed(training__epochs=1), replace(words, train=tuple(shuffled)))
    finished = audit(untaught, replace(words, test=tuple(shuffled)), QUICK)
    assert finished.answer.headline == "Nothing to explain" and finished.verdict.beats_constant is False


def test_a_model_that_always_gives_the_most_common_answer_has_nothing_to_explain(trained):
    rare = tuple(replace(example, label=1) if number % 9 else example for number, example in enumerate(toy().train))
    constant = deepcopy(trained)
    with torch.no_grad():
        for parameter in constant.model.head.parameters():
            parameter.zero_()
    finished = audit(constant, replace(toy(), test=rare), QUICK)
    assert finished.answer.headline == "Nothing to explain"


def test_frozen_attention_is_audited_as_its_reference_gave_it(trained, finished):
    frozen = train(changed(network__attention="frozen", reference="base"), toy(), reference=trained)
    rows = audit(frozen, toy(), QUICK, ComparisonModels(reference=trained)).rows
    largest = [each.filter(measure="max_attention")["value"].to_list() for each in (rows, finished.rows)]
    assert largest[0] == pytest.approx(largest[1], abs=1e-6)
    with pytest.raises(HeedfulError, match="no run 'base'"):
        audit(frozen, toy(), QUICK)


def test_seeds_are_reported_together(finished):
    other = audit(train(changed(training__epochs=6, seed=1), toy()), toy(), QUICK)
    lines = lines_across([finished.rows, other.rows])
    assert lines[0].value == pytest.approx((finished.lines[0].value + other.lines[0].value) / 2)


def test_any_object_with_the_verbs_can_be_audited():
    finished = audit(make("bilstm"), [make_batch()], QUICK, labels=("no", "yes"))
    assert finished.verdict.labels == ("no", "yes") and finished.answer.headline == "Too few texts"
    assert finished.examples["items"].to_list()[0][0] == "item 1"
    assert finished.verdict.run == finished.verdict.model == "LinearAttentionModel"


def test_a_head_that_is_not_linear_is_audited_by_search():
    for has_query in [False, True]:
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
    assert line_of(finished, "erase_one").question == "Does the top sentence determine the prediction?"
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


def own_audit(model=None, batches=None, **options):
    only = AuditSettings(tests=("token_scores", "permutation"), options={"permutation": {"count": 2}}, shown=3)
    return audit(model or Linear(), batches or [texts(24), texts(6, first=24)], only, **options)


def test_a_model_of_ones_own_goes_by_the_name_it_is_given():
    finished = own_audit(name="my bag")
    assert set(finished.rows["run"]) == set(finished.examples["run"]) == {"my bag"}
    verdict = finished.verdict
    assert verdict.run == verdict.model == verdict.trainings[0].run == "my bag" and "my bag" in repr(finished)
    assert own_audit().verdict.model == verdict.settings["model"] == "Linear"


def test_the_words_of_ones_own_texts_are_in_heat_maps_and_word_lists():
    for by_text in [False, True]:
        words = [words_of(number) for number in range(30)] if by_text else VOCABULARY.__getitem__
        finished = own_audit(words=words, labels=CLASSES)
        for example in finished.examples.to_dicts():
            assert example["items"] == words_of(example["example"]) and example["text"] == " ".join(example["items"])
        listed = {each.word: each.speaks_for for each in finished.verdict.words.most}
        assert listed == {"bad": "bad", "good": "good", **dict.fromkeys(("the", "film", "was", "so"), "neutral")}


def test_accuracy_comes_from_the_labels_of_the_batches():
    assert own_audit(knowing(Linear())).verdict.scores == {"accuracy": 1.0}
    wrong = [replace(texts(24), labels=1 - texts(24).labels)]
    assert own_audit(knowing(Linear()), wrong).verdict.scores == {"accuracy": 0.0}
    assert own_audit(knowing(Linear())).verdict.trainings[0].scores == {"accuracy": 1.0}


def test_classes_are_as_many_as_logits_whatever_labels_occur():
    finished = own_audit(Linear(classes=3))
    assert finished.verdict.labels == ("0", "1", "2")
    assert {"weight[0]", "weight[2]"} <= set(finished.rows.filter(test="token_scores")["measure"])
    assert own_audit(Linear(classes=3), labels=("no", "yes", "maybe")).verdict.labels == ("no", "yes", "maybe")


def test_label_indicative_words_are_counted_where_there_are_texts_and_count_from_twenty_on(finished):
    own = own_audit(knowing(Linear()))
    assert own.verdict.counted_on == "the audited texts" and finished.verdict.counted_on == "the training texts"
    line = line_of(own, "token_scores")
    assert "Compare a word that in the audited texts mostly occurs" in line.sentence
    assert "Compare a word that in the training texts mostly occurs" in line_of(finished, "token_scores").sentence
    assert (own.verdict.indicative_words, own.verdict.words.auroc) == (2, None)
    assert own_audit(BagOfWords()).verdict.indicative_words == 2
    assert own_audit(BagOfWords()).verdict.words is None


def test_a_model_is_measured_where_it_is_asked_to_be():
    here = own_audit(device="cpu")
    assert here.rows.equals(own_audit().rows)


def test_what_is_for_models_of_ones_own_is_refused_for_a_run(trained):
    for option in ({"words": [["a"]]}, {"name": "mine"}, {"labels": ("a", "b")}):
        with pytest.raises(SettingError, match="words, name and labels are only for your own model"):
            audit(trained, toy(), QUICK, **option)


def test_a_finished_run_is_audited_on_other_data_with_its_own_accuracy(trained):
    other = replace(toy(), name="elsewhere", fingerprint="g", labels=("good", "bad"))
    other = replace(other, test=tuple(replace(text, label=1 - text.label) for text in toy().test))
    only = AuditSettings(tests=("prediction",), shown=2)
    finished, before = audit(trained, other, only), audit(trained, toy(), only)
    assert finished.verdict.labels == ("bad", "good") and finished.verdict.data == "elsewhere"
    assert finished.verdict.fingerprint == "g" and before.verdict.fingerprint == "f"
    correct = before.rows.filter(measure="correct")["value"].mean()
    assert finished.verdict.scores == {"accuracy": pytest.approx(correct)}
    assert finished.examples["label"].to_list() == before.examples["label"].to_list()
    assert set(before.verdict.scores) == {"accuracy", "f1", "macro_f1", "roc_auc"}


def test_an_audit_says_in_a_line_what_it_is(finished):
    assert repr(finished) == "Audit(average, additive attention on mock-1, 12 test texts: Too few texts)"
