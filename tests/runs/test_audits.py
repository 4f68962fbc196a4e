"""Audits on disk: made once, and read as they were written."""

import json

import pytest

from heedful.auditing.audit import audit
from heedful.auditing.companions import Companions
from heedful.report import read_audit
from heedful.runs.audit_folders import audit_problem
from heedful.runs.audits import ensure_audit, request_of, save_audit
from heedful.runs.folders import files_in
from heedful.settings import key_of
from heedful.settings.validation import update_settings
from heedful.training.loop import train
from support.audits import QUICK
from support.runs import changed, toy

FILES = ["SHA256SUMS", "audit.json", "examples.parquet", "outcomes.parquet", "rows.parquet", "verdict.json"]


@pytest.fixture(scope="module")
def trained():
    return train(changed(training__epochs=6), toy())


@pytest.fixture(scope="module")
def finished(trained):
    return audit(trained, toy(), QUICK)


def test_an_audit_is_done_once(tmp_path, trained):
    calls = []
    first = ensure_audit(trained, toy(), QUICK, tmp_path, report=lambda done, total: calls.append(done))
    assert calls[-1] == 12
    again = ensure_audit(trained, toy(), QUICK, tmp_path, report=lambda done, total: pytest.fail("audited again"))
    assert first == again
    assert sorted(p.name for p in first.iterdir()) == FILES
    assert first.name == request_of(trained, toy(), QUICK, Companions()).key


def test_other_settings_or_companions_are_another_audit(tmp_path, trained):
    only = update_settings(QUICK, {"tests": ("prediction",)})
    places = {
        ensure_audit(trained, toy(), only, tmp_path),
        ensure_audit(trained, toy(), update_settings(only, {"seed": 1}), tmp_path),
        ensure_audit(trained, toy(), only, tmp_path, Companions(seeds=(trained,))),
    }
    assert len(places) == 3 and set(tmp_path.iterdir()) == places


@pytest.mark.parametrize("name", FILES[1:])
def test_an_audit_in_parts_is_made_again(tmp_path, trained, caplog, name):
    only = update_settings(QUICK, {"tests": ("prediction",)})
    place = ensure_audit(trained, toy(), only, tmp_path)
    before = files_in(place)
    if name == "audit.json":
        (place / name).write_bytes(before[name][:-3])
    else:
        (place / name).unlink()
    assert audit_problem(place) is not None
    calls = []
    again = ensure_audit(trained, toy(), only, tmp_path, report=lambda done, total: calls.append(done))
    assert calls and again == place and audit_problem(place) is None
    assert files_in(place)["rows.parquet"] == before["rows.parquet"]
    assert f"{place} is not a finished audit and is made again: {name}" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_two_audits_write_the_same_bytes(tmp_path, trained, finished):
    save_audit(finished, tmp_path / "first")
    save_audit(audit(trained, toy(), QUICK), tmp_path / "second")
    for name in ("rows.parquet", "examples.parquet"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_the_files_hold_the_audit_and_the_command(tmp_path, finished):
    save_audit(finished, tmp_path / "audit", "heedful audit toy")
    read = read_audit(tmp_path / "audit")
    assert read.rows.equals(finished.rows) and read.examples.equals(finished.examples)
    assert read.verdict == finished.verdict.model_copy(update={"command": "heedful audit toy"})
    assert finished.verdict.command == ""


def test_the_description_names_what_was_audited_without_the_answers(tmp_path, finished):
    save_audit(finished, tmp_path / "audit")
    content = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert content["texts"] == 12 and content["settings"]["audit"] == QUICK.model_dump(mode="json")
    assert not {"headline", "lines", "advice", "command"} & set(content)


def test_a_request_names_all_runs_by_their_keys(trained):
    other = train(changed(training__epochs=1), toy())
    request = request_of(trained, toy(), QUICK, Companions(retrained=other, seeds=(other, trained)))
    assert (request.run, request.data) == (key_of(trained.run), "f")
    assert request.companions == Companions(retrained=key_of(other.run), seeds=(key_of(other.run), key_of(trained.run)))
