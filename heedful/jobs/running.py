"""Jobs that are not done yet are done: one after the other in this process, or by a Dask cluster as it has workers."""

import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from heedful.errors import HeedfulError
from heedful.jobs.audit_parts import AuditParts, part_problem
from heedful.jobs.request import AuditRequest, AuditSource, AuditWork
from heedful.jobs.work import Tick, do_audit, do_part, do_training, needed_runs
from heedful.settings import Run
from heedful.store.folders import Files, files_in, write_files
from heedful.store.store import Store, audit_defect, run_defect

if TYPE_CHECKING:
    from distributed import Client, Future

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepStatus:
    """Where jobs stand, reported at the start and after every job."""

    cached: int
    """There before."""
    done: int
    failed: int
    running: int
    left: int
    """Not yet done, those running included."""


Report = Callable[[SweepStatus, str | None, str | None], None]
"""Called with the status, the key of the job that just ended (None at the start), and why it failed if it did."""


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
TOPIC = "heedful-progress"
PAUSE = 0.5
"""Seconds between two reports of one worker."""


@dataclass(frozen=True)
class Job:
    """A folder to be made.

    Args:
        place: the folder.
        needs: keys of the runs that it reads.
        do: makes it: from settings, key, store, place and device, saying how far it is.
        settings: what to do, as JSON: a Run, or an AuditWork.
        check: why a folder is not the finished one; None where it is.
    """

    place: Path
    needs: tuple[str, ...]
    do: Callable[[str, str, Store, Path, str, Tick], None]
    settings: str
    check: Callable[[Path], str | None]

    def problem(self) -> str | None:
        """Why the folder is not the finished one; None where it is."""
        return self.check(self.place)


def jobs_of(
    runs: Mapping[str, Run], store: Store, audits: Mapping[str, AuditRequest] | None = None, folder: Path | None = None
) -> dict[str, Job]:
    """All that must be there in the end, by key: the runs, and the audits in their own folder."""
    jobs = {
        key: Job(store.folder / key, needed_runs(run), do_training, run.model_dump_json(), run_defect)
        for key, run in runs.items()
    }
    return jobs | {
        key: audit_job(request, AuditSource(), folder or Path("audits")) for key, request in (audits or {}).items()
    }


def audit_job(request: AuditRequest, source: AuditSource, folder: Path) -> Job:
    """An audit in one piece."""
    settings = AuditWork(audit=request, source=source).model_dump_json()
    return Job(folder / request.key, _needs(request, source), do_audit, settings, audit_defect)


def part_jobs(request: AuditRequest, source: AuditSource, parts: AuditParts) -> dict[str, Job]:
    """The parts of an audit, by a key for each."""
    return {
        f"{request.key}/{name}": Job(
            parts.folder / name,
            _needs(request, source),
            do_part,
            AuditWork(audit=request, source=source, part=name).model_dump_json(),
            part_problem,
        )
        for name in parts.names
    }


def _needs(request: AuditRequest, source: AuditSource) -> tuple[str, ...]:
    return () if source.own else tuple(key for key in request.needs if key not in source.classifiers)


def do_here(
    jobs: Mapping[str, Job],
    store: Store,
    *,
    device: str = "cpu",
    report: Report | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Do the jobs that are not done, in their order, in this process; why some failed, by key."""
    notify, errors = report or (lambda status, key, error: None), dict[str, str]()
    missing = [key for key, job in jobs.items() if _is_missing(job)]
    cached = len(jobs) - len(missing)
    notify(SweepStatus(cached, 0, 0, min(1, len(missing)), len(missing)), None, None)
    for number, key in enumerate(missing):
        job = jobs[key]

        def tick(what: str, done: int, total: int, key: str = key) -> None:
            if progress is not None:
                progress(Step(key, what, done, total))

        try:
            if base := next((base for base in job.needs if base in errors), None):
                raise HeedfulError(f"its base run {base} failed: {errors[base]}")
            job.do(job.settings, key, store, job.place, device, tick)
        except HeedfulError as error:
            errors[key] = str(error)
        left = len(missing) - number - 1
        notify(SweepStatus(cached, number + 1 - len(errors), len(errors), min(1, left), left), key, errors.get(key))
    return errors


def sweep(
    jobs: Mapping[str, Job],
    store: Store,
    client: "Client",
    *,
    shares_disk: bool = False,
    device: str = "cpu",
    report: Report | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Do the jobs that are not done by a cluster and store each as it arrives; why others failed, by key.

    A job that raises is not tried again in this call; one whose worker died is, by another worker. Whatever ends this
    function early (Ctrl-C, a lost connection) stops what is running, and what was stored stays.

    Args:
        jobs: by key, those that others need first.
        shares_disk: whether workers write into our store, as processes of this machine do.
        progress: called, from another thread, with how far each worker is.
    """
    if progress is not None:
        client.subscribe_topic(TOPIC, lambda event: progress(Step(*event[1])))
    state = _SweepState(jobs, store, client, device, shares_disk)
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


def _is_missing(job: Job) -> bool:
    problem = job.problem()
    if problem is not None and job.place.exists():
        log.warning("%s is not finished and is made again: %s.", job.place, problem)
    return problem is not None


class _SweepState:
    """What is waiting, under way, done and failed."""

    def __init__(self, jobs: Mapping[str, Job], store: Store, client: "Client", device: str, shares_disk: bool):
        from distributed import as_completed

        self.jobs, self.store, self.client, self.device = jobs, store, client, device
        self.shares_disk = shares_disk
        self.arriving = as_completed(loop=client.loop)
        self.under_way: dict[Future, str] = {}
        self.bases: dict[str, Future] = {}
        self.errors: dict[str, str] = {}
        self.ready: deque[str] = deque()
        self.followers: dict[str, list[str]] = defaultdict(list)
        self.waits_for: dict[str, set[str]] = {}
        missing = [key for key, job in jobs.items() if _is_missing(job)]
        self.cached, self.done, self.left = len(jobs) - len(missing), 0, len(missing)
        for key in missing:
            self.waits_for[key] = set(jobs[key].needs) & set(missing)
            for base in self.waits_for[key]:
                self.followers[base].append(key)
            if not self.waits_for[key]:
                self.ready.append(key)

    def start(self) -> None:
        """Submit what is ready, but never so much that the models it refers to would fill the scheduler's memory."""
        room = max(64, 4 * self.threads()) - len(self.under_way)
        while self.ready and room > 0:
            key, room = self.ready.popleft(), room - 1
            future = self.submit(key, self.jobs[key])
            self.under_way[future] = key
            self.arriving.add(future)
        waiting = {base for key in self.ready for base in self.jobs[key].needs}
        self.bases = {base: files for base, files in self.bases.items() if base in waiting}

    def submit(self, key: str, job: Job) -> "Future":
        """Send a job: in Dask's terms impure, so that what failed before is tried anew.

        Audits go first: a worker has their data at hand from the run before.
        """
        priority = int(job.do is not do_training)
        if self.shares_disk:
            where = self.store.folder.resolve(), job.place.resolve()
            return self.client.submit(
                _do_beside, job.do, job.settings, key, *where, self.device, pure=False, priority=priority
            )
        # A base run's files are sent along on purpose: a dead worker then loses nothing that must be trained again.
        import dask.config

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            for base in job.needs:
                if base not in self.bases:
                    files = files_in(self.store.folder / base)
                    self.bases[base] = self.client.submit(_unchanged, files, pure=False, priority=priority)
            needed = [self.bases[base] for base in job.needs]
            return self.client.submit(
                _do_elsewhere, job.do, job.settings, key, self.device, job.needs, *needed, pure=False, priority=priority
            )

    def finish(self, future: "Future") -> list[str]:
        """Store what arrived, or note why it failed; the key of that job, and of those that cannot be done now."""
        key = self.under_way[future]
        files = self.received(future)
        del self.under_way[future]
        future.release()
        if isinstance(files, str):
            return self.fail(key, files)
        job = self.jobs[key]
        if files is not None:
            write_files(files, job.place, replace=job.place.is_dir() and job.problem() is not None)
        self.done, self.left = self.done + 1, self.left - 1
        for follower in reversed(self.followers.pop(key, [])):
            self.waits_for[follower].discard(key)
            if not self.waits_for[follower] and follower not in self.errors:
                self.ready.appendleft(follower)
        return [key]

    def received(self, future: "Future") -> Files | str | None:
        """The files of a finished job, None if they are in place, or in one line why there are none."""
        from distributed.scheduler import KilledWorker

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
        """Note a failure, of the job and of all that need it; their keys."""
        if key in self.errors:
            return []
        self.errors[key] = error
        self.left -= 1
        failed = [self.fail(name, f"its base run {key} failed: {error}") for name in self.followers.pop(key, [])]
        return [key, *(name for keys in failed for name in keys)]

    def threads(self) -> int:
        """How many jobs the cluster can do at a time, at this moment."""
        return sum(self.client.nthreads().values())  # pyright: ignore[reportAttributeAccessIssue]

    def status(self) -> SweepStatus:
        """The counts."""
        running = min(len(self.under_way), self.threads())
        return SweepStatus(self.cached, self.done, len(self.errors), running, self.left)


def _unchanged(files: Files) -> Files:
    return files


def _do_beside(do: Callable[..., None], settings: str, key: str, runs: Path, place: Path, device: str) -> None:
    """What a process of this machine does: the job, in our store."""
    _use_one_thread()
    do(settings, key, Store(runs), place, device, _ticker(key))


def _do_elsewhere(
    do: Callable[..., None], settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files
) -> Files:
    """What a worker does that may share no disk with us: the job, in a store of its own; the files of its folder."""
    _use_one_thread()
    with TemporaryDirectory() as parent:
        store, place = Store(Path(parent) / "runs"), Path(parent) / "made" / key.rpartition("/")[2]
        for name, own in zip(needs, files, strict=True):
            write_files(own, store.folder / name)
        if do is do_training:
            place = store.folder / key
        do(settings, key, store, place, device, _ticker(key))
        return files_in(place)


def _use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


class Stopped(Exception):
    """Nobody waits for this job any more."""


def _ticker(key: str) -> Tick:
    """What a worker calls as it goes: tells the client how far it is, and stops where nobody waits any more."""
    from distributed import get_worker

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
