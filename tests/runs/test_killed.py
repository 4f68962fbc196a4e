"""A killed process loses only what it was in."""

import os
import pty
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import support.dying_training
from heedful.runs.store import Store
from support.waiting import PATIENCE, wait_until

SMALL = ["mock-1", "--encoder", "average", "--set", "data.train_limit=200", "--set", "data.test_limit=50"]
SMALL += ["--set", "network.embed_size=8"]
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}


def start(folder: Path, seed: int, last: int = 0) -> subprocess.Popen:
    """A training that kills itself at its last step; 0: it comes to its end."""
    arguments = [str(last), str(folder / f"counts {seed}"), *SMALL, "--epochs", "1", "--seed", str(seed)]
    return subprocess.Popen(
        [sys.executable, support.dying_training.__file__, *arguments, "--runs", str(folder / "runs")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )


def finish(folder: Path, *seeds: int) -> None:
    processes = [start(folder, seed) for seed in seeds]
    assert [process.wait(PATIENCE) for process in processes] == [0] * len(seeds)


def stored_seeds(folder: Path) -> list[int]:
    """The seeds of all runs, each of which must be whole."""
    store = Store(folder / "runs")
    runs, problems = store.listing()
    assert problems == []
    for key in runs:
        store.load(key)
    return sorted(described.run.seed for described in runs.values())


@pytest.mark.slow
def test_twenty_kills_leave_complete_runs_only_and_the_next_call_finishes(tmp_path):
    """Two processes at a time, which write the same run; each is killed at some step of its own."""
    finish(tmp_path, 0)
    trained, steps = map(int, (tmp_path / "counts 0").read_text().split())
    assert 0 < trained < steps - 5
    dice = random.Random(0)
    for seed in range(1, 11):
        # Steps of saving as often as all the others together.
        processes = [start(tmp_path, seed, dice.randint(*span)) for span in ((1, steps), (trained + 1, steps))]
        codes = {process.wait(PATIENCE) for process in processes}
        assert -signal.SIGKILL in codes and codes <= {0, -signal.SIGKILL}
        stored_seeds(tmp_path)
    lost = [seed for seed in range(1, 11) if seed not in stored_seeds(tmp_path)]
    assert lost
    finish(tmp_path, *lost[:2])
    finish(tmp_path, 11)  # saving clears away what the killed ones left
    assert set(stored_seeds(tmp_path)) == {*range(12)} - {*lost[2:]}
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
