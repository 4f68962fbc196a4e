"""The pages in docs/ that studies wrote."""

import json
import re
from pathlib import Path

import pytest

from heedful.papers import STUDIES

PAGES = Path(__file__).parents[2] / "docs" / "studies"
LINK = re.compile(r"\]\(([^)]+)\)")
every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@every_study
def test_every_study_has_a_page_that_its_command_made(study):
    text = (PAGES / f"{study.name}.md").read_text(encoding="utf-8")
    assert f"Made by `heedful reproduce {study.name} " in text
    written = json.loads((PAGES / f"{study.name}.json").read_text(encoding="utf-8"))
    assert written["errors"] == {}
    for claim in written["claims"]:
        assert f"**{claim['verdict']}**" in text
        assert claim["statement"] in text


@every_study
def test_every_page_opens_with_the_finding(study):
    text = (PAGES / f"{study.name}.md").read_text(encoding="utf-8")
    counts = json.loads((PAGES / f"{study.name}.json").read_text(encoding="utf-8"))["summary"]
    finding = text.split("\n\n")[1]
    assert finding.startswith(f"**Of {sum(counts.values())} claims, {counts['confirmed']} ")
    assert f"{counts['not confirmed']} not confirmed, {counts['contradicted']} contradicted" in finding


@every_study
def test_links_lead_to_files_and_no_file_is_left_over(study):
    pages = [PAGES / f"{study.name}.md", *(PAGES / study.name).glob("*.md")]
    linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text("utf-8"))}
    assert linked == {path.resolve() for path in (pages[0], *(PAGES / study.name).iterdir())}
