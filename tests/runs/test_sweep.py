"""Many runs on a real cluster: a scheduler and workers that this file starts, over TCP on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import polars as pl
import pytest
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError, SettingError
from heedful.runs.cluster import connected
from heedful.runs.grid import plan, prepare
from heedful.runs.store import Store
from heedful.runs.sweep import expected_seconds, sweep, table
from heedful.runs.worker import ensure
from heedful.settings import TrainingSettings

SMALL = {
    "data": {"source": "mock-1", "train_limit": 200, "test_limit": 50},
    "network": {"embed_size": 8, "hidden_size": 5},
    "training": {"epochs": 10},
}
GRID = {"network.encoder": ["average", "bilstm"], "network.attention": ["additive", "dot"], "seed": [0, 1, 2]}
FILE = """
[data]
source = "mock-1"
train_limit = 200
test_limit = 50
[network]
embed_size = 8
hidden_size = 5
[training]
epochs = {epochs}
[grid]
"network.encoder" = ["average", "bilstm"]
"network.attention" = ["additive", "dot"]
seed = [0, 1, 2]
"""
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )


class Cluster:
    """A scheduler process and worker processes, each killed by its number."""

    def __init__(self, folder):
        file = folder / "scheduler.json"
        place = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self.scheduler = start("distributed.cli.dask_scheduler", *place)
        while not file.exists():
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]
        self.folder, self.workers = folder, []

    def add_workers(self, count):
        place = ["--host", "127.0.0.1", "--no-dashboard", "--no-nanny", "--nthreads", "1"]
        place += ["--local-directory", str(self.folder)]
        self.workers += [start("distributed.cli.dask_worker", self.address, *place) for _ in range(count)]

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextmanager
def cluster(folder, workers):
    folder.mkdir()
    made = Cluster(folder)
    try:
        made.add_workers(workers)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster") / "scratch", 2) as made:
        yield made


def stored(folder):
    return sorted(path.name for path in folder.glob("[0-9a-f]*") if (path / "run.json").is_file())


@pytest.mark.cluster
def test_a_worker_killed_in_the_middle_costs_nothing_but_time(tmp_path):
    store = Store(tmp_path / "runs")
    runs = prepare(plan({**SMALL, "grid": GRID}), store)
    ended = []
    with cluster(tmp_path / "scratch", 2) as made, connected(made.address) as client:
        client.wait_for_workers(2)

        def kill_one_after_four(standing, key, error):
            ended.append(key)
            if standing.done == 4:
                made.workers[0].send_signal(signal.SIGKILL)

        assert sweep(runs, store, client, report=kill_one_after_four) == {}
        assert made.workers[0].wait() == -signal.SIGKILL
    assert sorted(ended[1:]) == sorted(runs) == stored(store.folder) and len(runs) == 12
    assert store.listing()[1] == []
    assert not list(store.folder.glob(".*"))


@pytest.mark.cluster
def test_a_killed_client_leaves_what_was_done_and_the_next_does_only_the_rest(tmp_path, two_workers):
    file, runs, out = tmp_path / "study.toml", tmp_path / "runs", tmp_path / "table.csv"
    file.write_text(FILE.format(epochs=20))
    command = ["heedful", "sweep", str(file), "--runs", str(runs), "--scheduler", two_workers.address]
    client = start(*command)
    while len(stored(runs)) < 3:
        assert client.poll() is None
        time.sleep(0.02)
    client.kill()
    client.wait()
    before = stored(runs)
    assert 3 <= len(before) < 12
    again = subprocess.run(
        [sys.executable, "-m", *command, "--out", out], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert again.returncode == 0
    done = [line.split()[1] for line in again.stdout.splitlines() if line.startswith("done ")]
    rows = pl.read_csv(out)
    assert sorted(rows.filter(pl.col("status") == "found")["key"]) == before
    assert sorted(rows.filter(pl.col("status") == "done")["key"]) == sorted(set(stored(runs)) - set(before))
    assert sorted(done) == sorted(set(stored(runs)) - set(before))
    assert len(rows) == len(stored(runs)) == 12


@pytest.mark.cluster
def test_a_run_that_raises_is_reported_once_and_the_others_are_there(tmp_path, two_workers):
    store = Store(tmp_path)
    runs = prepare(plan({**SMALL, "training": {"epochs": 1}, "grid": GRID}), store)
    wild, *others = runs
    planned = [*(runs[key] for key in others)]
    planned.append(runs[wild].model_copy(update={"training": TrainingSettings(epochs=2, learning_rate=1e38)}))
    runs = prepare(planned, store)
    bad = list(runs)[-1]

    def tries(dask_scheduler):
        return sum(line[0].startswith("_train") and line[2] == "processing" for line in dask_scheduler.transition_log)

    with connected(two_workers.address) as client:
        before = client.run_on_scheduler(tries)
        errors = sweep(runs, store, client)
        assert client.run_on_scheduler(tries) - before == 12
    assert list(errors) == [bad] and "training loss became" in errors[bad]
    assert stored(tmp_path) == sorted(others) and len(others) == 11
    rows = table(runs, store, errors)
    assert rows["status"].to_list() == ["done"] * 11 + ["failed"]
    assert rows["error"].to_list() == [None] * 11 + [errors[bad]]


@pytest.mark.cluster
def test_base_runs_are_done_first_and_once_and_a_failing_one_fails_its_followers(tmp_path, two_workers):
    store = Store(tmp_path)
    content = {
        **SMALL,
        "runs": [{"training.learning_rate": 1e-3}, {"training.learning_rate": 1e38}],
        "grid": {"network.attention": ["frozen"], "network.encoder": ["average", "affine"]},
        "reference": {"network": {"attention": "additive", "encoder": "identity"}},
    }
    runs = prepare(plan(content), store)
    good, bad = [key for key, run in runs.items() if run.reference is None]
    ended = []
    with connected(two_workers.address) as client:
        errors = sweep(runs, store, client, report=lambda standing, key, error: ended.append(key))
    assert len(ended) == len(set(ended)) == 1 + 6
    followers = {key for key, run in runs.items() if run.reference == good}
    assert set(stored(tmp_path)) == {good} | followers and len(followers) == 2
    assert ended.index(good) < min(ended.index(key) for key in followers)
    assert set(errors) == {bad} | {key for key, run in runs.items() if run.reference == bad}
    assert sum(f"its base run {bad} failed" in error for error in errors.values()) == 2


@pytest.mark.cluster
def test_a_swept_run_is_the_run_that_train_would_have_stored(tmp_path, two_workers):
    store = Store(tmp_path / "swept")
    runs = prepare(plan({**SMALL, "seed": 3}), store)
    ((key, run),) = runs.items()
    with connected(two_workers.address) as client:
        assert sweep(runs, store, client) == {}
    assert ensure(run, Store(tmp_path / "here"))[0] == key
    weights = [(tmp_path / place / key / "model.safetensors").read_bytes() for place in ("swept", "here")]
    assert weights[0] == weights[1]


@pytest.mark.cluster
def test_what_nobody_waits_for_is_given_up(tmp_path, two_workers):
    """A client stopped in the middle of a run of minutes leaves a worker that is free at once."""
    store = Store(tmp_path)
    runs = prepare(plan({**SMALL, "training": {"epochs": 700}, "grid": {"seed": [0, 1]}}), store)

    def stop(standing, key, error):
        time.sleep(5)  # a worker that has just started loads torch first
        raise KeyboardInterrupt

    with connected(two_workers.address) as client:
        client.wait_for_workers(2)
        with pytest.raises(KeyboardInterrupt):
            sweep(runs, store, client, report=stop)
        quick = prepare(plan({**SMALL, "training": {"epochs": 1}, "grid": {"seed": [0, 1]}}), store)
        began = time.perf_counter()
        assert sweep(quick, store, client) == {}
        assert time.perf_counter() - began < 15
    assert stored(tmp_path) == sorted(quick)


@pytest.mark.cluster
def test_a_lost_scheduler_is_one_clear_error(tmp_path):
    store = Store(tmp_path / "runs")
    runs = prepare(plan({**SMALL, "training": {"epochs": 100_000}}), store)
    with (
        cluster(tmp_path / "scratch", 0) as made,
        connected(made.address) as client,
        pytest.raises(HeedfulError, match="connection to the scheduler was lost with 1 runs left"),
    ):
        sweep(runs, store, client, report=lambda standing, key, error: made.scheduler.kill())
    assert not store.folder.exists()


@pytest.mark.cluster
def test_ctrl_c_on_a_cluster_of_our_own_says_how_many_are_left(tmp_path):
    file, runs = tmp_path / "study.toml", tmp_path / "runs"
    file.write_text(FILE.format(epochs=40))
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "sweep", str(file), "--runs", str(runs), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    while len(stored(runs)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"{12 - len(stored(runs))} of 12 runs are left" in output
    assert "stopped" in errors and "Traceback" not in errors
    assert not list(runs.glob(".*"))


def test_no_scheduler_is_the_users_error():
    with pytest.raises(SettingError, match="no Dask scheduler answers at 'nonsense"), connected("nonsense://1"):
        pass


@pytest.fixture
def one_done(tmp_path):
    """Two runs that differ in seed and kernels; the first is in the store."""
    store = Store(tmp_path / "runs")
    content = {**SMALL, "training": {"epochs": 1}, "network": {"embed_size": 7, "hidden_size": 5, "encoder": "cnn"}}
    runs = prepare(plan({**content, "runs": [{"network.kernels": [1, 3]}, {"seed": 1}]}), store)
    ensure(next(iter(runs.values())), store)
    return store, runs


def test_the_table_has_a_row_a_run_and_a_column_a_setting_that_varies(one_done):
    store, runs = one_done
    first, second = runs
    rows = table(runs, store, {second: "no luck"}, found=[first])
    assert rows.columns[:6] == ["key", "network.kernels", "seed", "status", "error", "accuracy"]
    assert rows.columns[-1] == "seconds"
    assert rows.select("key", "network.kernels", "seed", "status", "error").rows() == [
        (first, "[1, 3]", 0, "found", None),
        (second, "[1, 3, 5, 7]", 1, "failed", "no luck"),
    ]
    assert rows["accuracy"][0] == store.read(first).scores["test"]["accuracy"] and rows["accuracy"][1] is None
    assert table(runs, store, {})["status"].to_list() == ["done", "left"]


def test_the_estimate_goes_by_runs_that_differ_in_the_seed_alone_then_by_data_and_encoder(one_done):
    store, runs = one_done
    first, second = runs.values()
    (described,) = store.listing()[0].values()
    slow = described.model_copy(update={"run": second.model_copy(update={"seed": 5}), "seconds": 60.0})
    assert expected_seconds(second, [described, slow]) == 60.0
    assert expected_seconds(second, [described]) == described.seconds
    assert (
        expected_seconds(first.model_copy(update={"data": first.data.model_copy(update={"source": "x"})}), [slow])
        is None
    )


def heedful(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_a_dry_run_lists_and_estimates_and_does_nothing(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(FILE.format(epochs=1))
    result = heedful(file, "--runs", tmp_path / "runs", "--dry-run", "--out", tmp_path / "table.parquet")
    assert result.exit_code == 0
    assert "12 of 12 runs are left" in result.output and "time is not known" in result.output
    assert pl.read_parquet(tmp_path / "table.parquet")["status"].to_list() == ["left"] * 12
    assert not (tmp_path / "runs").exists()
    run = next(iter(prepare(plan({**SMALL, "training": {"epochs": 1}}), Store(tmp_path)).values()))
    network = run.network.model_copy(update={"encoder": "average"})
    ensure(run.model_copy(update={"network": network}), Store(tmp_path / "runs"))
    result = heedful(file, "--runs", tmp_path / "runs", "--dry-run", "--workers", "2")
    assert "11 runs to do: about" in result.output and "on 2 workers (by the 5 that" in result.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("'training.epochs' = [1, 'many']", "study.toml: setting 'training.epochs'"),
        ("'network.encodr' = ['cnn']", "study.toml: setting 'network.encodr'"),
        ("'network.encoder' = ['cn']", "study.toml: unknown encoder 'cn'"),
    ],
)
def test_an_error_names_the_file_and_the_setting(tmp_path, line, message):
    file = tmp_path / "study.toml"
    file.write_text(f"[grid]\n{line}\n")
    result = heedful(file, "--runs", tmp_path)
    assert isinstance(result.exception, SettingError) and message in str(result.exception)


def test_the_table_goes_to_csv_or_parquet_only(tmp_path):
    result = heedful(tmp_path / "study.toml", "--out", "table.xlsx")
    assert isinstance(result.exception, SettingError) and "'table.xlsx'" in str(result.exception)
