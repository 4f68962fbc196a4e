"""The pages in docs/ that studies wrote."""

import json
from pathlib import Path

import claims
import pytest

from heedful.papers import STUDIES
from heedful.papers.claim_rule import judge_claims
from heedful.papers.study_pages import write_study
from heedful.papers.study_report import summarize
from support.synthetic_results import results_of

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


def test_a_result_in_the_files_is_read_as_it_was_judged_and_another_margin_is_noticed(tmp_path, monkeypatch):
    study = STUDIES["sun-lu"]
    write_study(summarize(study, results_of(study), "heedful reproduce", workers=2), tmp_path / "papers")
    monkeypatch.setattr(claims, "DOCS", tmp_path)
    scale, read = claims.read_claims("sun-lu")
    judged = judge_claims(study, results_of(study))
    assert scale == "small" and [each.word for each in read] == [each.word for each in judged]
    assert [claims.claim_cells(each) for each in read] == [claims.claim_cells(each) for each in judged]
    assert claims.outdated("sun-lu") == []
    file = tmp_path / "papers" / "sun-lu.json"
    file.write_text(file.read_text().replace(judged[0].margins, "another"))
    assert claims.outdated("sun-lu") == [judged[0].claim.id]
