"""Every test over the texts of a split, as rows."""

import gzip
import json
from dataclasses import replace

import polars as pl
import pytest

from heedful.auditing.audit import audit
from heedful.auditing.rows import chosen_tests, item_names
from heedful.battery import BATTERY
from heedful.errors import SettingError
from heedful.schema import EXAMPLES, ROWS
from heedful.settings import AuditSettings, OptionValue, key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from heedful.types import Example
from support.audits import OPTIONS, QUICK
from support.models import make, make_batch
from support.runs import changed, toy

COSTS = {cost: {name for name, test in BATTERY.items() if test.cost == cost} for cost in ("default", "deep", "named")}


def test_rows_are_long_and_tidy(finished):
    assert finished.rows.schema == ROWS and finished.examples.schema == EXAMPLES
    texts = finished.rows.filter(pl.col("item").is_null())
    assert set(texts["test"].unique()) == COSTS["default"]
    assert texts.group_by("test", "measure").len()["len"].unique().to_list() == [12]


def test_the_runs_key_names_the_rows(finished, trained):
    assert finished.rows["run"].unique().to_list() == [key_of(trained.run)]


def test_only_the_shown_texts_have_rows_for_their_items(finished):
    items = finished.rows.filter(pl.col("item").is_not_null())
    assert items["example"].n_unique() == 3 == len(finished.examples)
    for example in finished.examples.to_dicts():
        own = items.filter(example=example["example"], measure="attention")
        assert own["item"].to_list() == list(range(len(example["items"])))
        assert own["value"].sum() == pytest.approx(1.0)
        assert " ".join(example["items"]) == example["text"]


def test_shown_texts_say_what_was_done_to_them(finished):
    items = finished.rows.filter(pl.col("item").is_not_null())
    for example in finished.examples.to_dicts():
        own = {
            measure: items.filter(example=example["example"], measure=measure).sort("item")["value"].to_list()
            for measure in ("noisy", "noisy_attention", "replaced_attention")
        }
        assert sum(own["noisy"]) == 1 and sum(own["noisy_attention"]) == pytest.approx(1.0)
        changes = [old != new for old, new in zip(example["items"], example["replaced"], strict=True)]
        assert sum(changes) == 1 and sum(own["replaced_attention"]) == pytest.approx(1.0)


def test_the_adversarial_attention_that_is_shown_keeps_the_answer(finished):
    for example in finished.examples.to_dicts():
        assert example["adversarial_probability"] == pytest.approx(example["probability"], abs=0.0101)


def test_leaving_a_test_out_changes_no_other(trained, finished):
    only = audit(trained, toy(), update_settings(QUICK, {"tests": ("erase_until_flip",), "shown": 0}))
    wanted = finished.rows.filter(pl.col("test").is_in(["prediction", "erase_until_flip"]))
    assert only.rows.equals(wanted)


def test_sentences_are_the_items_of_a_hierarchical_model():
    run = changed(network__encoder="hierarchical", training__epochs=1)
    settings = AuditSettings(tests=("prediction",), shown=3)
    finished = audit(train(run, toy(sentences=True)), toy(sentences=True), settings)
    assert all(len(items) == 2 for items in finished.examples["items"].to_list())


def test_sentences_are_named_by_their_words():
    assert item_names(Example(("so", "good", ".", "yes"), 1, sentences=(0, 3))) == ["so good .", "yes"]


def test_a_rationale_is_marked(trained):
    marked = replace(toy(), test=tuple(replace(e, rationale=(1,)) for e in toy().test))
    settings = AuditSettings(tests=("prediction",), shown=3)
    rows = audit(trained, marked, settings).rows.filter(measure="rationale")
    assert rows.filter(pl.col("value") == 1)["item"].unique().to_list() == [1]
    assert rows.filter(pl.col("value") == 0).height > 0 and rows["example"].n_unique() == 3


def test_costly_tests_are_done_where_they_are_asked_for(trained):
    sizes: dict[str, dict[str, OptionValue]] = {
        name: {"sizes": (1.0,)} for name in ("comprehensiveness_sufficiency", "sensitivity")
    }
    few = AuditSettings(shown=0, examples=4, options={**OPTIONS, **sizes})
    deep = audit(trained, toy(), update_settings(few, {"deep": True}))
    assert set(deep.rows["test"].unique()) == COSTS["default"] | COSTS["deep"]
    assert {"comprehensiveness", "sufficiency", "embedding_attack"} <= {line.name for line in deep.lines}
    only = update_settings(few, {"tests": ("comprehensiveness_sufficiency",), "deep": True})
    named = audit(trained, toy(), only)
    assert set(named.rows["test"].unique()) == {"prediction", "comprehensiveness_sufficiency"}
    assert "comprehensiveness_attention_1" in named.rows["measure"].to_list()


def test_a_test_is_chosen_by_its_cost_or_by_its_name():
    assert set(chosen_tests(AuditSettings())) == COSTS["default"]
    assert set(chosen_tests(AuditSettings(deep=True))) == COSTS["default"] | COSTS["deep"]
    assert list(chosen_tests(AuditSettings(tests=("sensitivity",)))) == ["prediction", "sensitivity"]
    assert COSTS["named"] == {"sensitivity"}


def test_radii_and_counts_of_words_are_options(trained):
    options = {"embedding_noise": {"radii": (0.1, 0.5)}, "word_substitution": {"counts": (1, 2)}}
    rows = audit(trained, toy(), AuditSettings(tests=tuple(options), options=options, shown=0)).rows
    assert {"js", "js_0.5"} <= set(rows.filter(test="embedding_noise")["measure"])
    assert {"js", "js_2"} <= set(rows.filter(test="word_substitution")["measure"])


def test_synonyms_are_those_of_the_runs_words(trained, tmp_path, monkeypatch):
    (tmp_path / "synonyms").mkdir()
    content = gzip.compress(json.dumps({"good": {"a": ["bad"]}}).encode())
    (tmp_path / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(content)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    wordnet: dict[str, dict[str, OptionValue]] = {"word_substitution": {"synonyms": "wordnet"}}
    settings = AuditSettings(tests=("word_substitution",), options=wordnet, shown=0)
    rows = audit(trained, toy(), settings).rows.filter(measure="js").sort("example")
    has_synonym = ["good" in example.tokens for example in toy().test]
    assert rows["value"].is_finite().to_list() == has_synonym and any(has_synonym) and not all(has_synonym)
    with pytest.raises(SettingError, match="needs a run of ours, whose words are known"):
        audit(make("average"), [make_batch()], settings)


def test_an_unknown_test_lists_the_known():
    with pytest.raises(SettingError, match="unknown test 'permutations'. Did you mean 'permutation'"):
        chosen_tests(AuditSettings(tests=("permutations",)))
    with pytest.raises(SettingError, match="unknown test 'permutations'. Did you mean 'permutation'"):
        chosen_tests(AuditSettings(options={"permutations": {"count": 5}}))
