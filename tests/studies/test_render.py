"""A study's results as text."""

import json
import math
from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.studies import STUDIES
from heedful.studies.render import as_json, estimate_text, is_long, table_cells
from heedful.studies.study import Entry, Table
from support.synthetic_results import made_cell, made_results, results_of, share


def long_table(rows, columns):
    entries = (Entry(None),) * columns
    names = tuple(f"column {place}" for place in range(columns))
    return Table("Table 2", "Long", "", ("data",), names, tuple(((f"row {row}",), entries) for row in range(rows)))


def test_only_columns_with_a_printed_number_have_one_beside_them(table):
    assert table_cells(table) == (
        ["data", "score", "paper", "AUC"],
        [["sst2", "0.500 (0.450 to 0.550)", "0.470", "–"], ["imdb", "–", "–", "0.500 (0.450 to 0.550)"]],
    )


def test_a_number_without_an_interval_stands_alone():
    assert estimate_text(Estimate(0.25, math.nan, math.nan, 1)) == "0.250"
    assert estimate_text(Estimate(math.nan, math.nan, math.nan, 0)) == estimate_text(None) == "–"


@pytest.mark.parametrize(
    "rows, columns, long", [(25, 1, False), (26, 1, True), (12, 5, False), (20, 3, False), (13, 5, True), (0, 9, False)]
)
def test_a_table_is_long_by_its_rows_or_its_numbers(rows, columns, long):
    assert is_long(long_table(rows, columns)) == long


def test_verdicts_allow_for_the_number_of_claims(make_report, claim):
    weak = replace(claim, p=0.04, unadjusted="confirmed", verdict="confirmed")
    made = make_report(claims=lambda results: [weak, replace(weak, id="other")])
    assert [claim.verdict for claim in made.claims] == ["not confirmed", "not confirmed"]


def test_remarks_name_models_that_have_not_learnt_and_are_made_from_results(make_report):
    constant = made_cell("sst2", "mlp", columns={"prediction.label": share(0.5), "prediction.correct": share(0.5)})
    made = make_report(made_results(made_cell("sst2", "bilstm"), constant), remarks=lambda results: ["Two models."])
    assert made.remarks == ["Not surely better than a constant answer: sst2, mlp.", "Two models."]


def test_figures_are_given_the_claims_by_their_ids(make_report):
    seen = {}
    make_report(figures=lambda results, claims: seen.update(claims) or [])
    assert seen["so"].verdict == "confirmed"


def test_runs_that_several_cells_share_are_counted_once(make_report):
    cell = made_cell("sst2", "bilstm")
    facts = make_report(made_results(cell, made_cell("sst2", "bilstm", role="other seeds"))).facts
    assert facts["Trained models"] == "5"
    assert facts["Computing time"] == "15 s of one core; with 2 workers about 8 s"


def test_json_counts_the_verdicts_and_has_no_undefined_numbers(make_report, claim):
    content = json.loads(json.dumps(as_json(make_report(claims=lambda results: [claim])), allow_nan=False))
    assert content["claims"][0]["pooled"]["value"] is None
    assert content["summary"] == {"confirmed": 0, "not confirmed": 0, "contradicted": 0, "not tested": 1}


def test_the_paper_s_number_is_shown_beside_ours():
    jain_wallace = STUDIES["jain-wallace"]
    head, rows = table_cells(jain_wallace.tables(results_of(jain_wallace))[1])
    sst = next(row for row in rows if row[:3] == ["sst2", "bilstm additive", "class 0"])
    assert dict(zip(head, sst, strict=True))["paper"] == "0.470"  # the last one: share significant by leave-one-out
    assert sst[head.index("paper")] == "0.400"
