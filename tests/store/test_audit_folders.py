"""Audits on disk, named and checked without opening their tables."""

import json
import os
import shutil

import pytest

from heedful.errors import StoreError
from heedful.store.audit_folders import AUDIT_FILES, audit_problem, audit_refusal, audited_run, find_audit
from heedful.store.folders import write_checksums
from support.synthetic_audit import make_audit

FIRST, SECOND = "aaaa000000000000", "aaab000000000000"
"""Keys of runs."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small audit, without checksums, as earlier versions wrote it."""
    return make_audit(tmp_path_factory.mktemp("audit"), texts=3, shown=1)


def put(made, folder, key, run, age=0):
    """A copy of the audit under that key, of that run, made so many seconds ago."""
    place = shutil.copytree(made, folder / key)
    verdict = json.loads((place / "verdict.json").read_text())
    for name in ("verdict.json", "audit.json"):
        (place / name).write_text(json.dumps({**verdict, "run": run}))
    write_checksums(place)
    when = 1_700_000_000 - age
    os.utime(place, (when, when))
    return place


@pytest.fixture
def folder(tmp_path, made):
    """Two audits of one run, and one of another."""
    put(made, tmp_path, "1111000000000000", FIRST, age=10)
    put(made, tmp_path, "1112000000000000", FIRST)
    put(made, tmp_path, "2222000000000000", SECOND)
    return tmp_path


def test_a_finished_audit_has_no_problem(folder):
    assert {audit_problem(place) for place in folder.iterdir()} == {None}


@pytest.mark.parametrize("name", AUDIT_FILES)
def test_what_is_missing_or_changed_is_named(folder, name):
    place = folder / "2222000000000000"
    content = (place / name).read_bytes()
    (place / name).unlink()
    assert audit_problem(place) == f"{name} is missing"
    (place / name).write_bytes(content + b" ")
    assert audit_problem(place).startswith(f"{name} was changed or damaged")


@pytest.mark.parametrize("content", ["{", "[]", "{}", "[" * 100_000, '{"run": "\\ud800"}'])
def test_without_checksums_a_verdict_must_still_be_one(folder, content):
    place = folder / "2222000000000000"
    (place / "SHA256SUMS").unlink()
    assert audit_problem(place) is None
    (place / "verdict.json").write_text(content)
    assert audit_problem(place).startswith("verdict.json ")


def test_no_folder_is_a_problem(folder):
    assert audit_problem(folder / "none") == "there is no such folder"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("1111000000000000", "1111000000000000"),
        ("1112", "1112000000000000"),
        ("2", "2222000000000000"),
        (FIRST, "1112000000000000"),
        (SECOND, "2222000000000000"),
        ("aaaa", "1112000000000000"),
        ("aaab", "2222000000000000"),
    ],
)
def test_an_audit_is_found_by_its_key_or_its_run_or_a_beginning_of_them(folder, name, key):
    assert find_audit(name, folder) == folder / key


def test_an_audit_is_found_by_its_path(folder):
    place = folder / "2222000000000000"
    assert find_audit(str(place), folder / "elsewhere") == place


@pytest.mark.parametrize("name", ["aaa", "11", "1"])
def test_a_beginning_of_several_is_refused(folder, name):
    with pytest.raises(StoreError, match=f"several runs or audits in .* begin with '{name}': .*Give more"):
        find_audit(name, folder)


@pytest.mark.parametrize("name", ["", ".", "..", "ffff", "a" * 5000, "../.."])
def test_what_is_not_there_is_said_with_what_is(folder, name):
    with pytest.raises(StoreError, match=f"no audit of '.*run `heedful audit --model .*Audited runs: .*{FIRST}"):
        find_audit(name, folder)
    with pytest.raises(StoreError, match="Audited runs: none"):
        find_audit("ffff", folder / "none")


def test_broken_audits_are_no_obstacle_to_others(folder):
    (folder / "1112000000000000" / "rows.parquet").unlink()
    (folder / "2222000000000000" / "verdict.json").write_text("{")
    (folder / "2222000000000000" / "audit.json").write_text("{")
    assert find_audit(FIRST, folder) == folder / "1111000000000000"
    assert find_audit("aaaa", folder) == folder / "1111000000000000"


def test_a_run_whose_audits_are_all_broken_is_refused_with_a_cure(folder):
    (folder / "2222000000000000" / "rows.parquet").unlink()
    with pytest.raises(StoreError, match=f"rows.parquet is missing. Delete that folder.*--model {SECOND}"):
        find_audit(SECOND, folder)


def test_a_run_is_known_from_either_file(folder):
    place = folder / "2222000000000000"
    assert audited_run(place) == SECOND
    (place / "verdict.json").unlink()
    assert audited_run(place) == SECOND
    (place / "audit.json").write_text("[1]")
    assert audited_run(place) is None
    assert "then `heedful audit` again" in str(audit_refusal(place, "lost"))
