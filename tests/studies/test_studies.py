"""Every study: its runs can be done, and its tables, claims, figures and pages can be made from rows."""

import json

import pytest

from heedful.battery import PAIRS, TESTS
from heedful.errors import SettingError
from heedful.runs.grid import Planned, named
from heedful.settings import key_of
from heedful.studies import SCALES, STUDIES
from heedful.studies.page import render_study, write_study
from heedful.studies.render import cells_of, tell, words_of
from heedful.studies.study import Results
from support.synthetic_results import SHARES, results_of

every_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@every_study
def test_a_study_says_what_each_scale_runs(study):
    assert set(study.scales) == set(SCALES)
    with pytest.raises(SettingError, match="scale"):
        study.runs("tiny")


@every_study
@pytest.mark.parametrize("scale", SCALES)
def test_runs_of_a_cell_differ_in_the_seed_alone(study, scale):
    cells = {}
    for one in study.runs(scale):
        alike = one.run.model_copy(update={"seed": 0})
        assert cells.setdefault((one.data, one.model), alike) == alike
    assert len({(one.data, one.model, one.run.seed) for one in study.runs(scale)}) == len(study.runs(scale))


@every_study
def test_small_means_two_thousand_texts_and_a_cap_on_their_length(study):
    for one in study.runs("small"):
        assert one.run.data.train_limit <= 2_000
        assert one.run.text.max_tokens or one.run.data.source.startswith(("babi", "mock", "planted"))


@every_study
def test_the_tests_that_a_study_asks_for_exist(study):
    asked = {test for scale in SCALES for one in study.runs(scale) if one.audit for test in one.audit.tests}
    assert asked <= set(TESTS)


@every_study
def test_the_paper_s_claims_and_our_differences_are_told(study):
    about, differences = words_of(study)
    assert len(about) > 200
    assert all(one.startswith("**") for one in differences)


@every_study
def test_every_claim_gets_a_verdict_and_says_by_what(study):
    claims = study.claims(results_of(study))
    assert len(claims) >= 4
    for claim in claims:
        assert claim.verdict in ("confirmed", "not confirmed", "contradicted")
        assert claim.parts
        assert claim.pooled.low <= claim.pooled.value <= claim.pooled.high


@every_study
def test_without_rows_nothing_is_claimed_or_drawn(study):
    empty = Results("small", {}, {})
    assert {claim.verdict for claim in study.claims(empty)} == {"not tested"}
    assert study.figures(empty) == []
    assert all(not cells_of(table)[1] for table in study.tables(empty))


@every_study
def test_lines_of_a_table_are_as_long_as_its_head(study):
    for table in study.tables(results_of(study)):
        head, lines = cells_of(table)
        assert lines
        assert {len(line) for line in lines} == {len(head)}


@every_study
def test_the_pages_hold_all_claims_tables_and_figures(study, tmp_path):
    told = tell(study, results_of(study), "heedful reproduce", workers=2)
    page = write_study(told, tmp_path)
    html, text = page.read_text(), (tmp_path / f"{study.name}.md").read_text()
    for claim in told.claims:
        assert claim.statement.split("'")[0] in html
        assert claim.statement in text
    assert html.count("<svg ") == len(told.figures) == len(list((tmp_path / study.name).glob("*.svg")))
    assert json.loads((tmp_path / f"{study.name}.json").read_text())["claims"]
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_the_paper_s_number_stands_beside_ours():
    study = STUDIES["jain-wallace"]
    head, lines = cells_of(study.tables(results_of(study))[1])
    sst = next(line for line in lines if line[:3] == ["sst2", "bilstm additive", "class 0"])
    assert dict(zip(head, sst, strict=True))["paper"] == ".470"  # the last one: share significant by leave-one-out
    assert sst[head.index("paper")] == ".400"


def test_words_from_data_are_escaped():
    study = STUDIES["jain-wallace"]
    results = results_of(study)
    told = tell(study, Results("small", results.cells, {"abc": "<script>alert(1)</script>"}), "heedful <x>", 2)
    html = render_study(told)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_columns_that_studies_read_are_measured_by_the_battery():
    tests = {name.split(".")[0] for name in SHARES}
    assert tests <= set(TESTS) | set(PAIRS)


def test_mock_runs_of_a_study_have_keys(monkeypatch):
    one = STUDIES["jain-wallace"].runs("small")[0]
    run = one.run.model_copy(update={"data": one.run.data.model_copy(update={"source": "mock-1", "train_limit": 20})})
    ready = named([Planned(run)])
    assert ready[0].run.data.fingerprint
    assert key_of(ready[0].run) != key_of(run)
