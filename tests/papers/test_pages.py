"""The pages in docs/ that studies wrote."""

import json
from pathlib import Path

import claims
import pytest

from heedful.papers import STUDIES

PAGES = Path(__file__).parents[2] / "docs" / "papers"


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_was_made_by_its_command_and_nothing_failed(name):
    if not (PAGES / f"{name}.json").exists():
        pytest.skip("the study was not run yet")
    written = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
    assert f"Made by `heedful reproduce {name} " in (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert written["errors"] == {} and written["study"] == name
    assert {f"{figure['name']}.svg" for figure in written["figures"]} == {
        path.name for path in (PAGES / name).iterdir()
    }


def test_results_were_judged_by_the_margins_that_claims_toml_states():
    """Results of before the present rule have no hash, and are not shown as judged."""
    assert {name: claims.outdated(name) for name in STUDIES if claims.outdated(name)} == {}
