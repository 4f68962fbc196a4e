"""A study's results as text."""

import json
import math
from dataclasses import replace

import pytest

from heedful.measures import Estimate
from heedful.studies import STUDIES, claims
from heedful.studies.claims import Part
from heedful.studies.render import as_json, claim_details, estimate_text, markdown, summarize, table_cells
from heedful.studies.study import Claim, Entry, Results, Study, Table
from support.synthetic_results import made_cell, made_results, near, results_of, share

PART = Estimate(0.5, 0.45, 0.55, 100)
TABLE = Table(
    "Table 1",
    "Some numbers",
    "A note.",
    ("data",),
    ("score", "AUC"),
    ((("sst2",), (Entry(PART, 0.47), Entry(None))), (("imdb",), (Entry(None), Entry(PART)))),
)


CLAIM = Claim("so", "It is so.", "so it is", "section 1", "x - y", "nats", 0.05, baseline=0.1)


def study(**parts) -> Study:
    return Study(
        **{
            "name": "tiny",
            "folder": "attefa",
            "title": "Tiny | study",
            "paper": "Nobody (2000)",
            "scales": {"small": "next to nothing"},
            "runs": lambda scale: [],
            "tables": lambda results: [TABLE],
            "claims": lambda results: [claims.test_claim(CLAIM, {"sst2": Part(near(0.2))})],
            "figures": lambda results, claims: [],
            **parts,
        }
    )


def report(results=None, **parts):
    return summarize(study(**parts), results or made_results(made_cell("sst2", "bilstm")), "heedful reproduce x", 2)


def test_only_columns_with_a_printed_number_have_one_beside_them():
    assert table_cells(TABLE) == (
        ["data", "score", "paper", "AUC"],
        [["sst2", "0.500 (0.450 to 0.550)", "0.470", "–"], ["imdb", "–", "–", "0.500 (0.450 to 0.550)"]],
    )


def test_a_number_without_an_interval_stands_alone():
    assert estimate_text(Estimate(0.25, math.nan, math.nan, 1)) == "0.250"
    assert estimate_text(Estimate(math.nan, math.nan, math.nan, 0)) == estimate_text(None) == "–"


def test_a_claim_begins_with_its_verdict():
    text = markdown(report(), {})
    assert "| **confirmed** | It is so. (section 1) | 0.200 (0.200 to 0.200) nats | 0.150 | 0.050 |" in text
    assert '- It is so. The paper: "so it is". Measured: x - y; a difference of 0.050 matters. sst2 0.200' in text


def test_details_say_what_the_verdict_rests_on():
    estimate = Estimate(0.12, 0.1, 0.14, 100)
    claim = replace(CLAIM, quote="", parts={"a": estimate, "b": estimate}, pooled=estimate, trainings=7, excepts=("b",))
    claim = replace(claim, unadjusted="confirmed", verdict="not confirmed", exceptions=("c",), left_out=("d", "e"))
    assert claim_details(claim) == (
        "Measured: x - y; a difference of 0.050 matters. a 0.120 (0.100 to 0.140); b (excepted by the paper) 0.120 "
        "(0.100 to 0.140). Trained models: 7. Exceptions: c. Left out, for they have not learnt their task: d; e. By "
        "itself it would be confirmed. If there is a difference, it is surely too small to matter."
    )


def test_verdicts_allow_for_the_number_of_claims():
    weak = replace(CLAIM, p=0.04, unadjusted="confirmed", verdict="confirmed")
    made = report(claims=lambda results: [weak, replace(weak, id="other")])
    assert [claim.verdict for claim in made.claims] == ["not confirmed", "not confirmed"]


def test_remarks_name_models_that_have_not_learnt_and_are_made_from_results():
    constant = made_cell("sst2", "mlp", columns={"prediction.label": share(0.5), "prediction.correct": share(0.5)})
    made = report(made_results(made_cell("sst2", "bilstm"), constant), remarks=lambda results: ["Two models."])
    assert made.remarks == ["Not surely better than a constant answer: sst2, mlp.", "Two models."]
    assert "## What the tables show\n\nNot surely better" in markdown(made, {})
    assert "## What the tables show" not in markdown(report(), {})


def test_figures_are_given_the_claims_by_their_ids():
    seen = {}
    report(figures=lambda results, claims: seen.update(claims) or [])
    assert seen["so"].verdict == "confirmed"


def test_runs_that_several_cells_share_are_counted_once():
    cell = made_cell("sst2", "bilstm")
    facts = report(made_results(cell, made_cell("sst2", "bilstm", role="other seeds"))).facts
    assert facts["Runs"] == "5, and their audits"
    assert facts["Computing time"] == "15 s of one core; with 2 workers about 8 s"


def test_json_has_no_undefined_numbers():
    content = as_json(report(claims=lambda results: [CLAIM]))
    assert json.loads(json.dumps(content, allow_nan=False))["claims"][0]["pooled"]["value"] is None


def test_the_paper_s_number_is_shown_beside_ours():
    jain_wallace = STUDIES["jain-wallace"]
    head, rows = table_cells(jain_wallace.tables(results_of(jain_wallace))[1])
    sst = next(row for row in rows if row[:3] == ["sst2", "bilstm additive", "class 0"])
    assert dict(zip(head, sst, strict=True))["paper"] == "0.470"  # the last one: share significant by leave-one-out
    assert sst[head.index("paper")] == "0.400"


@pytest.mark.parametrize("cells", [(), (made_cell("sst2", "bilstm"),)])
def test_a_page_can_be_made_of_any_number_of_cells(cells):
    assert "# Tiny | study, repeated" in markdown(report(Results("small", cells)), {})
