"""The pages in docs/ that studies wrote."""

import json
import re
from pathlib import Path

import claims

from heedful.papers import STUDIES

PAGES = Path(__file__).parents[2] / "docs" / "studies"
LINK = re.compile(r"\]\(([^)]+)\)")


def test_every_study_has_a_page_that_its_command_made():
    for name in STUDIES:
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        written = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
        assert f"Made by `heedful reproduce {name} " in text and written["errors"] == {}


def test_results_were_judged_by_the_margins_that_claims_toml_states():
    """Results of before the present rule have no hash, and are not shown as judged."""
    assert {name: claims.outdated(name) for name in STUDIES if claims.outdated(name)} == {}


def test_the_pages_link_to_their_files():
    for name in STUDIES:
        pages = [PAGES / f"{name}.md", *(PAGES / name).glob("*.md")]
        linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text("utf-8"))}
        assert linked == {path.resolve() for path in (pages[0], *(PAGES / name).iterdir())}
