"""`heedful sweep`."""

import json
import time

import polars as pl
import pytest
from distributed import Client, LocalCluster
from typer.testing import CliRunner

from heedful.cli import app
from heedful.cli.sweep_command import _fitting, _harmless
from heedful.errors import HeedfulError, SettingError, StoreError
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import ensure
from heedful.report import read_audit
from heedful.store.store import Store, audit_defect
from support.cluster import FILE, SMALL

AUDITED = """
seed = 3
[data]
source = "mock-1"
train_limit = 60
test_limit = 20
[network]
encoder = "average"
embed_size = 8
hidden_size = 5
[training]
epochs = 1
[grid]
seed = [0, 1]
[audit]
tests = ["outcome", "uniform"]
shown = 0
[audit.uniform]
"""


def invoke(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(epochs=1))
    return file


def test_a_dry_run_lists_and_estimates_and_does_nothing(tmp_path, file):
    result = invoke(file, "--runs", tmp_path / "runs", "--dry-run", "--out", tmp_path / "table.parquet")
    assert result.exit_code == 0
    assert "6 of 6 runs are left" in result.output and "time is unknown" in result.output
    assert pl.read_parquet(tmp_path / "table.parquet")["status"].to_list() == ["left"] * 6
    assert not (tmp_path / "runs").exists()
    (choice,) = expand_grid({**SMALL, "training": {"epochs": 1}, "grid": {"network.encoder": ["average"]}})
    ensure(choice.run, Store(tmp_path / "runs"))
    result = invoke(file, "--runs", tmp_path / "runs", "--dry-run", "--workers", "2")
    assert "5 runs to do: about" in result.output and "on 2 workers (judging by the 2 that" in result.output


def test_the_table_goes_to_csv_or_parquet_only(tmp_path):
    result = invoke(tmp_path / "study.toml", "--out", "table.xlsx")
    assert isinstance(result.exception, SettingError) and "'table.xlsx'" in str(result.exception)


def test_a_place_that_cannot_be_written_is_said_before_anything_is_trained(tmp_path, file):
    for option in ["--runs", "--out"]:
        (tmp_path / "taken.csv").write_text("a file")
        result = invoke(file, "--runs", tmp_path / "runs", option, tmp_path / "taken.csv" / "below.csv")
        assert isinstance(result.exception, StoreError) and option in str(result.exception)
        assert not (tmp_path / "runs").exists()


def test_a_grid_beyond_the_bound_is_refused_at_once(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(f"[grid]\nseed = {list(range(10_001))}\n")
    began = time.process_time()
    result = invoke(file, "--dry-run", "--runs", tmp_path)
    assert isinstance(result.exception, SettingError) and "this one has 10,001" in str(result.exception)
    assert time.process_time() - began < 20


def test_a_long_table_is_cut_and_a_document_has_all(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(f"[data]\nsource = 'mock-1'\ntrain_limit = 20\ntest_limit = 5\n[grid]\nseed = {list(range(120))}\n")
    result = invoke(file, "--dry-run", "--runs", tmp_path / "runs")
    assert "70 more rows; --out FILE.csv writes all" in result.stdout and len(result.stdout.splitlines()) < 70
    document = json.loads(invoke(file, "--dry-run", "--runs", tmp_path / "runs", "--json").stdout)
    assert document["left"] == len(document["runs"]) == 120 and "120 runs to do" in document["estimate"]
    quiet = invoke(file, "--dry-run", "--runs", tmp_path / "runs", "--quiet")
    assert quiet.stdout == "0 cached, 0 done, 0 failed, 120 left\n"


def test_a_spreadsheet_finds_no_formula_in_the_table():
    rows = pl.DataFrame({"a": ["=1+1", "+1", "-1", "@x", "\tx", "plain", None, "a=b"], "b": [-1, -2, 3, 4, 5, 6, 7, 8]})
    harmless = _harmless(rows)
    assert harmless["a"].to_list() == ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "plain", None, "a=b"]
    assert harmless["b"].equals(rows["b"]) and harmless.columns == rows.columns


def test_columns_that_are_too_many_give_way_in_turn():
    names = ("key", "network.encoder", "seed", "status", "accuracy", "roc_auc", "answer", "holds", "fails", "seconds")
    head = {name: name.rpartition(".")[2] for name in names}
    rows = [["x" * 8] * len(head)]
    assert _fitting(head, rows, 200) == list(head)
    assert "seconds" not in _fitting(head, rows, 89) and "roc_auc" in _fitting(head, rows, 89)
    assert _fitting(head, rows, 20) == ["key", "network.encoder", "seed", "status", "accuracy", "answer", "fails"]


@pytest.fixture(scope="module")
def threads():
    """A cluster of one thread in this process, reached over TCP as any other is."""
    options = {"processes": False, "threads_per_worker": 1, "protocol": "tcp", "host": "127.0.0.1"}
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0", **options) as made:
        yield made


@pytest.fixture(scope="module")
def swept(tmp_path_factory, threads):
    """A folder in which two runs are trained and audited, and what the command printed."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "study.toml").write_text(AUDITED)
    return folder, invoke(*arguments(folder), "--scheduler", threads.scheduler_address, "--out", folder / "t.csv")


def arguments(folder):
    return [folder / "study.toml", "--runs", folder / "runs", "--audits", folder / "audits"]


def test_each_run_is_audited_and_the_table_has_its_verdict(swept):
    folder, result = swept
    assert result.exit_code == 0, result.output
    rows = pl.read_csv(folder / "t.csv")
    assert rows["status"].to_list() == ["done", "done"] and rows["seed"].to_list() == [0, 1]
    audits = {read_audit(place).verdict.run: read_audit(place).verdict for place in (folder / "audits").iterdir()}
    assert set(audits) == set(rows["key"])
    for row in rows.iter_rows(named=True):
        answer = audits[row["key"]].answer
        assert row["answer"] == answer.headline and row["luck"] == pytest.approx(answer.overall.shares.luck)
    for word in ("answer", "points", "luck"):
        assert word in result.stdout


def test_what_is_there_is_not_done_again_and_what_is_broken_is(swept, threads):
    folder, _ = swept
    result = invoke(*arguments(folder), "--json")  # would start a cluster if anything were missing
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and (document["cached"], document["done"]) == (2, 0)
    key = document["runs"][0]["key"]
    (folder / "runs" / key / "history.parquet").unlink()
    broken = next(place for place in (folder / "audits").iterdir() if read_audit(place).verdict.run != key)
    (broken / "verdict.json").write_text("{")
    result = invoke(*arguments(folder), "--scheduler", threads.scheduler_address)
    assert result.exit_code == 0, result.output
    assert Store(folder / "runs").has(key) and audit_defect(broken) is None
    assert "left to do" not in result.output


def test_a_dry_run_counts_the_audits(tmp_path):
    (tmp_path / "study.toml").write_text(AUDITED)
    assert "2 audits come on top" in invoke(*arguments(tmp_path), "--dry-run").output


def test_a_cluster_without_workers_is_said_without_a_terminal(tmp_path, monkeypatch, file, caplog):
    def stop(*_, **__):
        raise HeedfulError("enough")

    monkeypatch.setattr("heedful.jobs.running.run", stop)
    options = {"n_workers": 0, "processes": False, "protocol": "tcp", "host": "127.0.0.1"}
    with LocalCluster(dashboard_address="127.0.0.1:0", **options) as made, Client(made):
        invoke(file, "--runs", tmp_path / "runs", "--scheduler", made.scheduler_address)
    assert "has no worker yet and is waited for. Start one: dask worker tcp://127" in caplog.text
