"""A killed process loses only what it was in."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from heedful.store import Store

COMMAND = [sys.executable, "-m", "heedful", "train", "mock-1", "--encoder", "average", "--epochs", "1"]
SMALL = ["--set", "data.train_limit=200", "--set", "data.test_limit=50", "--set", "network.embed_size=8"]


def start(folder, seed):
    return subprocess.Popen(
        [*COMMAND, *SMALL, "--seed", str(seed), "--runs", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
    )


@pytest.mark.slow
def test_twenty_kills_leave_complete_runs_only_and_the_next_call_finishes(tmp_path):
    began = time.perf_counter()
    assert start(tmp_path, seed=0).wait() == 0
    whole = time.perf_counter() - began
    dice = random.Random(0)
    for kill in range(20):
        # Late moments, where saving happens, as often as all the others together.
        moment = dice.uniform(0, whole) if kill % 2 else dice.uniform(0.85, 1.1) * whole
        process = start(tmp_path, seed=1 + kill % 3)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        _, problems = Store(tmp_path).listing()
        assert problems == []
        for key in Store(tmp_path).listing()[0]:
            Store(tmp_path).load(key)
    for seed in (1, 2, 3):
        assert start(tmp_path, seed).wait() == 0
    runs, problems = Store(tmp_path).listing()
    assert sorted(described.run.seed for described in runs.values()) == [0, 1, 2, 3]
    assert problems == []
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_ctrl_c_stops_at_once_and_leaves_no_half_run(tmp_path):
    process = subprocess.Popen(
        [*COMMAND[:-1], "1000", *SMALL, "--runs", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=5)
    assert process.returncode == 130
    assert b"stopped" in errors
    assert list(tmp_path.iterdir()) == []
