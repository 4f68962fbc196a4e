"""Many runs on a real cluster: a scheduler and workers that this file starts, over TCP on loopback."""

import os
import signal
import subprocess
import sys

import polars as pl
import pytest
from distributed import Client
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError
from heedful.jobs.executors import connected
from heedful.jobs.planning import unique_runs
from heedful.jobs.request import AuditRequest
from heedful.jobs.result_table import result_table
from heedful.jobs.running import sweep, tasks_of
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import ensure
from heedful.report import read_audit
from heedful.settings import AuditSettings, DataSettings, Run, TrainingSettings, key_of
from heedful.settings.comparison_models import ComparisonModels
from heedful.settings.validation import update_settings
from heedful.store.store import Store
from heedful.training.teachers import teachers_of
from support.cluster import ENVIRONMENT, FILE, GRID, SMALL, cluster, start, stored
from support.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster") / "scratch", 2) as made:
        yield made


@pytest.mark.cluster
def test_a_worker_killed_in_the_middle_costs_nothing_but_time(tmp_path, two_workers):
    store = Store(tmp_path / "runs")
    runs = unique_runs(expand_grid({**SMALL, "grid": GRID}), store)
    ended = []
    with connected(two_workers.address) as client:
        client.wait_for_workers(2)
        victim = two_workers.workers.pop()

        def kill_one_after_two(status, key, error):
            ended.append(key)
            if status.done == 2:
                victim.send_signal(signal.SIGKILL)

        assert sweep(runs, store, client, report=kill_one_after_two) == {}
        assert victim.wait() == -signal.SIGKILL
    two_workers.add_workers(1)
    assert sorted(ended[1:]) == sorted(runs) == stored(store.folder) and len(runs) == 6
    assert store.listing()[1] == []
    assert not list(store.folder.glob(".*"))


@pytest.mark.cluster
def test_a_killed_client_leaves_what_was_done_and_the_next_does_only_the_rest(tmp_path, two_workers):
    file, runs, out = tmp_path / "study.toml", tmp_path / "runs", tmp_path / "table.csv"
    file.write_text(FILE.format(epochs=10))
    command = ["heedful", "sweep", str(file), "--runs", str(runs), "--scheduler", two_workers.address]
    client = start(*command)
    wait_until(lambda: client.poll() is not None or len(stored(runs)) >= 2, "two finished runs")
    assert client.poll() is None
    client.kill()
    client.wait()
    before = stored(runs)
    assert 2 <= len(before) < 6
    again = CliRunner().invoke(app, [*command[1:], "--out", str(out)])
    assert again.exit_code == 0
    done = [line.split()[1] for line in again.stderr.splitlines() if line.startswith("done ")]
    rows = pl.read_csv(out)
    assert sorted(rows.filter(pl.col("status") == "cached")["key"]) == before
    assert sorted(rows.filter(pl.col("status") == "done")["key"]) == sorted(set(stored(runs)) - set(before))
    assert sorted(done) == sorted(set(stored(runs)) - set(before))
    assert len(rows) == len(stored(runs)) == 6


@pytest.mark.cluster
def test_a_run_that_raises_is_reported_once_and_the_others_are_there(tmp_path, two_workers):
    store = Store(tmp_path)
    runs = unique_runs(expand_grid({**SMALL, "training": {"epochs": 1}, "grid": GRID}), store)
    wild, *others = runs
    planned = [*(runs[key] for key in others)]
    planned.append(update_settings(runs[wild], {"training": TrainingSettings(epochs=2, learning_rate=1e38)}))
    runs = unique_runs(planned, store)
    bad = list(runs)[-1]

    def tries(dask_scheduler):
        return sum(line[0].startswith("_train") and line[2] == "processing" for line in dask_scheduler.transition_log)

    with connected(two_workers.address) as client:
        before = client.run_on_scheduler(tries)
        errors = sweep(runs, store, client)
        assert client.run_on_scheduler(tries) - before == 6
    assert list(errors) == [bad] and "training loss became" in errors[bad]
    assert stored(tmp_path) == sorted(others) and len(others) == 5
    rows = result_table(runs, store, errors)
    assert rows["status"].to_list() == ["done"] * 5 + ["failed"]
    assert rows["error"].to_list() == [None] * 5 + [errors[bad]]


@pytest.mark.cluster
def test_base_runs_are_done_first_and_once_and_a_failing_one_fails_its_followers(tmp_path, two_workers):
    store = Store(tmp_path)
    content = {
        **SMALL,
        "runs": [{"training.learning_rate": 1e-3}, {"training.learning_rate": 1e38}],
        "grid": {"network.attention": ["frozen"], "network.encoder": ["average", "affine"]},
        "reference": {"network": {"attention": "additive", "encoder": "identity"}},
    }
    runs = unique_runs(expand_grid(content), store)
    good, bad = [key for key, run in runs.items() if run.reference is None]
    ended = []
    with connected(two_workers.address) as client:
        errors = sweep(runs, store, client, report=lambda status, key, error: ended.append(key))
    assert len(ended) == len(set(ended)) == 1 + 6
    followers = {key for key, run in runs.items() if run.reference == good}
    assert set(stored(tmp_path)) == {good} | followers and len(followers) == 2
    assert ended.index(good) < min(ended.index(key) for key in followers)
    assert set(errors) == {bad} | {key for key, run in runs.items() if run.reference == bad}
    assert sum(f"its base run {bad} failed" in error for error in errors.values()) == 2


@pytest.mark.cluster
def test_a_swept_run_is_the_run_that_train_would_have_stored(tmp_path, two_workers):
    store = Store(tmp_path / "swept")
    runs = unique_runs(expand_grid({**SMALL, "seed": 3}), store)
    ((key, run),) = runs.items()
    with connected(two_workers.address) as client:
        assert sweep(runs, store, client) == {}
    assert ensure(run, Store(tmp_path / "here"))[0] == key
    weights = [(tmp_path / place / key / "model.safetensors").read_bytes() for place in ("swept", "here")]
    assert weights[0] == weights[1]


def trainings(client: Client) -> int:
    """How many tasks of the cluster are inside the training loop at this moment."""
    stacks = [stack for tasks in client.call_stack().values() for stack in tasks.values()]
    return sum(any("training/loop.py" in frame for frame in stack) for stack in stacks)


@pytest.mark.cluster
def test_what_nobody_waits_for_is_given_up(tmp_path, two_workers):
    """A client stopped in the middle of endless runs leaves workers that are free again."""
    store = Store(tmp_path)
    runs = unique_runs(expand_grid({**SMALL, "training": {"epochs": 100_000}, "grid": {"seed": [0, 1]}}), store)
    with connected(two_workers.address) as client:
        client.wait_for_workers(2)

        def stop(status, key, error):
            wait_until(lambda: trainings(client) == 2, "two runs in training")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep(runs, store, client, report=stop)
        wait_until(lambda: trainings(client) == 0, "both runs given up")
        quick = unique_runs(expand_grid({**SMALL, "training": {"epochs": 1}, "grid": {"seed": [0, 1]}}), store)
        assert sweep(quick, store, client) == {}
    assert stored(tmp_path) == sorted(quick)


@pytest.mark.cluster
def test_a_lost_scheduler_is_one_clear_error(tmp_path):
    store = Store(tmp_path / "runs")
    runs = unique_runs(expand_grid({**SMALL, "training": {"epochs": 100_000}}), store)
    with (
        cluster(tmp_path / "scratch", 0) as made,
        connected(made.address) as client,
        pytest.raises(HeedfulError, match="connection to the scheduler was lost with 1 runs left"),
    ):
        sweep(runs, store, client, report=lambda status, key, error: made.scheduler.kill())
    assert not store.folder.exists()


@pytest.mark.cluster
def test_ctrl_c_on_a_cluster_of_our_own_says_how_many_are_left(tmp_path):
    file, runs = tmp_path / "study.toml", tmp_path / "runs"
    file.write_text(FILE.format(epochs=20))
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "sweep", str(file), "--runs", str(runs), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    wait_until(lambda: process.poll() is not None or len(stored(runs)) >= 1, "a finished run")
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"{6 - len(stored(runs))} of 6 runs are left" in output
    assert "stopped" in errors and "Traceback" not in errors
    assert not list(runs.glob(".*"))


@pytest.mark.cluster
def test_audits_are_made_once_their_runs_are_there(tmp_path, two_workers):
    store, folder = Store(tmp_path / "runs"), tmp_path / "audits"
    runs = unique_runs(expand_grid({**SMALL, "training": {"epochs": 1}, "grid": {"seed": [0, 1]}}), store)
    first, second = runs
    request = AuditRequest(
        run=first,
        data=runs[first].data.fingerprint,
        settings=AuditSettings(tests=("uniform",), shown=0),
        comparison_models=ComparisonModels(seeds=(second,)),
    )
    ended = []
    with connected(two_workers.address) as client:
        errors = sweep(
            runs,
            store,
            client,
            audits={request.key: request},
            folder=folder,
            report=lambda status, key, error: ended.append(key),
        )
    assert errors == {}
    assert ended[0] is None and ended[-1] == request.key and set(ended[1:-1]) == set(runs)
    assert {line.name for line in read_audit(folder / request.key).verdict.lines} == {"uniform", "seeds"}


def test_a_task_names_what_it_needs_and_where_it_goes(tmp_path):
    base = Run(data=DataSettings(fingerprint="f"))
    follower = update_settings(base, {"network.attention": "frozen", "reference": key_of(base)})
    request = AuditRequest(run=key_of(follower), data="f", comparison_models=ComparisonModels(reference=key_of(base)))
    runs = {key_of(run): run for run in (base, follower)}
    tasks = tasks_of(runs, Store(tmp_path / "runs"), {request.key: request}, tmp_path / "audits")
    assert {key: task.needs for key, task in tasks.items()} == {
        key_of(base): (),
        key_of(follower): (key_of(base),),
        request.key: (key_of(follower), key_of(base)),
    }
    assert tasks[key_of(base)].place == tmp_path / "runs" / key_of(base)
    assert tasks[request.key].place == tmp_path / "audits" / request.key
    assert Run.model_validate_json(tasks[key_of(follower)].settings) == follower
    assert AuditRequest.model_validate_json(tasks[request.key].settings) == request


def test_a_task_needs_its_teachers(tmp_path):
    run = Run(data=DataSettings(fingerprint="f"), training=TrainingSettings(method="ensemble"))
    teachers = tuple(key_of(each) for each in teachers_of(run))
    tasks = tasks_of({key_of(run): run}, Store(tmp_path))
    assert tasks[key_of(run)].needs == teachers and len(teachers) == 3


@pytest.mark.cluster
def test_teachers_are_done_before_their_student_and_sent_along(tmp_path, two_workers):
    store = Store(tmp_path / "swept")
    content = {**SMALL, "training": {"epochs": 1, "method": "ensemble", "options": {"teachers": 2}}}
    runs = unique_runs(expand_grid(content), store)
    ended = []
    with connected(two_workers.address) as client:
        errors = sweep(runs, store, client, report=lambda status, key, error: ended.append(key))
    assert errors == {} and len(runs) == 3 and ended[-1] == list(runs)[-1]
    student = list(runs.values())[-1]
    assert ensure(student, Store(tmp_path / "here"))[0] == ended[-1]
    weights = [(tmp_path / place / ended[-1] / "model.safetensors").read_bytes() for place in ("swept", "here")]
    assert weights[0] == weights[1]
