"""Who does jobs: this process; processes of this machine, which write into the store; or a Dask cluster elsewhere."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from heedful.errors import HeedfulError, SettingError
from heedful.jobs.request import Job
from heedful.jobs.work import Tick, do
from heedful.store.folders import Files, files_in, reason, write_files
from heedful.store.store import Store

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """How far a job is.

    Args:
        what: "epoch 2 of 8" or "auditing".
        done, total: batches, or texts.
    """

    key: str
    what: str
    done: int
    total: int


Progress = Callable[[Step], None]
PAUSE = 0.5
"""Seconds between two reports of one process."""
TOPIC = "heedful-progress"

ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "OMP_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
}
"""What a process is started with: one thread, which waits without spinning; and memory that is kept for the next batch.

To hand freed memory back to the system at once slows training down.
"""


@contextmanager
def open_executor(
    store: Store,
    workers: int = 1,
    scheduler: str | None = None,
    *,
    device: str = "cpu",
    progress: Progress | None = None,
) -> "Iterator[JobExecutor]":
    """An executor with `workers` processes (1: this process), or a Dask cluster.

    On exit, unfinished work in other processes is given up.

    Args:
        scheduler: address of the cluster.
        progress: called, perhaps from another thread, with how far each job is.
    """
    progress = progress or (lambda step: None)
    if scheduler is not None:
        with dask_client(scheduler) as client:
            cluster = DaskCluster(client, store, device, progress)
            if not cluster.workers():
                start = f"dask worker {scheduler} --nthreads 1"
                log.warning("the cluster at %s has no worker yet and is waited for. Start one: %s", scheduler, start)
            try:
                yield cluster
            finally:
                cluster.close()
    elif workers > 1:
        processes = LocalProcesses(store, device, progress)
        try:
            with _interrupts_held():
                processes.start(workers)
            yield processes
        finally:
            with _interrupts_held():
                processes.close()
    else:
        yield ThisProcess(store, device, progress)


@contextmanager
def open_pool(workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """Processes for calls that only return something: a cluster, or `workers` on this machine (None: one per core)."""
    if scheduler is not None:
        with dask_client(scheduler) as client:
            yield client.get_executor(pure=False)
        return
    with _interrupts_held():
        processes = _Processes(workers or cores())
    try:
        yield processes.pool
    finally:
        processes.close()


def cores() -> int:
    """How many processes this machine runs at a time."""
    from dask.system import CPU_COUNT

    return CPU_COUNT


class ThisProcess:
    """Does each job as it is submitted."""

    def __init__(self, store: Store, device: str, progress: Progress):
        self.store, self.device, self.progress = store, device, progress

    def workers(self) -> int:
        """One."""
        return 1

    most = workers

    def submit(self, job: Job) -> Future[None]:
        """Do the job; what is wrong with its settings or data is kept for `take`."""
        future = Future[None]()
        try:
            do(job, self.store, self.device, lambda *step: self.progress(Step(job.key, *step)))
            future.set_result(None)
        except HeedfulError as error:
            future.set_exception(error)
        return future

    def take(self, job: Job, future: Future[None]) -> None:
        """Raise what the job raised."""
        future.result()


class LocalProcesses:
    """Processes of this machine. Each is a pool of its own: if one dies, it is known which job it was doing."""

    def __init__(self, store: Store, device: str, progress: Progress):
        self.places = store.folder.resolve(), store.audits.resolve()
        self.device, self.progress = device, progress
        self.idle: list[_Processes] = []
        self.busy: dict[Future[None], _Processes] = {}

    def start(self, count: int) -> None:
        """Start `count` more."""
        self.idle += [_Processes(1, self.progress) for _ in range(count)]

    def workers(self) -> int:
        """All that were started."""
        return len(self.idle) + len(self.busy)

    most = workers

    def submit(self, job: Job) -> Future[None]:
        """Hand the job to a process that has nothing to do."""
        process = self.idle.pop()
        try:
            future = process.pool.submit(_do_beside, job, *self.places, self.device)
        except BrokenExecutor as error:  # it broke in the meantime
            future = Future[None]()
            future.set_exception(error)
        self.busy[future] = process
        return future

    def take(self, job: Job, future: Future[None]) -> None:
        """Raise what the job raised; a process that died is replaced."""
        process = self.busy.pop(future)
        try:
            future.result()
        except BrokenExecutor:
            process.close()
            with _interrupts_held():
                process = _Processes(1, self.progress)
            raise
        finally:
            self.idle.append(process)

    def close(self) -> None:
        """End all processes at once, whatever they do."""
        for process in (*self.idle, *self.busy.values()):
            process.close()


class DaskCluster:
    """A Dask cluster that shares no disk with us: runs are sent to it, and what it makes comes back.

    Whatever is made of files that it made, and of them alone, is done here.
    """

    def __init__(self, client: "Client", store: Store, device: str, progress: Progress):
        self.client, self.store, self.device = client, store, device
        self.executor = client.get_executor(pure=False)  # what failed before is tried again
        self.here = ThisProcess(store, device, progress)
        client.subscribe_topic(TOPIC, lambda event: progress(Step(*event[1])))

    def workers(self) -> int:
        """Its threads."""
        return sum(self.client.nthreads().values())  # pyright: ignore[reportAttributeAccessIssue]

    def most(self) -> int:
        """Few enough that the models that jobs refer to do not fill the scheduler's memory."""
        return max(64, 4 * self.workers())

    def submit(self, job: Job) -> Future[Files]:
        """Send the job, with the runs that it needs: a worker that dies then loses nothing that was trained."""
        if job.kind in ("join", "pool"):
            return self.here.submit(job)  # pyright: ignore[reportReturnType]
        import dask.config

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            needed = {key: files_in(self.store.folder / key) for key in job.needs}
            # Audits go first: a worker still has their data from the run before.
            priority = int(job.kind != "train")
            return self.executor.submit(_do_elsewhere, job, needed, self.device, priority=priority)

    def take(self, job: Job, future: Future[Files]) -> None:
        """Store the files that came back."""
        from distributed.scheduler import KilledWorker

        try:
            files = future.result()
        except KilledWorker:
            raise HeedfulError("every worker that took this run died; is memory short?") from None
        if files is not None:
            place = job.place(self.store)
            write_files(files, place, replace=place.is_dir() and job.problem(self.store) is not None)

    def close(self) -> None:
        """Give up unfinished work."""
        self.executor.shutdown(wait=False)
        with suppress(OSError, RuntimeError):
            self.client.unsubscribe_topic(TOPIC)


JobExecutor = ThisProcess | LocalProcesses | DaskCluster
"""An executor of jobs: `workers()` at a time, `most()` submitted; `submit` begins one, and `take` stores its result."""


@contextmanager
def dask_client(scheduler: str) -> "Iterator[Client]":
    """A client of the cluster at that address."""
    from distributed import Client
    from distributed.security import Security

    # A client that fails because credentials are missing is never closed: it would block the next one.
    if scheduler.startswith("tls://") and not Security().get_connection_args("client").get("ssl_context"):
        raise _no_scheduler(scheduler, "it demands TLS credentials")
    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _no_scheduler(scheduler, reason(error)) from None
    with client:
        yield client


def _no_scheduler(address: str, why: str) -> SettingError:
    return SettingError(
        f"--scheduler must be the address of a running Dask scheduler; none answers at '{address}': {why}. Start one "
        "(`dask scheduler`), or leave the option out. One with TLS needs its credentials in Dask's configuration."
    )


class _Processes:
    """A pool of processes that end at once when this process closes it, or is no more.

    Args:
        progress: called with the steps of a pool of one.
    """

    def __init__(self, count: int, progress: Progress = lambda step: None):
        waits, self.lives = multiprocessing.Pipe(duplex=False)
        self.steps, steps = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(count, context, initializer=_begin, initargs=(waits, steps))
        before = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        try:
            for _ in range(count):  # a call starts a process
                self.pool.submit(os.getpid)
        finally:
            for name, value in before.items():
                _ = os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        waits.close()
        steps.close()
        self.thread = threading.Thread(target=self._hear, args=(progress,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        """End the processes."""
        self.lives.close()
        self.pool.shutdown(cancel_futures=True)
        self.thread.join()
        self.steps.close()

    def _hear(self, progress: Progress) -> None:
        """Pass steps on, until the processes have closed their end."""
        with suppress(EOFError, OSError):
            while True:
                progress(Step(*self.steps.recv()))


_STEPS: Any = None
"""In a process that was started for others: where it says how far it is."""


def _begin(client: Any, steps: Any) -> None:
    """What a process does first.

    Args:
        client: closed if this process is no longer needed.
        steps: where it says how far it is.
    """
    global _STEPS
    _STEPS = steps
    threading.Thread(target=_end_with, args=(client,), daemon=True).start()
    import torch

    torch.set_num_threads(1)


def _end_with(client: Any) -> None:
    """End this process as soon as it is no longer needed: folders are whole or not there, so nothing breaks."""
    with suppress(EOFError, OSError):
        client.recv()
    os._exit(1)


def _do_beside(job: Job, runs: Path, audits: Path, device: str) -> None:
    """What a process of this machine does: the job, in our store."""
    assert _STEPS is not None
    do(job, Store(runs, audits), device, _ticker(job.key, _STEPS.send))


def _do_elsewhere(job: Job, needed: dict[str, Files], device: str) -> Files:
    """What a worker does that may share no disk with us: the job, in a store of its own; the files of its folder."""
    import torch
    from distributed import get_worker

    torch.set_num_threads(1)
    worker = get_worker()
    task = worker.state.tasks[str(worker.get_current_task())]
    tell = _ticker(job.key, lambda step: worker.log_event(TOPIC, step))

    def tick(what: str, done: int, total: int) -> None:
        if task.state == "cancelled":
            raise Stopped(f"{job.key} was canceled")
        tell(what, done, total)

    with TemporaryDirectory() as parent:
        store = Store(Path(parent) / "runs", Path(parent) / "audits")
        for name, files in needed.items():
            write_files(files, store.folder / name)
        do(job, store, device, tick)
        return files_in(job.place(store))


class Stopped(Exception):
    """This job is no longer needed."""


def _ticker(key: str, send: Callable[[Any], object]) -> Tick:
    """What a job calls as it goes: tells the client now and then how far it is."""
    last = 0.0

    def tick(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > PAUSE:
            last = time.monotonic()
            send((key, what, done, total))

    return tick


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits until this is over, and processes that are started inside never hear it.

    A terminal sends it to all, but it is the client that ends the others.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hands signals to its main thread alone
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number)) or signal.default_int_handler
    resource_tracker.ensure_running()  # which would unblock the signal again, were it started inside
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)
