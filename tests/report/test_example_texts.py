import json
import math
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.report import example_texts
from heedful.report.example_texts import MAPS, PER_OUTCOME, STEPS, chosen_texts, embedded_json, example_data
from support.synthetic_audit import SIMILAR

# Texts of each outcome, with attention as a heat map and the key words marked.

NAMES = ["average", "bilstm"]


def chosen_from(*audits):
    return chosen_texts(audits, example_data(audits, NAMES[: len(audits)]))


def with_outcomes(audit, outcomes):
    """The audit with these outcomes of attention, by text."""
    changed = [pl.when(pl.col("example") == number).then(pl.lit(outcome)) for number, outcome in outcomes.items()]
    table = audit.outcomes.filter(pl.col("outcome").is_not_null()).with_columns(
        outcome=pl.coalesce(*changed, "outcome"), is_moved=pl.col("example").is_in([0, 5, 6])
    )
    return replace(audit, outcomes=table.filter(pl.col("example").is_in(list(outcomes))))


def test_each_outcome_has_a_few_texts_and_its_count_and_without_outcomes_there_are_none(audits):
    outcomes = dict(zip(range(11), ["points"] * 5 + ["misses"] * 4 + ["no_small_set"], strict=False))
    chosen = chosen_from(with_outcomes(audits[1], outcomes))
    assert {title: len(texts) for title, texts in chosen.items()} == {
        "Points: 5 of 10 texts": PER_OUTCOME,
        "Misses: 4 of 10 texts": PER_OUTCOME,
        "Misses by moved information: 2 of 10 texts": 2,
        "No small set: 1 of 10 texts": 1,
    }
    assert all(title.lower().startswith(text.badge) for title, texts in chosen.items() for text in texts)
    moved = [text.heat_map.title for text in chosen["Misses by moved information: 2 of 10 texts"]]
    assert not {text.heat_map.title for text in chosen["Misses: 4 of 10 texts"]} & {*moved}
    assert chosen_from(replace(audits[0], outcomes=audits[0].outcomes.clear())) == {}


def test_the_example_of_the_answer_comes_first(audits):
    answer = audits[1].verdict.answer
    shown = answer.model_copy(update={"example": None})
    titles = [text.heat_map.title for texts in chosen_from(audits[1]).values() for text in texts]
    other = next(number for number in audits[1].examples["example"] if f"Text {number}" not in titles)
    example = {"example": other, "items": ["a"], "outcome": {"predicted": "negative", "outcome": "points"}}
    verdict = audits[1].verdict.model_dump() | {"answer": shown.model_dump() | {"example": example}}
    chosen = chosen_from(replace(audits[1], verdict=type(audits[1].verdict).model_validate(verdict)))
    assert f"Text {other}" in [texts[0].heat_map.title for texts in chosen.values()]


def test_each_model_reads_the_text_with_its_own_outcome_and_marks(audits):
    chosen = chosen_from(*audits)
    assert next(iter(chosen)).startswith("Points (average): ")
    for texts in chosen.values():
        assert [text.model for text in texts] == NAMES * (len(texts) // 2)
    data = (
        audits[1].outcomes.filter(ranking="attention", removal="delete").rows_by_key("example", named=True, unique=True)
    )
    for texts in chosen_from(audits[1]).values():
        for text in texts:
            own, marks = data[int(text.heat_map.title.split()[1])], text.heat_map.marks
            assert (marks["key"], marks["top"]) == (set(own["key_words"]), set(own["top_words"]))
            assert marks["loose"] == (marks["key"] if own["outcome"] == "no_small_set" else set())


def test_a_chosen_text_has_its_attention_its_prediction_and_its_label(audits):
    shown = next(iter(chosen_from(audits[0]).values()))[0].heat_map
    own = audits[0].rows.filter(pl.col("item").is_not_null(), example=int(shown.title.split()[1]), measure="attention")
    assert shown.weights == pytest.approx(own.sort("item")["value"].to_list(), rel=0.02, abs=2e-3)
    assert shown.note.startswith("predicted ") and "; label " in shown.note
    unlabeled = replace(audits[0], examples=audits[0].examples.with_columns(label=pl.lit("")))
    assert "label" not in next(iter(chosen_from(unlabeled).values()))[0].heat_map.note


def test_the_shown_texts_are_carried_with_weights_marks_and_what_was_done_to_them(audits):
    data = example_data(audits, NAMES)
    assert [example["index"] for example in data["examples"]] == list(range(11))
    example = data["examples"][3]
    rows = audits[1].rows.filter(
        (pl.col("example") == 3) & (pl.col("measure") == "attention"), pl.col("item").is_not_null()
    )
    carried = example["runs"][1]["maps"]["attention"]
    weights = [weight / STEPS * carried["max"] for weight in carried["weights"]]
    assert weights == pytest.approx(rows.sort("item")["value"].to_list(), abs=0.01)
    assert max(carried["weights"]) == STEPS
    assert example["items"] == audits[0].examples.filter(example=3)["items"].item().to_list()
    example = example_data(audits, NAMES)["examples"][3]
    rows = audits[0].rows.filter((pl.col("example") == 3) & (pl.col("measure") == "rationale") & (pl.col("value") == 1))
    assert example["runs"][0]["rationale"] == sorted(rows["item"].to_list())
    assert example["runs"][0]["noisy"] == [0]
    assert example["runs"][0]["replaced"] == {len(example["items"]) - 1: SIMILAR}


def test_where_a_text_is_in_its_file_is_carried_if_known(audits):
    assert {(example["row"], example["id"]) for example in example_data(audits, NAMES)["examples"]} == {(None, None)}
    placed = audits[0].examples.with_columns(row=pl.col("example") + 213, id=pl.lit("</script><b>"))
    example = example_data([replace(audits[0], examples=placed)], NAMES[:1])["examples"][3]
    assert (example["index"], example["row"], example["id"]) == (3, 216, "</script><b>")
    assert "</script>" not in embedded_json(example)


def test_only_rows_that_some_text_has_can_be_chosen(audits):
    assert [row["key"] for row in example_data(audits, NAMES)["maps"]] == list(MAPS)
    alone = [replace(audit, rows=audit.rows.filter(pl.col("measure") != "seed_attention")) for audit in audits]
    assert "seed_attention" not in [row["key"] for row in example_data(alone, NAMES)["maps"]]


def test_a_run_may_have_other_items_or_not_show_a_text(audits):
    other = audits[1].examples.with_columns(items=pl.col("items").list.eval(pl.element().str.to_uppercase()))
    example = example_data([audits[0], replace(audits[1], examples=other)], NAMES)["examples"][0]
    assert "items" not in example["runs"][0]
    assert example["runs"][1]["items"] == [item.upper() for item in example["items"]]
    fewer = replace(audits[1], rows=audits[1].rows.filter(pl.col("item").is_null() | (pl.col("example") > 0)))
    example = example_data([audits[0], fewer], NAMES)["examples"][0]
    assert example["runs"][0] is not None
    assert example["runs"][1] is None


def test_undefined_weights_are_null_and_an_undefined_map_is_left_out(audits):
    here = pl.col("item").is_not_null() & (pl.col("example") == 0)
    first = here & (pl.col("measure") == "gradient_x_input") & (pl.col("item") == 0)
    whole = here & (pl.col("measure") == "adversarial_attention")
    rows = audits[0].rows.with_columns(value=pl.when(first | whole).then(math.nan).otherwise("value"))
    maps = example_data([replace(audits[0], rows=rows)], NAMES[:1])["examples"][0]["runs"][0]["maps"]
    assert maps["gradient_x_input"]["weights"][0] is None
    assert "adversarial_attention" not in maps


def test_too_many_texts_are_thinned_evenly_and_counted(audits, monkeypatch):
    monkeypatch.setattr(example_texts, "MOST_EXAMPLES", 3)
    data = example_data(audits, NAMES)
    assert [example["index"] for example in data["examples"]] == [0, 5, 10]
    assert data["known"] == 11


def test_too_long_texts_are_thinned(audits, monkeypatch):
    monkeypatch.setattr(example_texts, "MOST_CHARACTERS", 4000)
    data = example_data(audits, NAMES)
    assert 1 <= len(data["examples"]) < 11
    assert len(json.dumps(data["examples"])) < 8000


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_data_cannot_leave_its_element_and_reads_the_same(data):
    written = embedded_json(data)
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == data
