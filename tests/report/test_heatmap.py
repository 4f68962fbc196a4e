import json
import math
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.report import heatmap
from heedful.report.heatmap import STEPS, embedded_json, example_data
from support.synthetic_audit import SIMILAR

NAMES = ["average", "bilstm"]


def test_the_shown_texts_are_carried_with_each_runs_weights(audits):
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


def test_marks_are_places_of_words(audits):
    example = example_data(audits, NAMES)["examples"][3]
    rows = audits[0].rows.filter((pl.col("example") == 3) & (pl.col("measure") == "rationale") & (pl.col("value") == 1))
    assert example["runs"][0]["rationale"] == sorted(rows["item"].to_list())


def test_what_was_done_to_a_text_is_carried(audits):
    example = example_data(audits, NAMES)["examples"][3]
    assert example["runs"][0]["noisy"] == [0]
    assert example["runs"][0]["replaced"] == {len(example["items"]) - 1: SIMILAR}


def test_where_a_text_is_in_its_file_is_carried_if_known(audits):
    assert {(example["row"], example["id"]) for example in example_data(audits, NAMES)["examples"]} == {(None, None)}
    placed = audits[0].examples.with_columns(row=pl.col("example") + 213, id=pl.lit("</script><b>"))
    example = example_data([replace(audits[0], examples=placed)], NAMES[:1])["examples"][3]
    assert (example["index"], example["row"], example["id"]) == (3, 216, "</script><b>")
    assert "</script>" not in embedded_json(example)


def test_only_rows_that_some_text_has_can_be_chosen(audits):
    assert [row["key"] for row in example_data(audits, NAMES)["maps"]] == list(heatmap.MAPS)
    alone = [replace(audit, rows=audit.rows.filter(pl.col("measure") != "seed_attention")) for audit in audits]
    assert "seed_attention" not in [row["key"] for row in example_data(alone, NAMES)["maps"]]


def test_a_run_with_other_items_brings_its_own(audits):
    other = audits[1].examples.with_columns(items=pl.col("items").list.eval(pl.element().str.to_uppercase()))
    example = example_data([audits[0], replace(audits[1], examples=other)], NAMES)["examples"][0]
    assert "items" not in example["runs"][0]
    assert example["runs"][1]["items"] == [item.upper() for item in example["items"]]


def test_a_text_that_one_run_does_not_show_is_still_there(audits):
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
    monkeypatch.setattr(heatmap, "MOST_EXAMPLES", 3)
    data = example_data(audits, NAMES)
    assert [example["index"] for example in data["examples"]] == [0, 5, 10]
    assert data["known"] == 11


def test_too_long_texts_are_thinned(audits, monkeypatch):
    monkeypatch.setattr(heatmap, "MOST_CHARACTERS", 4000)
    data = example_data(audits, NAMES)
    assert 1 <= len(data["examples"]) < 11
    assert len(json.dumps(data["examples"])) < 8000


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_embedded_data_cannot_leave_its_element_and_reads_the_same(data):
    written = embedded_json(data)
    assert not set(written) & set("<>&\u2028\u2029")
    assert json.loads(written) == data
