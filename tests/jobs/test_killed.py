"""A killed process loses only what it was in."""

import json
import os
import pty
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import support.dying_training
from heedful.store.store import Store
from support.waiting import PATIENCE, wait_until

SMALL = ["mock-1", "--encoder", "average", "--set", "data.train_limit=200", "--set", "data.test_limit=50"]
SMALL += ["--set", "network.embed_size=8"]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}


@pytest.fixture
def do(tmp_path) -> Iterator[Callable[..., list[int]]]:
    """The exit codes of trainings at the same time, each given by its seed and the step at which it kills itself."""
    process = subprocess.Popen(
        [sys.executable, support.dying_training.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None

    def call(*trainings: tuple[int, int]) -> list[int]:
        own = ["--epochs", "1", "--runs", str(tmp_path / "runs")]
        calls = [
            [str(last), str(tmp_path / f"counts {seed}"), *SMALL, *own, "--seed", str(seed)] for seed, last in trainings
        ]
        process.stdin.write(json.dumps(calls) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield call
    process.stdin.close()
    process.wait(PATIENCE)
    process.stdout.close()


def stored_seeds(folder: Path) -> list[int]:
    """The seeds of all runs, each of which must be whole."""
    store = Store(folder / "runs")
    runs, problems = store.listing()
    assert problems == []
    for key in runs:
        store.load(key)
    return sorted(described.run.seed for described in runs.values())


@pytest.mark.slow
def test_kills_leave_complete_runs_only_and_the_next_call_finishes(tmp_path, do):
    """Two processes at a time, which write the same run; each is killed at some step of its own."""
    assert do((0, 0)) == [0]
    trained, steps = map(int, (tmp_path / "counts 0").read_text().split())
    assert 0 < trained < steps - 5
    dice = random.Random(0)
    for seed in range(1, 5):
        # Steps of saving as often as all the others together.
        codes = {*do(*((seed, dice.randint(*span)) for span in ((1, steps), (trained + 1, steps))))}
        assert -signal.SIGKILL in codes and codes <= {0, -signal.SIGKILL}
        stored_seeds(tmp_path)
    lost = [seed for seed in range(1, 5) if seed not in stored_seeds(tmp_path)]
    assert lost
    assert do(*((seed, 0) for seed in lost[:2])) == [0] * len(lost[:2])
    assert do((5, 0)) == [0]  # saving clears away what the killed ones left
    assert set(stored_seeds(tmp_path)) == {*range(6)} - {*lost[2:]}
    assert not [path for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")]


class Terminal:
    """A terminal for a process to draw its progress on."""

    def __init__(self):
        self.outer, self.inner = pty.openpty()
        os.set_blocking(self.outer, False)
        self.shown = ""

    def read(self) -> str:
        """All that was written so far; a terminal that nobody reads would stop its writer."""
        with suppress(BlockingIOError):
            while part := os.read(self.outer, 65_536):
                self.shown += part.decode(errors="replace")
        return self.shown


@pytest.mark.slow
def test_ctrl_c_stops_training_and_leaves_no_half_run(tmp_path):
    terminal = Terminal()
    endless = ["--epochs", "100000", "--runs", str(tmp_path / "runs")]
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", "train", *SMALL, *endless],
        stdout=subprocess.DEVNULL,
        stderr=terminal.inner,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "200"},
    )

    def has_ended() -> bool:
        terminal.read()
        return process.poll() is not None

    try:
        wait_until(lambda: has_ended() or " of 100000" in terminal.shown, "an epoch on the terminal")
        assert not has_ended()
        process.send_signal(signal.SIGINT)
        wait_until(has_ended, "the end of the process")
    finally:
        process.kill()
    assert process.wait() == 130
    assert "stopped" in terminal.read() and "Traceback" not in terminal.shown
    assert not (tmp_path / "runs").exists()
