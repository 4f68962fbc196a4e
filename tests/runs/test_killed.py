"""A killed process loses only what it was in."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from heedful.runs.store import Store

COMMAND = [sys.executable, "-m", "heedful", "train", "mock-1", "--encoder", "average", "--epochs"]
SMALL = ["--set", "data.train_limit=200", "--set", "data.test_limit=50", "--set", "network.embed_size=8"]


def start(folder, seed, epochs="1"):
    return subprocess.Popen(
        [*COMMAND, epochs, *SMALL, "--seed", str(seed), "--runs", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
    )


@pytest.mark.slow
def test_twenty_kills_leave_complete_runs_only_and_the_next_call_finishes(tmp_path):
    """Two processes at a time, which may well write the same run."""
    began = time.perf_counter()
    assert [process.wait() for process in (start(tmp_path, 0), start(tmp_path, 0))] == [0, 0]
    whole = time.perf_counter() - began
    dice = random.Random(0)
    for kill in range(10):
        # Late moments, where saving happens, as often as all the others together.
        moments = sorted((dice.uniform(0, whole), dice.uniform(0.85, 1.1) * whole))
        processes = [start(tmp_path, seed=1 + kill % 3) for _ in moments]
        waited = 0.0
        for process, moment in zip(processes, moments, strict=True):
            time.sleep(moment - waited)
            waited = moment
            process.send_signal(signal.SIGKILL)
            process.wait()
        runs, problems = Store(tmp_path).listing()
        assert problems == []
        for key in runs:
            Store(tmp_path).load(key)
    assert [process.wait() for process in (start(tmp_path, 1), start(tmp_path, 2))] == [0, 0]
    assert start(tmp_path, 3).wait() == 0
    assert start(tmp_path, 4).wait() == 0  # saving clears away what the killed ones left
    runs, problems = Store(tmp_path).listing()
    assert sorted(described.run.seed for described in runs.values()) == [0, 1, 2, 3, 4]
    assert problems == []
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_ctrl_c_stops_at_once_and_leaves_no_half_run(tmp_path):
    errors = tmp_path / "errors.txt"
    with errors.open("w") as stream:
        process = subprocess.Popen(
            [*COMMAND, "1000", *SMALL, "--runs", str(tmp_path / "runs")], stdout=subprocess.DEVNULL, stderr=stream
        )
        time.sleep(8)
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        assert process.wait(timeout=10) == 130
    assert time.perf_counter() - began < 3
    assert "stopped" in errors.read_text()
    assert not (tmp_path / "runs").exists()
