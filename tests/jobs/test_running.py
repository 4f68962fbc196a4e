"""Jobs done in this process, by processes of this machine, and by a Dask cluster: whatever dies, nothing is lost."""

import os
import signal
import subprocess
import sys
from collections import deque
from concurrent.futures import BrokenExecutor, Future, wait
from contextlib import suppress

import polars as pl
import pytest
from distributed import Client
from typer.testing import CliRunner

from heedful.cli import app
from heedful.errors import HeedfulError, SettingError
from heedful.jobs import running
from heedful.jobs.planning import plan_audits, plan_sweep
from heedful.jobs.request import Job
from heedful.jobs.result_table import result_table
from heedful.jobs.running import carry_out, check_done, run
from heedful.jobs.sweep_file import expand_grid
from heedful.jobs.work import ensure
from heedful.report import read_audit
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import update_settings, validate_settings
from heedful.store.folders import files_in
from heedful.store.store import Store
from support.cluster import ENVIRONMENT, FILE, GRID, SMALL, cluster, start, stored
from support.waiting import PATIENCE, wait_until

QUICK = {**SMALL, "training": {"epochs": 1}}
ENDLESS = {"epochs": 100_000, "patience": 0}


class Scripted:
    """An executor whose jobs end as told, in the order in which they were submitted.

    Args:
        ends: by key, what each attempt raises; None: nothing.
    """

    def __init__(self, ends=None, most=2):
        self.ends = {key: deque(own) for key, own in (ends or {}).items()}
        self.count, self.taken = most, []

    def workers(self):
        return self.count

    most = workers

    def submit(self, job):
        future = Future()
        future.set_result(None)
        return future

    def take(self, job, future):
        self.taken.append(job.key)
        if self.ends.get(job.key) and (error := self.ends[job.key].popleft()) is not None:
            raise error


def jobs(**needs):
    return {key: Job(key, "train", "", tuple(own.split())) for key, own in needs.items()}


def test_jobs_wait_for_what_they_need_and_followers_come_first():
    asked = jobs(base="elsewhere", other="", follower="base", last="follower other")
    executor, statuses = Scripted(most=1), []
    assert run(asked, executor, cached=3, report=lambda status, key, error: statuses.append(status)) == {}
    assert executor.taken == ["base", "follower", "other", "last"]
    assert [(status.cached, status.done, status.left) for status in statuses] == [(3, n, 4 - n) for n in range(5)]
    assert statuses[0].running == 1


def test_a_failure_fails_followers_alone_and_is_not_tried_again():
    asked = jobs(bad="", good="", odd="", follower="bad", last="follower good")
    executor, ended = Scripted({"bad": [SettingError("wrong")], "odd": [ZeroDivisionError("by 0")]}), []
    errors = run(asked, executor, report=lambda status, key, error: ended.append((key, error)))
    assert errors["bad"] == "wrong" and errors["odd"] == "ZeroDivisionError: by 0"
    assert errors["follower"] == "its base run bad failed: wrong"
    assert errors["last"] == "its base run follower failed: its base run bad failed: wrong"
    assert sorted(executor.taken) == ["bad", "good", "odd"]
    assert {key: error for key, error in ended if error} == errors and len(ended) == 6
    with pytest.raises(HeedfulError, match="4 runs and audits failed; the first: wrong What was done is kept"):
        check_done(errors)


def test_a_job_whose_process_died_is_done_by_another_unless_it_kills_them_all():
    died = BrokenExecutor("died")
    executor = Scripted({"unlucky": [died, died, None], "greedy": [died] * 9})
    assert run(jobs(unlucky="", greedy=""), executor) == {
        "greedy": "every worker that took this run died; is memory short?"
    }
    assert executor.taken.count("unlucky") == executor.taken.count("greedy") == 3


def test_a_wrong_name_is_said_before_anything_is_trained(tmp_path):
    store, base = Store(tmp_path / "runs", tmp_path / "audits"), validate_settings(Run, QUICK)
    for wrong in (
        {"tests": ("zzz",)},
        {"options": {"permutation": {"cont": 5}}},
        {"options": {"zzz": {}}},
        {"rankings": ("zzz",)},
    ):
        plan = plan_audits([base], validate_settings(AuditSettings, wrong), store)
        with pytest.raises(SettingError, match=r"'zzz'|'cont'"):
            carry_out(plan, store)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cluster
def test_processes_of_this_machine_make_the_same_folders(tmp_path, monkeypatch):
    """Small work is done here; in two processes, audits are made of their parts; all bytes of rows are the same."""
    base = update_settings(validate_settings(Run, QUICK), {"network.encoder": "average"})
    settings = AuditSettings(tests=("outcome", "permutation"), shown=3)
    made = []
    for name, workers in (("here", None), ("two", 2)):
        store, steps = Store(tmp_path / name / "runs", tmp_path / name / "audits"), []
        plan = plan_audits([base], settings, store, seeds=2)
        if workers is None:
            monkeypatch.setattr(running, "cores", lambda: pytest.fail("started"))
            monkeypatch.setattr(running, "cores", lambda: 1)
        check_done(carry_out(plan, store, workers=workers, progress=steps.append))
        monkeypatch.undo()
        assert plan.missing(store) == {} and steps
        assert not [path for folder in (store.folder, store.audits) for path in folder.glob(".*")]
        rows = {key: files_in(store.audits / key) for key in (*plan.audits, *plan.wanted)}
        weights = [files_in(store.folder / key)["model.safetensors"] for key in plan.runs]
        tables = ("rows.parquet", "outcomes.parquet", "examples.parquet")
        made.append((weights, {key: [files[table] for table in tables] for key, files in rows.items()}))
    assert made[0] == made[1]


@pytest.mark.cluster
def test_processes_that_are_killed_cost_nothing_but_time(tmp_path, monkeypatch):
    """One dies in the middle of each of two runs; others take their places."""
    store = Store(tmp_path / "runs", tmp_path / "audits")
    plan = plan_sweep(expand_grid({**SMALL, "grid": {"seed": [0, 1, 2]}}), None, store)
    killed = set()

    def kill(step):
        if step.key not in killed and len(killed) < 2:
            killed.add(step.key)
            for child in children():
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    assert carry_out(plan, store, workers=2, progress=kill) == {}
    assert len(killed) == 2 and stored(store.folder) == sorted(plan.runs) and not list(store.folder.glob(".*"))


def children():
    """The processes that this one started as workers."""
    ended = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "spawn_main"], capture_output=True, text=True)
    return [int(line) for line in ended.stdout.split()]


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster") / "scratch", 2) as made:
        yield made


def swept(content, store, made, report=None, audit=None):
    """The runs of a sweep, done by a cluster, and what failed."""
    plan = plan_sweep(expand_grid(content), audit, store)
    return plan, carry_out(plan, store, scheduler=made.address, in_parts=False, report=report)


@pytest.mark.cluster
def test_a_worker_killed_in_the_middle_costs_nothing_but_time(tmp_path, two_workers):
    store, ended = Store(tmp_path / "runs"), []
    with Client(two_workers.address, set_as_default=False) as client:
        client.wait_for_workers(2)
    victim = two_workers.workers.pop()

    def kill_one_after_two(status, key, error):
        ended.append(key)
        if status.done == 2:
            victim.send_signal(signal.SIGKILL)

    plan, errors = swept({**SMALL, "grid": GRID}, store, two_workers, kill_one_after_two)
    assert errors == {} and victim.wait() == -signal.SIGKILL
    two_workers.add_workers(1)
    assert sorted(ended[1:]) == sorted(plan.runs) == stored(store.folder) and len(plan.runs) == 6
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
def test_runs_that_raise_are_reported_once_with_their_followers_and_the_others_are_there(tmp_path, two_workers):
    store, ended = Store(tmp_path), []
    content = {
        **SMALL,
        "runs": [{"training.learning_rate": 1e-3}, {"training.learning_rate": 1e38}],
        "grid": {"network.attention": ["frozen"], "network.encoder": ["average", "affine"]},
        "reference": {"network": {"attention": "additive", "encoder": "identity"}},
    }
    plan, errors = swept(content, store, two_workers, lambda status, key, error: ended.append(key))
    good, bad = [key for key, run in plan.runs.items() if run.reference is None]
    assert len(ended) == len(set(ended)) == 1 + 6
    followers = {key for key, run in plan.runs.items() if run.reference == good}
    assert set(stored(tmp_path)) == {good} | followers and len(followers) == 2
    assert ended.index(good) < min(ended.index(key) for key in followers)
    assert set(errors) == {bad} | {key for key, run in plan.runs.items() if run.reference == bad}
    assert "training loss became" in errors[bad]
    assert sum(f"its base run {bad} failed" in error for error in errors.values()) == 2
    rows = result_table(plan.runs, store, errors)
    assert rows["status"].to_list().count("failed") == 3 and rows["error"].null_count() == 3


@pytest.mark.cluster
def test_a_swept_run_is_the_run_that_train_would_have_stored(tmp_path, two_workers):
    """Its teachers are done before it, and sent along; audits are made once their runs are there."""
    store = Store(tmp_path / "swept", tmp_path / "audits")
    taught = {"training": {"epochs": 1, "method": "ensemble", "options": {"teachers": 2}}}
    ended, audit = [], AuditSettings(tests=("uniform",), shown=0)
    plan, errors = swept({**SMALL, **taught}, store, two_workers, lambda status, key, error: ended.append(key), audit)
    student, (request,) = [*plan.runs][-1], plan.audits.values()
    assert errors == {} and len(plan.runs) == 3 and ended[-2:] == [student, request.key] and request.run == student
    assert ensure(plan.runs[student], Store(tmp_path / "here"))[0] == student
    weights = [(tmp_path / place / student / "model.safetensors").read_bytes() for place in ("swept", "here")]
    assert weights[0] == weights[1]
    assert [line.name for line in read_audit(store.audits / request.key).verdict.lines] == ["uniform"]


@pytest.mark.cluster
def test_a_cluster_makes_the_parts_of_an_audit_and_this_process_joins_and_pools_them(tmp_path, two_workers):
    store = Store(tmp_path / "runs", tmp_path / "audits")
    plan = plan_audits([validate_settings(Run, QUICK)], AuditSettings(tests=("uniform",), shown=3), store, seeds=2)
    check_done(carry_out(plan, store, scheduler=two_workers.address))
    assert plan.missing(store) == {} and {path.name for path in store.audits.iterdir()} == {*plan.audits, *plan.pools}


def trainings(client: Client) -> int:
    """How many tasks of the cluster are inside the training loop at this moment."""
    stacks = [stack for tasks in client.call_stack().values() for stack in tasks.values()]
    return sum(any("training/loop.py" in frame for frame in stack) for stack in stacks)


@pytest.mark.cluster
def test_what_nobody_waits_for_is_given_up(tmp_path, two_workers, monkeypatch):
    """A client stopped in the middle of endless runs leaves workers that are free again."""
    store = Store(tmp_path)
    with Client(two_workers.address, set_as_default=False) as client:
        client.wait_for_workers(2)

        def stop(*under_way, **how):
            wait_until(lambda: trainings(client) == 2, "two runs in training")
            raise KeyboardInterrupt

        monkeypatch.setattr(running, "wait", stop)
        with pytest.raises(KeyboardInterrupt):
            swept({**SMALL, "training": ENDLESS, "grid": {"seed": [0, 1]}}, store, two_workers)
        wait_until(lambda: trainings(client) == 0, "both runs given up")
    monkeypatch.undo()
    plan, errors = swept({**QUICK, "grid": {"seed": [0, 1]}}, store, two_workers)
    assert errors == {} and stored(tmp_path) == sorted(plan.runs)


@pytest.mark.cluster
def test_a_lost_scheduler_is_one_clear_error(tmp_path, monkeypatch):
    store = Store(tmp_path / "runs")
    with cluster(tmp_path / "scratch", 0) as made:

        def lose(*under_way, **how):
            made.scheduler.kill()
            return wait(*under_way, **how)

        monkeypatch.setattr(running, "wait", lose)
        with pytest.raises(HeedfulError, match="connection to the scheduler was lost with 1 runs left"):
            swept({**SMALL, "training": ENDLESS}, store, made)
    assert not store.folder.exists()


@pytest.mark.cluster
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_says_how_many_are_left(tmp_path, workers):
    file, runs = tmp_path / "study.toml", tmp_path / "runs"
    file.write_text(FILE.format(epochs=20))
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "sweep", str(file), "--runs", str(runs), "--workers", str(workers)],
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
    assert workers > 1 or not list(runs.glob(".*"))
