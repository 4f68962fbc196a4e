"""A study's files."""

import re
from dataclasses import replace

import pytest

from heedful.studies import STUDIES
from heedful.studies.claim_text import claim_parts, summary_sentence
from heedful.studies.markdown import RAN
from heedful.studies.page import render_study, write_study
from heedful.studies.render import MOST_ROWS, summarize
from heedful.studies.study import Results
from support.synthetic_results import results_of

STUDY = STUDIES["attefa"]


@pytest.fixture(scope="module")
def report():
    results = results_of(STUDY)
    return summarize(STUDY, Results("small", results.cells, {"abc": "<script>alert(1)</script>"}), "heedful <x>", 2)


def test_words_from_data_are_escaped(report):
    html = render_study(report)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "heedful &lt;x&gt;" in html


def test_emphasis_in_notes_becomes_elements(report):
    assert "<b>Mean and best.</b>" in render_study(report)
    assert "A claim is <em>confirmed</em> if" in render_study(report)


def test_each_claim_is_shown_with_its_verdict(report):
    html = render_study(report)
    for claim in report.claims:
        assert f'<td class="verdict {claim.verdict}">{claim.verdict}</td>' in html


def test_the_page_opens_with_the_finding(report):
    body = render_study(report).split("<h1>")[1]
    (finding,) = re.findall(r'<p class="finding">(.+?)</p>', body)
    assert finding == summary_sentence(report.claims)
    assert body.index(finding) < body.index("<h2>")


def test_values_of_single_sets_are_folded(report):
    html = render_study(report)
    unfolded = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    parts = [part for claim in report.claims for part in claim_parts(claim)]
    assert parts
    for name, number in parts:
        cells = f'<tr><td>{name}</td><td class="value">{number}</td></tr>'
        assert cells in html and cells not in unfolded


def test_long_tables_are_folded(report):
    first, *_ = report.tables
    rows = first.rows * (MOST_ROWS // len(first.rows) + 1)
    tables = [replace(first, name="Short"), replace(first, name="Long", rows=rows)]
    html = render_study(replace(report, tables=tables))
    short, long = (re.split(f"<h3>{name}: ", html)[1].split("<h3>")[0] for name in ("Short", "Long"))
    assert f"<details><summary>{len(rows)} rows</summary>" in long
    assert "<details>" not in short


def test_figures_and_pages_that_a_study_no_longer_has_are_removed(report, tmp_path):
    other, own = tmp_path / "other", tmp_path / "attefa"
    for folder in (other, own):
        folder.mkdir()
        for name in ("old.svg", "table_99.md", "notes.txt"):
            (folder / name).write_text("old")
    page = write_study(report, tmp_path)
    written = {path.name for path in own.iterdir()}
    assert {"figure_1.svg", "figure_2.svg", RAN, "notes.txt"} <= written
    assert not written & {"old.svg", "table_99.md"}
    assert {path.name for path in other.iterdir()} == {"old.svg", "table_99.md", "notes.txt"}
    assert page == tmp_path / "attefa.html"
    write_study(replace(report, figures=report.figures[:1], ran=[]), tmp_path)
    assert {path.name for path in own.glob("*.svg")} == {"figure_1.svg"}
    assert not (own / RAN).exists()
