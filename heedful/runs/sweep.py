"""Many runs and audits: those not yet on disk are done by a Dask cluster and stored as they arrive."""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Future, as_completed, get_worker
from distributed.scheduler import KilledWorker

from heedful.auditing.request import AuditRequest
from heedful.errors import HeedfulError
from heedful.runs.audit_folders import audit_problem
from heedful.runs.folders import Files, files_in, write_files
from heedful.runs.store import Store, run_problem
from heedful.runs.worker import audit_run, needed_runs, train_run
from heedful.settings import Run
from heedful.training.trained import Progress as TrainingProgress

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepStatus:
    """Where a sweep stands, reported at its start and after every run."""

    cached: int
    """There before."""
    done: int
    failed: int
    running: int
    left: int
    """Not yet done, those running included."""


Report = Callable[[SweepStatus, str | None, str | None], None]
"""Called with the status, the key of the run that just ended (None at the start), and why it failed if it did."""


@dataclass(frozen=True)
class Step:
    """How far a worker is with one run or audit.

    Args:
        what: "epoch 2 of 8" or "auditing".
        done, total: batches, or texts.
    """

    key: str
    what: str
    done: int
    total: int


Progress = Callable[[Step], None]
TOPIC = "heedful-progress"
PAUSE = 0.5
"""Seconds between two reports of one worker."""


@dataclass(frozen=True)
class Task:
    """What a worker is asked to do: train a run, or measure one that is trained; the answer is the files of a folder.

    Args:
        place: the folder that the answer is stored as.
        needs: keys of the runs whose files it takes.
        settings: what to do, as JSON: a Run, or an AuditRequest.
        check: why a folder is not the finished answer; None where it is.
    """

    place: Path
    needs: tuple[str, ...]
    function: Callable[..., Files]
    settings: str
    check: Callable[[Path], str | None]

    def problem(self) -> str | None:
        """Why the folder is not the finished answer; None where it is."""
        return self.check(self.place)


def tasks_of(
    runs: Mapping[str, Run], store: Store, audits: Mapping[str, AuditRequest] | None = None, folder: Path | None = None
) -> dict[str, Task]:
    """All that must be there in the end, by key: the runs, and the audits in their own folder."""
    tasks = {
        key: Task(store.folder / key, needed_runs(run), _train, run.model_dump_json(), run_problem)
        for key, run in runs.items()
    }
    for key, request in (audits or {}).items():
        place = (folder or Path("audits")) / key
        tasks[key] = Task(place, request.needs, _audit, request.model_dump_json(), audit_problem)
    return tasks


def sweep(
    runs: Mapping[str, Run],
    store: Store,
    client: Client,
    *,
    audits: Mapping[str, AuditRequest] | None = None,
    folder: Path | None = None,
    others: Mapping[str, Task] | None = None,
    device: str = "cpu",
    report: Report | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Do the runs (and audits of runs) that are not there and store each as it arrives; why others failed, by key.

    A run that raises is not tried again in this call; one whose worker died is, by another worker. Whatever ends this
    function early (Ctrl-C, a lost connection) stops what is running, and what was stored stays.

    Args:
        runs: by key, as `grid.unique_runs` makes them.
        audits: by key; each is done once its runs are.
        folder: where audits are stored; `audits` by default.
        others: what else is to be done once its runs are, by key.
        progress: called, from another thread, with how far each worker is.
    """
    if progress is not None:
        client.subscribe_topic(TOPIC, lambda event: progress(Step(*event[1])))
    state = _SweepState({**tasks_of(runs, store, audits, folder), **(others or {})}, store, client, device)
    notify = report or (lambda status, key, error: None)
    try:
        state.start()
        notify(state.status(), None, None)
        for future in state.arriving:
            ended = state.finish(future)
            state.start()
            for key in ended:
                notify(state.status(), key, state.errors.get(key))
    finally:
        client.cancel(list(state.under_way), force=True)
        if progress is not None:
            client.unsubscribe_topic(TOPIC)
    return state.errors


class _SweepState:
    """What is waiting, under way, done and failed."""

    def __init__(self, tasks: Mapping[str, Task], store: Store, client: Client, device: str):
        self.tasks, self.store, self.client, self.device = tasks, store, client, device
        self.arriving = as_completed(loop=client.loop)
        self.under_way: dict[Future, str] = {}
        self.bases: dict[str, Future] = {}
        self.errors: dict[str, str] = {}
        self.ready: deque[str] = deque()
        self.followers: dict[str, list[str]] = defaultdict(list)
        self.waits_for: dict[str, set[str]] = {}
        missing = [key for key, task in tasks.items() if self._is_missing(task)]
        self.cached, self.done, self.left = len(tasks) - len(missing), 0, len(missing)
        for key in missing:
            self.waits_for[key] = set(tasks[key].needs) & set(missing)
            for base in self.waits_for[key]:
                self.followers[base].append(key)
            if not self.waits_for[key]:
                self.ready.append(key)

    @staticmethod
    def _is_missing(task: Task) -> bool:
        problem = task.problem()
        if problem is not None and task.place.exists():
            log.warning("%s is not finished and is made again: %s.", task.place, problem)
        return problem is not None

    def start(self) -> None:
        """Submit what is ready, but never so much that the models it refers to would fill the scheduler's memory."""
        room = max(64, 4 * self.threads()) - len(self.under_way)
        while self.ready and room > 0:
            key, room = self.ready.popleft(), room - 1
            task = self.tasks[key]
            for base in task.needs:
                if base not in self.bases:
                    self.bases[base] = self.submit(_unchanged, files_in(self.store.folder / base))
            needed = [self.bases[base] for base in task.needs]
            future = self.submit(task.function, task.settings, key, self.device, task.needs, *needed)
            self.under_way[future] = key
            self.arriving.add(future)
        waiting = {base for key in self.ready for base in self.tasks[key].needs}
        self.bases = {base: files for base, files in self.bases.items() if base in waiting}

    def submit(self, function: Callable[..., Files], *arguments: Any) -> Future:
        """Send a task: in Dask's terms impure, so that what failed before is tried anew.

        Audits, and what they need, go first: a worker has their data at hand from the run before.
        """
        # A base run's files are sent along on purpose: a dead worker then loses nothing that must be trained again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, pure=False, priority=int(function is not _train))

    def finish(self, future: Future) -> list[str]:
        """Store what arrived, or note why it failed; the key of that task, and of those that cannot be done now."""
        key = self.under_way[future]
        files = self.received(future)
        del self.under_way[future]
        future.release()
        if isinstance(files, str):
            return self.fail(key, files)
        task = self.tasks[key]
        write_files(files, task.place, replace=task.place.is_dir() and task.problem() is not None)
        self.done, self.left = self.done + 1, self.left - 1
        for follower in reversed(self.followers.pop(key, [])):
            self.waits_for[follower].discard(key)
            if not self.waits_for[follower] and follower not in self.errors:
                self.ready.appendleft(follower)
        return [key]

    def received(self, future: Future) -> Files | str:
        """The files of a finished task, or in one line why there are none."""
        try:
            return future.result()
        except CancelledError:
            raise HeedfulError(
                f"the connection to the scheduler was lost with {self.left} runs left. What was finished is stored: "
                "start the cluster and call again."
            ) from None
        except KilledWorker:
            return "every worker that took this run died; is memory short?"
        except HeedfulError as error:
            return str(error)
        except Exception as error:  # whatever it was, it was raised elsewhere and concerns that run alone
            return f"{type(error).__name__}: {error}"

    def fail(self, key: str, error: str) -> list[str]:
        """Note a failure, of the task and of all that need it; their keys."""
        if key in self.errors:
            return []
        self.errors[key] = error
        self.left -= 1
        failed = [self.fail(name, f"its base run {key} failed: {error}") for name in self.followers.pop(key, [])]
        return [key, *(name for keys in failed for name in keys)]

    def threads(self) -> int:
        """How many tasks the cluster can do at a time, at this moment."""
        return sum(self.client.nthreads().values())  # pyright: ignore[reportAttributeAccessIssue]

    def status(self) -> SweepStatus:
        """The counts."""
        running = min(len(self.under_way), self.threads())
        return SweepStatus(self.cached, self.done, len(self.errors), running, self.left)


def _unchanged(files: Files) -> Files:
    return files


class Stopped(Exception):
    """Nobody waits for this run any more."""


def _train(settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files) -> Files:
    """As `worker.train_run`, given up between two batches once the client is gone or has cancelled."""
    tick = ticker(key)

    def report(progress: TrainingProgress) -> None:
        if progress.epoch == 0:
            tick("reading the texts by the encoder", progress.batch, progress.batches)
            return
        done = (progress.epoch - 1) * progress.batches + progress.batch
        tick(f"epoch {progress.epoch} of {progress.epochs}", done, progress.epochs * progress.batches)

    return train_run(settings, key, dict(zip(needs, files, strict=True)), device=device, report=report)


def _audit(settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files) -> Files:
    """As `worker.audit_run`, given up likewise."""
    tick = ticker(key)
    runs = dict(zip(needs, files, strict=True))
    return audit_run(settings, key, runs, device=device, report=lambda done, texts: tick("auditing", done, texts))


def ticker(key: str) -> Callable[[str, int, int], None]:
    """What a worker calls as it goes: tells the client how far it is, and stops where nobody waits any more."""
    worker = get_worker()
    task = worker.state.tasks[str(worker.get_current_task())]
    last = 0.0

    def tick(what: str, done: int, total: int) -> None:
        nonlocal last
        if task.state == "cancelled":
            raise Stopped(f"{key} was cancelled")
        if time.monotonic() - last > PAUSE:
            last = time.monotonic()
            worker.log_event(TOPIC, (key, what, done, total))

    return tick
