"""A Dask scheduler and workers as processes of their own, over TCP on loopback; and small runs for them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.waiting import wait_until

SMALL = {
    "data": {"source": "mock-1", "train_limit": 200, "test_limit": 50},
    "network": {"embed_size": 8, "hidden_size": 5},
    "training": {"epochs": 10},
}
GRID = {"network.encoder": ["average", "bilstm"], "seed": [0, 1, 2]}
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
seed = [0, 1, 2]
"""
"""SMALL with GRID, as a file."""

ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}


def start(*arguments: str) -> subprocess.Popen:
    """A Python module as a process that says nothing."""
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )


class Cluster:
    """A scheduler process and worker processes, each killed by its number."""

    def __init__(self, folder: Path):
        self.folder, self.workers = folder, []
        self.file = folder / "scheduler.json"
        place = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        self.scheduler = start("distributed.cli.dask_scheduler", *place)
        self.address: str = wait_until(self.written_address, "the scheduler's file")

    def written_address(self) -> str:
        """Where the scheduler is, once it has written so; empty before."""
        try:
            return json.loads(self.file.read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):
            return ""

    def add_workers(self, count: int) -> None:
        place = ["--host", "127.0.0.1", "--no-dashboard", "--no-nanny", "--nthreads", "1"]
        place += ["--local-directory", str(self.folder)]
        self.workers += [start("distributed.cli.dask_worker", self.address, *place) for _ in range(count)]

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    folder.mkdir()
    made = Cluster(folder)
    try:
        made.add_workers(workers)
        yield made
    finally:
        made.close()


def stored(folder: Path) -> list[str]:
    """The keys of the runs in a folder."""
    return sorted(path.name for path in folder.glob("[0-9a-f]*") if (path / "run.json").is_file())
