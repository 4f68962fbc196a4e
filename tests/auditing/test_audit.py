"""The audit from model to files."""

import gzip
import json
import math
from dataclasses import replace

import polars as pl
import pytest
import torch

from heedful.auditing.audit import audit, ensure_audit, lines_across, save_audit, verdict_json
from heedful.auditing.companions import Company
from heedful.battery import BATTERY, DEEP
from heedful.errors import HeedfulError, SettingError
from heedful.settings import AuditSettings, audit_key_of
from heedful.training.loop import train
from heedful.types import Dataset, Example
from support.models import make, make_batch
from support.runs import RUN, changed, toy

QUICK = AuditSettings(permutations=5, rankings=5, shown=3)


@pytest.fixture(scope="module")
def trained():
    return train(changed(training__epochs=6), toy())


@pytest.fixture(scope="module")
def found(trained):
    return audit(trained, toy(), QUICK)


def test_rows_are_long_and_tidy(found):
    assert found.rows.columns == ["run", "split", "example", "item", "test", "measure", "value", "solver"]
    texts = found.rows.filter(pl.col("item").is_null())
    assert set(texts["test"].unique()) == set(BATTERY)
    assert texts.group_by("test", "measure").len()["len"].unique().to_list() == [12]


def test_only_the_shown_texts_have_rows_for_their_items(found):
    items = found.rows.filter(pl.col("item").is_not_null())
    assert items["example"].n_unique() == 3 == len(found.examples)
    for example in found.examples.to_dicts():
        own = items.filter((pl.col("example") == example["example"]) & (pl.col("measure") == "attention"))
        assert own["item"].to_list() == list(range(len(example["items"])))
        assert own["value"].sum() == pytest.approx(1.0)
        assert " ".join(example["items"]) == example["text"]


def test_shown_texts_tell_what_was_done_to_them(found):
    items = found.rows.filter(pl.col("item").is_not_null())
    for example in found.examples.to_dicts():
        own = {
            measure: items.filter(example=example["example"], measure=measure).sort("item")["value"].to_list()
            for measure in ("noisy", "noisy_attention", "replaced_attention")
        }
        assert sum(own["noisy"]) == 1 and sum(own["noisy_attention"]) == pytest.approx(1.0)
        changes = [old != new for old, new in zip(example["items"], example["replaced"], strict=True)]
        assert sum(changes) == 1 and sum(own["replaced_attention"]) == pytest.approx(1.0)


def test_the_adversary_that_is_shown_keeps_the_answer(found):
    for example in found.examples.to_dicts():
        assert example["adversary_probability"] == pytest.approx(example["probability"], abs=0.0101)


def test_two_audits_write_the_same_bytes(tmp_path, trained, found):
    save_audit(found, tmp_path / "one")
    save_audit(audit(trained, toy(), QUICK), tmp_path / "two")
    assert (tmp_path / "one/rows.parquet").read_bytes() == (tmp_path / "two/rows.parquet").read_bytes()
    assert (tmp_path / "one/examples.parquet").read_bytes() == (tmp_path / "two/examples.parquet").read_bytes()


def test_leaving_a_test_out_changes_no_other(trained, found):
    only = audit(trained, toy(), QUICK.model_copy(update={"tests": ("erase_until_flip",), "shown": 0}))
    wanted = found.rows.filter(pl.col("test").is_in(["prediction", "erase_until_flip"]))
    assert only.rows.equals(wanted)


def test_the_model_is_left_as_it_was(trained):
    trained.model.train()
    before = {name: tensor.clone() for name, tensor in trained.model.state_dict().items()}
    audit(trained, toy(), QUICK)
    assert trained.model.training and trained.model.embedding.weight.dtype == torch.float32
    assert all(torch.equal(before[name], tensor) for name, tensor in trained.model.state_dict().items())
    trained.model.eval()


def test_fewer_texts_can_be_asked_for(trained):
    rows = audit(trained, toy(), QUICK.model_copy(update={"examples": 5})).rows
    assert rows["example"].n_unique() == 5


def test_the_verdict_is_json_with_null_where_undefined(found, tmp_path):
    content = verdict_json(found, "heedful audit toy")
    json.dumps(content, allow_nan=False)
    assert [line["name"] for line in content["lines"]] == [line.name for line in found.lines]
    assert content["command"] == "heedful audit toy" and content["texts"] == 12
    assert all(
        value is None or math.isfinite(value) for line in content["lines"] for value in (line["score"], line["low"])
    )


def test_an_audit_is_done_once(tmp_path, trained):
    told = []
    first = ensure_audit(trained, toy(), QUICK, tmp_path, report=lambda done, total: told.append(done))
    assert told[-1] == 12
    again = ensure_audit(trained, toy(), QUICK, tmp_path, report=lambda done, total: pytest.fail("audited again"))
    assert first == again
    assert sorted(p.name for p in first.iterdir()) == ["audit.json", "examples.parquet", "rows.parquet", "verdict.json"]


def test_the_key_depends_on_model_data_and_settings():
    keys = {audit_key_of("a", "b", QUICK), audit_key_of("x", "b", QUICK), audit_key_of("a", "x", QUICK)}
    assert len(keys | {audit_key_of("a", "b", AuditSettings())}) == 4


def test_a_retrained_model_adds_its_line(trained):
    without = train(changed(network__attention="uniform"), toy())
    found = audit(trained, toy(), QUICK, Company(retrained=without))
    assert "uniform_retrained" in {line.name for line in found.lines}


def test_frozen_attention_is_audited_as_its_reference_gave_it(trained, found):
    frozen = train(changed(network__attention="frozen", reference="base"), toy(), reference=trained)
    rows = audit(frozen, toy(), QUICK, Company(reference=trained)).rows
    largest = [one.filter(pl.col("measure") == "max_attention")["value"].to_list() for one in (rows, found.rows)]
    assert largest[0] == pytest.approx(largest[1], abs=1e-6)
    with pytest.raises(SettingError, match="needs the attention to impose"):
        audit(frozen, toy(), QUICK)


def test_seeds_are_reported_together(found):
    other = audit(train(changed(training__epochs=6, seed=1), toy()), toy(), QUICK)
    lines = lines_across([found.rows, other.rows])
    each = [found.lines[0].value.value, other.lines[0].value.value]
    assert lines[0].value.value == pytest.approx(sum(each) / 2)


def test_any_object_with_the_verbs_can_be_audited():
    found = audit(make("bilstm"), [make_batch()], QUICK, labels=("no", "yes"))
    assert found.about["labels"] == ["no", "yes"] and found.advice is None
    assert found.examples["items"].to_list()[0][0] == "item 1"


@pytest.mark.parametrize("has_query", [False, True])
def test_a_head_that_is_not_linear_is_audited_by_search(has_query):
    settings = QUICK.model_copy(update={"tests": ("permutation", "erase_until_flip", "uniform")})
    found = audit(make("average", head="tanh", has_query=has_query), [make_batch(has_query)], settings)
    assert "search" in found.rows["solver"].to_list()


def test_sentences_are_the_items_of_a_hierarchical_model():
    run = changed(network__encoder="hierarchical", training__epochs=1)
    found = audit(train(run, toy(sentences=True)), toy(sentences=True), QUICK)
    assert all(len(items) == 2 for items in found.examples["items"].to_list())


def test_a_rationale_is_marked(trained):
    marked = replace(toy(), test=tuple(replace(e, rationale=(1,)) for e in toy().test))
    rows = audit(trained, marked, QUICK).rows.filter(pl.col("measure") == "rationale")
    assert rows.filter(pl.col("value") == 1)["item"].unique().to_list() == [1]


def test_texts_of_one_item_are_counted_as_undefined(trained):
    alone = replace(toy(), test=(*toy().test, Example(("bad",), 0, text="bad")))
    lines = {line.name: line for line in audit(trained, alone, QUICK).lines}
    assert lines["permutation"].undefined == 1 and lines["uniform"].undefined == 0


class Unnormalised:
    """Returns scores where weights belong."""

    def __init__(self, model):
        self.embed, self.encode, self.decode = model.embed, model.encode, model.decode
        self.inner = model

    def attend(self, encoded, batch):
        scores, attention = self.inner.attend(encoded, batch)
        return scores, attention * 0.87


def test_attention_that_does_not_sum_to_one_is_refused_with_the_row_and_the_sum():
    with pytest.raises(HeedfulError, match=r"that of text 0 sums to 0\.87 over its 7 items"):
        audit(Unnormalised(make("average")), [make_batch()], QUICK)


def test_weights_that_are_no_numbers_are_named_at_once():
    model = make("average")
    with torch.no_grad():
        model.head.linear.bias.fill_(math.nan)
    with pytest.raises(HeedfulError, match="parameter 'head.linear.bias' holds NaN"):
        audit(model, [make_batch()], QUICK)


def test_costly_tests_are_done_where_they_are_asked_for(trained):
    few = QUICK.model_copy(update={"shown": 0, "examples": 4, "sizes": (1.0,)})
    deep = audit(trained, toy(), few.model_copy(update={"deep": True}))
    assert set(deep.rows["test"].unique()) == set(BATTERY) | set(DEEP)
    assert {"comprehensiveness", "sufficiency", "embedding_attack"} <= {line.name for line in deep.lines}
    named = audit(trained, toy(), few.model_copy(update={"tests": ("rationale",), "deep": True}))
    assert set(named.rows["test"].unique()) == {"prediction", "rationale"}
    assert "comprehensiveness_attention_1" in named.rows["measure"].to_list()


def test_radii_and_counts_of_words_are_settings(trained):
    tests = {"tests": ("embedding_noise", "word_substitution"), "radii": (0.1, 0.5), "substitutions": (1, 2)}
    rows = audit(trained, toy(), QUICK.model_copy(update={**tests, "shown": 0})).rows
    assert {"js", "js_0.5", "js_2"} <= set(rows["measure"])


def test_synonyms_are_those_of_the_runs_words(trained, tmp_path, monkeypatch):
    (tmp_path / "synonyms").mkdir()
    content = gzip.compress(json.dumps({"good": {"a": ["bad"]}}).encode())
    (tmp_path / "synonyms" / "wordnet_synonyms.json.gz").write_bytes(content)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path))
    wordnet = QUICK.model_copy(update={"tests": ("word_substitution",), "synonyms": "wordnet", "shown": 0})
    rows = audit(trained, toy(), wordnet).rows.filter(pl.col("measure") == "js").sort("example")
    has_one = ["good" in example.tokens for example in toy().test]
    assert rows["value"].is_finite().to_list() == has_one and any(has_one) and not all(has_one)
    with pytest.raises(SettingError, match="needs a run of ours, whose words are known"):
        audit(make("average"), [make_batch()], wordnet)


def test_an_unknown_test_lists_the_known(trained):
    with pytest.raises(SettingError, match="unknown test 'permutations'. Did you mean 'permutation'"):
        audit(trained, toy(), QUICK.model_copy(update={"tests": ("permutations",)}))


def test_a_model_of_the_users_own_needs_batches_and_ours_a_data_set(trained):
    with pytest.raises(SettingError, match="must be a list of `Batch`"):
        audit(make("average"), toy(), QUICK)
    with pytest.raises(SettingError, match="must be the Dataset"):
        audit(trained, [make_batch()], QUICK)
    with pytest.raises(SettingError, match="at least one batch"):
        audit(make("average"), [], QUICK)


def test_texts_must_be_numbered_once():
    with pytest.raises(SettingError, match="some number stands twice"):
        audit(make("average"), [make_batch(), make_batch()], QUICK)


def test_a_test_split_of_one_class_is_no_error(trained):
    dataset: Dataset = replace(toy(), test=tuple(e for e in toy().test if e.label == 0))
    lines = {line.name: line for line in audit(trained, dataset, QUICK).lines}
    assert lines["uniform"].best == pytest.approx(0.0)


def test_the_runs_key_names_the_rows(found):
    from heedful.settings import key_of

    assert found.rows["run"].unique().to_list() == [key_of(changed(training__epochs=6))]
    assert RUN.seed == 0


def test_telling_words_are_those_of_the_training_texts(found):
    values = found.rows.filter(test="token_scores", measure="polar_above_neutral")["value"]
    assert len(values) == 12
    words = found.about["words"]
    assert (words["polar"], words["neutral"]) == (2, 4)
    fillers = dict.fromkeys(("the", "film", "was", "so"), "neutral")
    assert {one["word"]: one["speaks_for"] for one in words["most"]} == {"bad": "bad", "good": "good", **fillers}


def test_a_model_of_the_users_is_asked_about_the_words_of_its_batches():
    settings = QUICK.model_copy(update={"tests": ("token_scores",)})
    found = audit(make(), [make_batch()], settings, labels=("no", "yes"))
    assert set(found.rows.filter(test="token_scores")["measure"]) >= {"polar_above_neutral", "weight[yes]"}
    assert all(one["word"].startswith("token ") for one in found.about["words"]["most"])
    assert "words" not in audit(make(head="tanh"), [make_batch()], settings).about
    assert "words" not in audit(make(), [make_batch()], QUICK.model_copy(update={"tests": ("uniform",)})).about
