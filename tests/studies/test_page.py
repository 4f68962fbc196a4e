"""A study's files."""

from dataclasses import replace

import pytest

from heedful.studies import STUDIES
from heedful.studies.page import render_study, write_study
from heedful.studies.render import summarize
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


def test_drawings_of_figures_that_are_no_longer_drawn_are_removed(report, tmp_path):
    other, own = tmp_path / "other" / "old.svg", tmp_path / "attefa" / "old.svg"
    for path in (other, own):
        path.parent.mkdir()
        path.write_text("<svg/>")
    kept = tmp_path / "attefa" / "notes.txt"
    kept.write_text("mine")
    write_study(report, tmp_path)
    assert {path.name for path in own.parent.iterdir()} == {"figure_1.svg", "figure_2.svg", "notes.txt"}
    assert other.exists()
    write_study(replace(report, figures=report.figures[:1]), tmp_path)
    assert {path.name for path in own.parent.glob("*.svg")} == {"figure_1.svg"}
