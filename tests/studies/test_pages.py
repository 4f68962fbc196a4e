"""The pages in docs/ that studies wrote."""

import json
from pathlib import Path

import pytest

from heedful.studies import STUDIES

PAGES = Path(__file__).parents[2] / "docs" / "studies"


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_every_study_has_a_page_that_its_command_made(study):
    text = (PAGES / f"{study.name}.md").read_text(encoding="utf-8")
    assert f"Made by `heedful reproduce {study.name} " in text
    for figure in (PAGES / study.name).glob("*.svg"):
        assert f"({study.name}/{figure.name})" in text
    written = json.loads((PAGES / f"{study.name}.json").read_text(encoding="utf-8"))
    assert written["errors"] == {}
    for claim in written["claims"]:
        assert f"**{claim['verdict']}**" in text
        assert claim["statement"] in text
