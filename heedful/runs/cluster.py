"""Workers: a Dask cluster of our own on this machine, or one that is running elsewhere."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dask.config
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster

from heedful.errors import SettingError

WORKER_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
}
"""What a worker is started with: one thread, which waits without spinning; and memory that is kept for the next batch.

Dask's own choice hands freed memory back to the system at once, which slows training down.
"""

DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Run by each worker at its start: a terminal sends Ctrl-C to all, but it is the client that stops the workers."""


@contextmanager
def connected(scheduler: str | None = None, *, workers: int | None = None) -> Iterator[Client]:
    """A client of the cluster at that address; without one, of our own: one worker a core, on loopback only."""
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SettingError(f"no Dask scheduler answers at '{scheduler}': {error}") from None
        with client:
            yield client
        return
    with dask.config.set({"distributed.nanny.pre-spawn-environ": WORKER_ENVIRONMENT}):
        cluster = LocalCluster(
            n_workers=workers or CPU_COUNT,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # whatever is free: another sweep may be running
            memory_limit=0,  # a run needs what it needs: a pause or a kill at some share of memory would only repeat it
            silence_logs=logging.CRITICAL,
            preload=[DEAF],
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def cores() -> int:
    """How many processes this machine runs at a time."""
    return CPU_COUNT
