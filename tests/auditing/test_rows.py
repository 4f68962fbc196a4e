"""Every test over the texts of a split, as rows."""

from dataclasses import replace
from functools import cached_property

import polars as pl
import pytest

from heedful.auditing import rows
from heedful.auditing.rows import IMPORTANCES, chosen_tests
from heedful.battery import BATTERY
from heedful.data.labeled_texts import LabeledText, LabeledTexts, to_dataset
from heedful.errors import SettingError
from heedful.report.loading import audit
from heedful.schema.table_columns import EXAMPLES, ROWS
from heedful.settings import AuditSettings, DataSettings, OptionValue, TextSettings, key_of
from heedful.settings.validation import update_settings
from heedful.subjects.subject import item_names
from heedful.training.loop import train
from heedful.types import Example
from support.audits import OPTIONS, QUICK
from support.models import make, make_batch
from support.runs import changed, toy

OF_TRANSFORMERS = {"same_mixture", "mean_of_heads"}
COSTS = {cost: {name for name, test in BATTERY.items() if test.cost == cost} for cost in ("default", "deep", "named")}


def test_rows_are_long_and_tidy(finished):
    assert finished.rows.schema == ROWS and finished.examples.schema == EXAMPLES
    texts = finished.rows.filter(pl.col("item").is_null())
    assert set(texts["test"].unique()) == COSTS["default"] - {"plausibility"} - OF_TRANSFORMERS, (
        "nobody marked these texts"
    )
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


def test_what_no_test_asks_for_is_computed_of_the_shown_texts_alone(trained, finished, monkeypatch):
    texts, computed = [], rows.Evidence.deletion_logits.func
    whole = cached_property(lambda evidence: texts.append(len(evidence.items)) or computed(evidence))
    whole.__set_name__(rows.Evidence, "deletion_logits")
    monkeypatch.setattr(rows.Evidence, "deletion_logits", whole)
    only = audit(trained, toy(), update_settings(QUICK, {"tests": ("prediction",), "shown": 3}))
    assert sum(texts) == 3 and only.rows["example"].n_unique() == 12
    for measure in IMPORTANCES:
        few, all_tests = (
            each.rows.filter(test="items", measure=measure).sort("example", "item") for each in (only, finished)
        )
        assert few.select("example", "item").equals(all_tests.select("example", "item"))
        assert few["value"].to_list() == pytest.approx(all_tests["value"].to_list(), abs=1e-12)


def test_sentences_are_the_items_of_a_hierarchical_model():
    run = changed(network__encoder="hierarchical", training__epochs=1)
    settings = AuditSettings(tests=("prediction",), shown=3)
    finished = audit(train(run, toy(sentences=True)), toy(sentences=True), settings)
    assert all(len(items) == 2 for items in finished.examples["items"].to_list())


def test_sentences_are_named_by_their_words():
    assert item_names(Example(("so", "good", ".", "yes"), 1, sentences=(0, 3))) == ["so good .", "yes"]


def read(text, sentences=False, **settings):
    """The text as an example of a data set."""
    train = (LabeledText(text, "a"), LabeledText("no", "b"))
    source = LabeledTexts("here", "classification", train, train, train)
    return to_dataset(source, DataSettings(), TextSettings(**settings), sentences=sentences).train[0]


def test_items_are_named_as_they_are_written():
    for settings, names in [
        ({}, ["It", "isn", "'", "t", "BAD", ":", "\u0130", "in", "1984", "!"]),
        ({"max_tokens": 5}, ["It", "isn", "'", "t", "BAD"]),
        ({"digits": "map", "words": "alphanumeric"}, ["It", "isn", "t", "BAD", "\u0130", "in", "1984"]),
        ({"words": "spaces", "start_end": True}, ["It", "isn't", "BAD:", "\u0130", "in", "1984!"]),
        ({"lowercase": False, "words": "spaces"}, ["It", "isn't", "BAD:", "\u0130", "in", "1984!"]),
    ]:
        assert item_names(read("It isn't  BAD: \u0130 in 1984!", **settings)) == names


def test_sentences_are_named_as_they_are_written():
    text = "Mr. Fox  won't SAY.\nWhy? So it goes"
    assert item_names(read(text, sentences=True)) == ["Mr. Fox  won't SAY.", "Why?", "So it goes"]
    assert item_names(read(text, sentences=True, max_tokens=9)) == ["Mr. Fox  won't SAY.", "Why"]


def test_items_are_named_as_the_model_reads_them_where_the_text_is_another():
    for text in ["", "Something else", "So"]:
        assert item_names(Example(("so", "##good"), 1, text=text)) == ["so", "##good"]


def test_only_replaced_words_differ_where_the_text_is_written_in_another_case(trained, finished, wordnet, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(wordnet))
    upper = replace(toy(), test=tuple(replace(e, text=e.text.upper()) for e in toy().test))
    shown = audit(trained, upper, QUICK).examples
    assert shown["items"].to_list() == [[item.upper() for item in items] for items in finished.examples["items"]]
    for own, usual in zip(shown.to_dicts(), finished.examples.to_dicts(), strict=True):
        assert own["replaced"] == [
            new if old != new else old.upper() for old, new in zip(usual["items"], usual["replaced"], strict=True)
        ]


def test_shown_texts_say_where_they_are_in_their_file(trained, finished):
    placed = replace(toy(), test=tuple(replace(e, row=n + 213, id=f"r{n}") for n, e in enumerate(toy().test)))
    shown = audit(trained, placed, AuditSettings(tests=("prediction",), shown=3)).examples
    assert shown["row"].to_list() == [number + 213 for number in shown["example"]]
    assert shown["id"].to_list() == [f"r{number}" for number in shown["example"]]
    assert finished.examples["row"].is_null().all() and finished.examples["id"].is_null().all()


def test_a_rationale_is_marked(trained):
    marked = replace(toy(), test=tuple(replace(e, rationale=(1,)) for e in toy().test))
    settings = AuditSettings(tests=("prediction",), shown=3)
    rows = audit(trained, marked, settings).rows.filter(measure="rationale")
    assert rows.filter(pl.col("value") == 1)["item"].unique().to_list() == [1]
    assert rows.filter(pl.col("value") == 0).height > 0 and rows["example"].n_unique() == 3


def test_costly_tests_are_done_where_they_are_asked_for(trained, monkeypatch):
    monkeypatch.delenv("HEEDFUL_DATA", raising=False)
    sizes: dict[str, dict[str, OptionValue]] = {
        name: {"sizes": (1.0,)} for name in ("comprehensiveness_sufficiency", "sensitivity")
    }
    few = AuditSettings(shown=0, examples=4, options={**OPTIONS, **sizes})
    deep = audit(trained, toy(), update_settings(few, {"deep": True}))
    asked = (COSTS["default"] | COSTS["deep"]) - {"word_substitution", "plausibility"} - OF_TRANSFORMERS
    assert set(deep.rows["test"].unique()) == asked and set(deep.verdict.skipped) == {"word_substitution"}
    assert {"comprehensiveness", "sufficiency", "embedding_attack"} <= {line.name for line in deep.lines}
    only = update_settings(few, {"tests": ("comprehensiveness_sufficiency",), "deep": True})
    named = audit(trained, toy(), only)
    assert set(named.rows["test"].unique()) == {"prediction", "comprehensiveness_sufficiency"}
    assert "comprehensiveness_attention_1" in named.rows["measure"].to_list()


def test_a_test_is_chosen_by_its_cost_or_by_its_name():
    assert set(chosen_tests(AuditSettings())) == COSTS["default"]
    assert set(chosen_tests(AuditSettings(deep=True))) == COSTS["default"] | COSTS["deep"]
    assert list(chosen_tests(AuditSettings(tests=("sensitivity",)))) == ["prediction", "sensitivity"]
    assert COSTS["named"] == {"sensitivity", "shape"}


def test_radii_and_counts_of_words_are_options(trained, wordnet, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(wordnet))
    words = {**OPTIONS["word_substitution"], "counts": (1, 2)}
    options: dict[str, dict[str, OptionValue]] = {"embedding_noise": {"radii": (0.1, 0.5)}, "word_substitution": words}
    rows = audit(trained, toy(), AuditSettings(tests=tuple(options), options=options, shown=0)).rows
    assert {"js", "js_0.5"} <= set(rows.filter(test="embedding_noise")["measure"])
    assert {"js", "js_2"} <= set(rows.filter(test="word_substitution")["measure"])


def test_synonyms_are_those_of_the_runs_words(trained, wordnet, monkeypatch):
    monkeypatch.setenv("HEEDFUL_DATA", str(wordnet))
    without = Example(("the", "film", "was"), 0, text="the film was")
    texts = replace(toy(), test=(*toy().test, without))
    settings = AuditSettings(tests=("word_substitution",), options=OPTIONS, shown=0)
    finished = audit(trained, texts, settings)
    rows = finished.rows.filter(measure="js").sort("example")
    assert rows["value"].is_finite().to_list() == [True] * 12 + [False]
    pairs = {(pair.word, pair.replacement): pair.texts for pair in finished.verdict.substitutions}
    assert pairs == {("bad", "good"): 6, ("good", "bad"): 6}
    own = audit(make("average"), [make_batch()], settings)
    assert own.rows.filter(test="word_substitution").is_empty() and not own.verdict.substitutions
    assert "words behind your model's tokens are not known" in own.verdict.skipped["word_substitution"]


def test_an_unknown_test_lists_the_known():
    with pytest.raises(SettingError, match="unknown test 'permutations'. Did you mean 'permutation'"):
        chosen_tests(AuditSettings(tests=("permutations",)))
    with pytest.raises(SettingError, match="unknown test 'permutations'. Did you mean 'permutation'"):
        chosen_tests(AuditSettings(options={"permutations": {"count": 5}}))
