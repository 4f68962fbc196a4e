"""The pages of every study: what they hold, that their links lead somewhere, and that their figures can be read."""

import json
import re

import pytest

from heedful.papers import STUDIES
from heedful.papers.charts import WIDEST
from heedful.papers.claim_rule import ORIGINS, summary_sentence
from heedful.papers.study_pages import markdown_page, page_sections, write_study
from heedful.papers.study_report import read_report, summarize
from support.synthetic_results import results_of

LINK = re.compile(r"\]\(([^)]+)\)")
TITLE = re.compile(r"role-(?:axis|row|column)-title.*?<text[^>]*>(.+?)</text>", re.DOTALL)
LEGEND_LABEL = re.compile(r"role-legend-label.*?<text[^>]*>(.+?)</text>", re.DOTALL)
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
MOST_WORDS = 11_000
"""Of a page with what is folded left out, which a reader should get through in less than half an hour."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report on random results of each study, and the folder that holds its pages."""
    made = []
    for study in STUDIES.values():
        report = summarize(study, results_of(study), "heedful reproduce", workers=2)
        made.append((report, tmp_path_factory.mktemp(study.name)))
        write_study(*made[-1])
    return made


def test_the_pages_open_with_what_became_of_the_paper_and_hold_all_claims_and_figures(written):
    for report, folder in written:
        name, finding = report.study.name, summary_sentence(report.claims)
        html, text = (folder / f"{name}.html").read_text(), (folder / f"{name}.md").read_text()
        assert finding in text.split("\n## ")[0] and finding in html.split("<h2>")[0]
        assert len(FOLDED.sub("", text).split()) <= MOST_WORDS
        for judged in report.claims:
            assert judged.claim.origin in ORIGINS
            assert judged.claim.statement.split("'")[0] in html and judged.claim.statement.split("'")[0] in text
        assert html.count("<svg ") == len(report.figures) == len(list((folder / name).glob("*.svg")))
        assert text.count("![") == len(report.figures)
        content = json.loads((folder / f"{name}.json").read_text())
        assert [each["claim"]["id"] for each in content["claims"]] == [each.claim.id for each in report.claims]
        assert "http://" not in html.replace("http://www.w3.org", "")


def test_every_table_and_figure_is_in_one_section_and_every_missing_one_has_a_reason(written):
    for report, _ in written:
        study, blocks = report.study, [block for section in page_sections(report) for block in section.blocks]
        titles = [block.title for block in blocks if block.title]
        assert len(titles) == len(set(titles)), study.name
        assert {figure.name for figure in report.figures} == {each.drawing.name for each in blocks if each.drawing}
        assert all(any(title.startswith(table.name) for title in titles) for table in report.tables)
        assert all(study.missing.values())
        named = {table.name for table in report.tables} | {figure.item for figure in report.figures}
        assert not named & {*study.missing}
        assert study.main in {"", *(table.name for table in report.tables)}


def test_a_page_can_be_written_again_from_its_files(written):
    for report, folder in written:
        page = (folder / f"{report.study.name}.md").read_text()
        assert markdown_page(read_report(report.study, folder)) == page


def test_every_link_leads_to_a_file_and_every_file_is_linked(written):
    for report, folder in written:
        page = folder / f"{report.study.name}.md"
        linked = {(folder / link).resolve() for link in LINK.findall(page.read_text())}
        assert linked == {path.resolve() for path in folder.rglob("*.svg")}


def test_figures_fit_the_page_and_every_name_in_them_is_whole_different_and_an_axis_s_title(written):
    for report, folder in written:
        for path in (folder / report.study.name).glob("*.svg"):
            drawn = path.read_text(encoding="utf-8")
            assert float(re.findall(r' width="([\d.]+)"', drawn)[0]) <= WIDEST, path.name
            assert "…</" not in drawn, path.name
            legend = LEGEND_LABEL.findall(drawn)
            assert len(set(legend)) == len(legend), path.name
            titles = set(TITLE.findall(drawn))
            of_words = path.name.startswith("heat_") or (report.study.name, path.name) == (
                "jain-wallace",
                "figure_1.svg",
            )
            assert len(titles) <= 2 and (titles or of_words), (path.name, titles)
