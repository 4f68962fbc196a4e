"""An audit in parts: the same bytes however it is done, and a stop loses only the part that was under way."""

import json
import shutil
import signal
import subprocess
import sys
from io import StringIO

import polars as pl
import pytest
import torch
from rich.console import Console

from heedful.cli.auditing import make_audits
from heedful.data import batching
from heedful.errors import StoreError
from heedful.jobs import audit_parts
from heedful.jobs.audit_parts import AuditParts, request_of
from heedful.jobs.planning import adversary_of, plan_audits, without_attention
from heedful.jobs.work import load_data
from heedful.report import read_audit
from heedful.report.loading import audit
from heedful.settings import (
    AuditSettings,
    ComparisonModels,
    DataSettings,
    NetworkSettings,
    Run,
    TrainingSettings,
    key_of,
)
from heedful.settings.validation import update_settings
from heedful.store.folders import files_in
from heedful.store.store import REST, Store, audit_defect
from heedful.subjects.finished_run import FinishedRun
from heedful.training.loop import train
from heedful.verdict.scoring import StoredColumns, columns_of, lines_across
from support.audits import ensure_audit
from support.cluster import ENVIRONMENT
from support.waiting import wait_until

RUN = Run(
    data=DataSettings(source="mock-1", train_limit=80, test_limit=130),
    network=NetworkSettings(encoder="average", embed_size=8, hidden_size=5),
    training=TrainingSettings(epochs=2),
)
TESTS = ("permutation", "erase_until_flip", "embedding_noise", "token_scores")
SETTINGS = AuditSettings(tests=TESTS, shown=9, options={"erase_until_flip": {"rankings": 5}})
QUICK = AuditSettings(tests=("outcome", "permutation"), shown=9)
WORDS = 3000
SHORT = {"epochs": 2, "min_epochs": 1, "patience": 1}


@pytest.fixture(scope="module")
def loaded():
    return load_data(RUN)


@pytest.fixture(scope="module")
def trained(loaded):
    return train(*loaded)


@pytest.fixture(scope="module")
def comparison_models(loaded, trained):
    run, dataset = loaded
    return ComparisonModels(
        retrained=train(without_attention(run), dataset),
        seeds=(train(update_settings(run, {"seed": 1}), dataset),),
        adversaries=(train(adversary_of(run, 3, SHORT), dataset, reference=trained),),
    )


@pytest.fixture
def small_shards(monkeypatch):
    """130 texts in five batches make three shards."""
    monkeypatch.setattr(batching, "SHARD_WORDS", WORDS)


def content(folder):
    """What an audit's folder holds, but for how long it took and on which day."""
    verdict = json.loads((folder / "verdict.json").read_text())
    tables = {name: (folder / name).read_bytes() for name in ("rows.parquet", "examples.parquet", "outcomes.parquet")}
    timed = ("seconds", "milliseconds", "date", "command")
    for part in ("rankings", "recommendation"):  # they name what a ranking costs
        (verdict["answer"] or {}).pop(part, None)
    return tables, {name: value for name, value in verdict.items() if name not in timed}


@pytest.mark.usefixtures("small_shards")
def test_parts_on_disk_are_the_audit_in_memory(tmp_path, loaded, trained, comparison_models):
    calls = []
    place = ensure_audit(
        trained,
        loaded[1],
        SETTINGS,
        tmp_path,
        comparison_models,
        report=lambda done, total: calls.append((done, total)),
    )
    audit(trained, loaded[1], SETTINGS, comparison_models).save(tmp_path / "memory")
    assert content(place) == content(tmp_path / "memory")
    assert set(read_audit(place).rows["test"]) >= {*TESTS, "uniform_retrained", "seeds", "attefa", "adversarial_models"}
    assert read_audit(place).outcomes.is_empty() and len(read_audit(place).examples) == 9
    assert calls[-1] == (130, 130) and sorted({done for done, _ in calls}) == [done for done, _ in calls]
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_an_audit_is_done_once_and_again_if_a_file_is_damaged(tmp_path, loaded, trained, caplog):
    only, calls = update_settings(QUICK, {"tests": ("prediction",)}), []
    place = ensure_audit(trained, loaded[1], only, tmp_path, report=lambda done, total: calls.append(done))
    before = files_in(place)
    assert calls[-1] == 130 and place.name == request_of(FinishedRun(trained), loaded[1], only).key
    assert set(before) == {
        "SHA256SUMS",
        "audit.json",
        "examples.parquet",
        "outcomes.parquet",
        "rows.parquet",
        "verdict.json",
    }
    assert ensure_audit(trained, loaded[1], only, tmp_path, report=lambda *given: pytest.fail("audited again")) == place
    for name in before.keys() - {"SHA256SUMS"}:
        _ = (place / name).write_bytes(before[name][:-3]) if name == "audit.json" else (place / name).unlink()
        assert audit_defect(place) is not None
        assert ensure_audit(trained, loaded[1], only, tmp_path) == place and audit_defect(place) is None
        assert files_in(place)["rows.parquet"] == before["rows.parquet"]
        assert f"{place} is not a finished audit and is made again: {name}" in caplog.text
    places = {
        place,
        ensure_audit(trained, loaded[1], update_settings(only, {"seed": 1}), tmp_path),
        ensure_audit(trained, loaded[1], only, tmp_path, ComparisonModels(seeds=(trained,))),
    }
    assert len(places) == 3 and set(tmp_path.iterdir()) == places
    description = json.loads((place / "audit.json").read_text())
    assert description["texts"] == 130 and not {"answer", "lines", "command"} & set(description)


FOUR = """
import sys
from pathlib import Path
from heedful.data import batching
from heedful.errors import StoreError
from heedful.jobs.planning import plan_audits
from heedful.jobs.running import carry_out, check_done
from heedful.settings import AuditSettings, Run
from heedful.store.store import Store

batching.SHARD_WORDS = 300
folder = Path(sys.argv[1])
store, settings = Store(folder / "runs", folder / "audits"), AuditSettings(tests=("prediction",), shown=3)
plan = plan_audits([Run.model_validate_json(sys.argv[2])], settings, store)
(folder / f"ready-{sys.argv[3]}").touch()
while len(list(folder.glob("ready-*"))) < 4:
    pass
check_done(carry_out(plan, store, workers=1))
"""


@pytest.mark.slow
def test_four_processes_that_ask_for_one_audit_all_have_it(tmp_path, trained):
    key = Store(tmp_path / "runs").save(trained)
    arguments = [sys.executable, "-c", FOUR, str(tmp_path), trained.run.model_dump_json()]
    processes = [
        subprocess.Popen([*arguments, str(number)], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        for number in range(4)
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, errors
    (place,) = (tmp_path / "audits").iterdir()
    assert audit_defect(place) is None and read_audit(place).verdict.run == key


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("is_made", [False, True])
def test_parts_that_another_process_deletes_are_made_again_unless_the_audit_is_there(
    tmp_path, monkeypatch, loaded, trained, is_made
):
    settings = update_settings(SETTINGS, {"tests": ("prediction",)})
    whole = ensure_audit(trained, loaded[1], settings, tmp_path / "undisturbed")
    write, deleted = audit_parts.write_part, []

    def delete_once(part, place):
        write(part, place)
        if place.name == "00001" and not deleted:
            deleted.append(place)
            shutil.rmtree(place.parent)
            if is_made:
                shutil.copytree(whole, tmp_path / "audits" / whole.name)

    monkeypatch.setattr(audit_parts, "write_part", delete_once)
    place = ensure_audit(trained, loaded[1], settings, tmp_path / "audits")
    assert deleted and content(place) == content(whole) and not list(place.parent.glob(".*"))


def test_an_error_of_ours_is_not_repeated(tmp_path, monkeypatch, loaded, trained):
    tries = []

    def fail(*given):
        tries.append(given)
        raise StoreError("the disk is full")

    monkeypatch.setattr(audit_parts, "write_part", fail)
    with pytest.raises(StoreError, match="the disk is full"):
        ensure_audit(trained, loaded[1], SETTINGS, tmp_path)
    assert len(tries) == 1


def test_what_depends_on_all_texts_is_the_same_in_shards(monkeypatch, loaded, trained, comparison_models):
    only = update_settings(SETTINGS, {"tests": ("prediction",)})
    beside = ComparisonModels(adversaries=comparison_models.adversaries)
    monkeypatch.setattr(batching, "SHARD_WORDS", 10**6)
    whole = columns_of([audit(trained, loaded[1], only, beside).rows])
    monkeypatch.setattr(batching, "SHARD_WORDS", WORDS)
    apart = columns_of([audit(trained, loaded[1], only, beside).rows])
    assert {"attefa.constant_tvd", "adversarial_models.apart_1"} <= set(whole) == set(apart)
    for name, values in whole.items():
        torch.testing.assert_close(apart[name], values, rtol=0, atol=0)


@pytest.mark.usefixtures("small_shards")
def test_a_stop_loses_only_the_part_under_way(tmp_path, monkeypatch, loaded, trained):
    whole = ensure_audit(trained, loaded[1], QUICK, tmp_path / "undisturbed")
    made = []

    def counting(prepared, number, report=None, *, most):
        if len(made) == most:
            raise KeyboardInterrupt
        made.append(number)
        return shard(prepared, number, report)

    shard = audit_parts.audit_shard
    folder = tmp_path / "stopped"
    monkeypatch.setattr(audit_parts, "audit_shard", lambda *given: counting(*given, most=1))
    with pytest.raises(KeyboardInterrupt):
        ensure_audit(trained, loaded[1], QUICK, folder)
    assert [path.name for path in folder.iterdir()] == [f".{whole.name}.parts"]
    monkeypatch.setattr(audit_parts, "audit_shard", lambda *given: counting(*given, most=9))
    place = ensure_audit(trained, loaded[1], QUICK, folder)
    assert sorted(made) == [0, 1, 2] and content(place) == content(whole)
    assert [path.name for path in folder.iterdir()] == [place.name]


@pytest.mark.usefixtures("small_shards")
def test_a_damaged_part_is_made_again(tmp_path, monkeypatch, loaded, trained):
    settings = update_settings(SETTINGS, {"tests": ("prediction",)})
    monkeypatch.setattr(audit_parts, "_write_audit", lambda *given: pytest.fail("stopped before the end"))
    with pytest.raises(pytest.fail.Exception):
        ensure_audit(trained, loaded[1], settings, tmp_path)
    parts = AuditParts(tmp_path / request_of(FinishedRun(trained), loaded[1], settings).key, 3)
    assert parts.names == (REST, "00002", "00001", "00000") and parts.missing() == []
    rows = parts.folder / "00001" / "rows.parquet"
    rows.write_bytes(rows.read_bytes()[:-100])
    assert parts.missing() == ["00001"]
    monkeypatch.undo()
    monkeypatch.setattr(batching, "SHARD_WORDS", WORDS)
    assert len(read_audit(ensure_audit(trained, loaded[1], settings, tmp_path)).rows) > 0


@pytest.mark.slow
def test_a_killed_command_is_continued_by_the_next(tmp_path):
    """The parts of a process that was killed (SIGKILL) are taken as they are; the bytes are those of an undisturbed."""
    run, dataset = load_data(update_settings(RUN, {"data.test_limit": 300}))
    store = Store(tmp_path / "runs")
    store.save(train(run, dataset))
    command = [sys.executable, "-m", "heedful", "audit", "--model", key_of(run), "--tests", "permutation", "--quiet"]
    command += ["--workers", "1", "--runs", str(store.folder), "--audits", str(tmp_path / "audits")]
    command += ["--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    wait_until(
        lambda: process.poll() is not None or list(tmp_path.glob("audits/.*.parts/0*/SHA256SUMS")), "a finished shard"
    )
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("audits/.*.parts/0*/rows.parquet")}
    made = []
    settings = AuditSettings(tests=("permutation",))
    place = ensure_audit(
        store.load(key_of(run)), dataset, settings, tmp_path / "audits", report=lambda done, total: made.append(done)
    )
    assert kept and made[0] > 32  # what the killed one did is counted as done
    undisturbed = ensure_audit(store.load(key_of(run)), dataset, settings, tmp_path / "undisturbed")
    assert content(place) == content(undisturbed)
    assert [path.name for path in (tmp_path / "audits").iterdir()] == [place.name]


def test_stored_columns_are_those_in_memory(tmp_path, monkeypatch, loaded, trained):
    monkeypatch.setattr("heedful.verdict.scoring.READ_CELLS", 300)
    rows = audit(trained, loaded[1], SETTINGS).rows
    rows.write_parquet(tmp_path / "rows.parquet")
    stored, memory = columns_of([pl.scan_parquet(tmp_path / "rows.parquet")]), columns_of([rows])
    assert isinstance(stored, StoredColumns) and list(stored) == list(memory) and len(stored) == len(memory) > 10
    for name in reversed(list(memory)):
        torch.testing.assert_close(stored[name], memory[name], rtol=0, atol=0, equal_nan=True)
    assert lines_across([pl.scan_parquet(tmp_path / "rows.parquet")]) == lines_across([rows])
    with pytest.raises(KeyError):
        stored["permutation.unknown"]


def test_of_a_large_audit_some_texts_are_read_and_all_are_at_hand(tmp_path, loaded, trained):
    place = ensure_audit(trained, loaded[1], QUICK, tmp_path)
    whole, some = read_audit(place), read_audit(place, most=50)
    assert whole.stored is None and some.stored is not None
    assert some.rows["example"].n_unique() == 50 and set(some.examples["example"]) < set(some.rows["example"])
    assert some.stored.collect().equals(whole.rows) and some.outcomes.equals(whole.outcomes)
    assert "drawn from 50 of the 130 texts" in some.verdict.notes[-1]
    assert some.verdict.lines == whole.verdict.lines
    assert read_audit(place, most=130).stored is None


@pytest.mark.usefixtures("small_shards")
def test_ctrl_c_says_what_is_kept(tmp_path, monkeypatch, loaded, trained):
    console, store = Console(file=StringIO(), width=200), Store(tmp_path / "runs", tmp_path / "audits")
    store.save(trained)
    shard = audit_parts.audit_shard

    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(
        audit_parts,
        "audit_shard",
        lambda prepared, number, report: stop() if number < 2 else shard(prepared, number, report),
    )
    with pytest.raises(KeyboardInterrupt):
        make_audits(console, plan_audits([loaded[0]], QUICK, store), store)
    assert "2 parts of the audit are kept" in console.file.getvalue()
    assert "the same command does the others" in console.file.getvalue()
