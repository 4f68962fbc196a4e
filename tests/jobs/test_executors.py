"""Processes of this machine: closed to Ctrl-C, gone with who started them; and clusters of others."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path

import pytest

from heedful.errors import SettingError
from heedful.jobs.executors import Step, _Processes, open_executor, open_pool
from heedful.jobs.request import Job
from heedful.store.store import Store
from support.cluster import ENVIRONMENT
from support.waiting import wait_until


def blocked_signals() -> set[signal.Signals]:
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def is_gone(process: int) -> bool:
    """Whether a process ended; of one that nobody waited for a zombie is left."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("address", ["nonsense://1", "tls://127.0.0.1:1"])
def test_no_scheduler_is_the_users_error(tmp_path, address):
    with (
        pytest.raises(SettingError, match=f"none answers at '{address}'.*Start one"),
        open_executor(Store(tmp_path), scheduler=address),
    ):
        pass


@pytest.mark.cluster
def test_a_pool_does_calls_and_its_processes_end_with_it():
    with open_pool(2) as pool:
        assert sorted(pool.map(abs, [-3, 4])) == [3, 4]
        assert signal.SIGINT in pool.submit(blocked_signals).result() and signal.SIGINT not in blocked_signals()
        processes = {pool.submit(os.getpid).result() for _ in range(9)}
        endless = pool.submit(time.sleep, 600)
    with pytest.raises((BrokenExecutor, CancelledError)):
        endless.result()
    wait_until(lambda: all(map(is_gone, processes)), "the end of both")


STARTS = """
import os, time
from heedful.jobs.executors import open_pool

if __name__ == "__main__":
    with open_pool(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


@pytest.mark.cluster
def test_processes_end_where_the_one_that_started_them_is_killed(tmp_path):
    (tmp_path / "starts.py").write_text(STARTS)
    client = subprocess.Popen([sys.executable, tmp_path / "starts.py"], stdout=subprocess.PIPE, env=ENVIRONMENT)
    worker = int(client.stdout.readline())
    assert not is_gone(worker)
    client.kill()
    client.communicate()
    wait_until(lambda: is_gone(worker), "the end of the worker")


@pytest.mark.cluster
def test_a_ctrl_c_while_processes_start_waits_until_they_can_be_ended(tmp_path, monkeypatch):
    closed, close = [], _Processes.close

    class Interrupted(_Processes):
        def __init__(self, *given):
            os.kill(os.getpid(), signal.SIGINT)
            super().__init__(*given)

        def close(self):
            closed.append(self)
            close(self)

    monkeypatch.setattr("heedful.jobs.executors._Processes", Interrupted)
    with pytest.raises(KeyboardInterrupt), open_executor(Store(tmp_path), 2):
        pytest.fail("started although it was stopped")
    assert len(closed) == 2


def test_in_this_process_a_job_is_done_as_it_is_submitted(tmp_path, monkeypatch):
    def fake(job, store, device, tick):
        tick("epoch 1 of 2", 1, 4)
        if job.key == "bad":
            raise SettingError("wrong")

    monkeypatch.setattr("heedful.jobs.executors.do", fake)
    steps = []
    with open_executor(Store(tmp_path), progress=steps.append) as executor:
        for key in ("good", "bad"):
            assert executor.submit(Job(key, "train", "")).done()
        with pytest.raises(SettingError, match="wrong"):
            executor.take(Job("bad", "train", ""), executor.submit(Job("bad", "train", "")))
    assert steps[0] == Step("good", "epoch 1 of 2", 1, 4) and len(steps) == 3
