"""Workers: a Dask cluster of our own on this machine, or one that is running elsewhere."""

import logging
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import dask.config
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster
from distributed.security import Security

from heedful.errors import SettingError
from heedful.store.folders import HOST, is_alive, reason

WORKER_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
}
"""What a worker is started with: one thread, which waits without spinning; and memory that is kept for the next batch.

Dask's own choice hands freed memory back to the system at once, which slows training down.
"""

SETTINGS = {
    "distributed.nanny.pre-spawn-environ": WORKER_ENVIRONMENT,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Dask's settings for a cluster of our own. Its web servers cannot be turned off: they are given no page to show."""

SCRATCH = "heedful-workers-"
"""How the names of our workers' folders begin."""


@contextmanager
def connected(scheduler: str | None = None, *, workers: int | None = None) -> Iterator[Client]:
    """A client of the cluster at that address; without one, of our own: one worker a core, on loopback only.

    Other users of the machine reach loopback as well, and whoever is a client of a scheduler runs code as its owner:
    our own cluster talks to nobody without the credentials that are made for it, and lost with it.
    """
    with ExitStack() as stack:
        if scheduler is not None:
            yield stack.enter_context(_client_of(scheduler))
            return
        with _interrupts_held():
            client = stack.enter_context(_own_cluster(workers or CPU_COUNT))
        try:
            yield client
        finally:
            with _interrupts_held():
                stack.close()


def cores() -> int:
    """How many processes this machine runs at a time."""
    return CPU_COUNT


def has_workers(client: Client) -> bool:
    """Whether anybody works for that cluster at this moment."""
    return bool(client.nthreads())


def _client_of(scheduler: str) -> Client:
    # A client that fails for want of credentials is never closed: it would block the next one.
    if scheduler.startswith("tls://") and not Security().get_connection_args("client").get("ssl_context"):
        raise _no_scheduler(scheduler, "it demands TLS credentials")
    try:
        return Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _no_scheduler(scheduler, reason(error)) from None


def _no_scheduler(address: str, why: str) -> SettingError:
    return SettingError(
        f"--scheduler must be the address of a running Dask scheduler; none answers at '{address}': {why}. Start one "
        "(`dask scheduler`), or leave the option out. One with TLS needs its credentials in Dask's configuration."
    )


@contextmanager
def _own_cluster(workers: int) -> Iterator[Client]:
    with _private_folder() as folder:
        with dask.config.set(SETTINGS):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                security=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",  # whatever is free: another sweep may be running
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,  # a run needs what it needs: a pause or a kill would only repeat it
                silence_logs=logging.CRITICAL,
                local_directory=folder,
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _private_folder() -> Iterator[str]:
    """A folder for workers, which write and import files in it: nobody else may. Those of killed processes go."""
    for left in Path(gettempdir()).glob(f"{SCRATCH}{HOST}-*"):
        process = left.name.removeprefix(f"{SCRATCH}{HOST}-").partition("-")[0]
        with suppress(OSError):
            if left.lstat().st_uid == os.getuid() and process.isdecimal() and not is_alive(int(process)):
                shutil.rmtree(left, ignore_errors=True)
    prefix = f"{SCRATCH}{HOST}-{os.getpid()}-"
    with TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        yield folder


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until this is over: half a cluster can be neither used nor closed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hands signals to its main thread alone
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number)) or signal.default_int_handler
    try:
        with _deaf_children():
            yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started inside, or by threads that are, never hear Ctrl-C.

    A terminal sends it to all, but it is the client that stops the workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock the signal again, were it started inside
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
