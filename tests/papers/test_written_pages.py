"""The pages of every study: what they hold, that their links lead somewhere, and that their figures can be read."""

import json
import re

import pytest

from heedful.papers import STUDIES
from heedful.papers.charts import WIDEST
from heedful.papers.claim_rule import summary_sentence
from heedful.papers.study_pages import RAN, is_long, summarize, table_file, write_study
from support.synthetic_results import results_of

LINK = re.compile(r"\]\(([^)]+)\)")
TITLE = re.compile(r"role-(?:axis|row|column)-title.*?<text[^>]*>(.+?)</text>", re.DOTALL)
LEGEND_LABEL = re.compile(r"role-legend-label.*?<text[^>]*>(.+?)</text>", re.DOTALL)
MOST_WORDS = 8_000
"""Of a main page, which a reader should get through in less than half an hour."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The report on random results of each study, and the folder that holds its pages."""
    made = []
    for study in STUDIES.values():
        report = summarize(study, results_of(study), "heedful reproduce", workers=2)
        made.append((report, tmp_path_factory.mktemp(study.name)))
        write_study(*made[-1])
    return made


def test_the_pages_open_with_the_finding_are_short_and_hold_all_claims_and_figures(written):
    for report, folder in written:
        name, finding = report.study.name, summary_sentence(report.claims)
        html, text = (folder / f"{name}.html").read_text(), (folder / f"{name}.md").read_text()
        assert text.split("\n\n")[1] == f"**{finding}**" and finding in html.split("<h2>")[0]
        assert len(text.split()) <= MOST_WORDS
        for judged in report.claims:
            assert judged.claim.statement.split("'")[0] in html and judged.claim.statement in text
        assert html.count("<svg ") == len(report.figures) == len(list((folder / name).glob("*.svg")))
        content = json.loads((folder / f"{name}.json").read_text())
        assert [each["claim"]["id"] for each in content["claims"]] == [each.claim.id for each in report.claims]
        assert "http://" not in html.replace("http://www.w3.org", "")


def test_every_link_leads_to_a_file_every_file_is_linked_and_every_long_table_has_one(written):
    for report, folder in written:
        pages = list(folder.rglob("*.md"))
        linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text())}
        assert not [path for path in linked if not path.is_file()]
        assert linked == {path.resolve() for path in (*pages, *folder.rglob("*.svg"))}
        files = [table_file(table) for table in report.tables if is_long(table)]
        assert len({*files, RAN}) == len(files) + 1
        assert {*files, RAN} == {path.name for path in (folder / report.study.name).glob("*.md")}


def test_figures_fit_the_page_and_every_name_in_them_is_whole_different_and_an_axis_s_title(written):
    for report, folder in written:
        for path in (folder / report.study.name).glob("*.svg"):
            drawn = path.read_text(encoding="utf-8")
            assert float(re.findall(r' width="([\d.]+)"', drawn)[0]) <= WIDEST, path.name
            assert "…</" not in drawn, path.name
            legend = LEGEND_LABEL.findall(drawn)
            assert len(set(legend)) == len(legend), path.name
            titles = set(TITLE.findall(drawn))
            assert len(titles) == (1 if path.name.startswith("heat_") else 2), (path.name, titles)
