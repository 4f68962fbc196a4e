"""Jobs that are left to do are done by an executor: each once what it needs is there. What fails stops no other."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import accumulate
from typing import Any

from heedful.data.batching import shards_of
from heedful.errors import HeedfulError
from heedful.jobs.audit_parts import AuditParts
from heedful.jobs.executors import JobExecutor, Progress, cores, open_executor
from heedful.jobs.planning import Plan
from heedful.jobs.request import AuditWork, Job
from heedful.jobs.work import check_audits, dataset_of, words_of_audit
from heedful.settings import Run
from heedful.store.store import Store

log = logging.getLogger(__name__)

MANY_WORDS = 40_000
"""An audit with at least this many words is shared by several processes, unless their number is given."""
FEW_WORDS = 200_000
"""Words that jobs read together up to which this process does them: others would start for as long."""
PASSES = 15
"""How often an audit reads its texts, as long as training takes to read them once."""
DEATHS = 3
"""Processes that a job may kill before it is given up."""


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


def carry_out(
    plan: Plan,
    store: Store,
    *,
    device: str = "cpu",
    workers: int | None = None,
    scheduler: str | None = None,
    in_parts: bool = True,
    report: Report | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Do what is missing of a plan; why some of it failed, by key.

    Args:
        workers: processes that share the work; None: this one does it if it is small, and else one per core.
        scheduler: address of a running Dask cluster that does it instead.
        in_parts: whether several processes do one audit if it is large, or if their number is given.
    """
    jobs = plan.missing(store)
    for job in jobs.values():
        if (place := job.place(store)).exists():
            log.warning("%s is not finished and is made again: %s.", place, job.problem(store))
    check_audits(jobs.values())
    if workers is None and scheduler is None:
        workers = processes_for(jobs, store)
        least = MANY_WORDS if cores() > 1 else float("inf")
    else:
        least = 0 if scheduler is not None or (workers or 0) > 1 else float("inf")
    if in_parts:
        jobs = {
            key: each
            for job in jobs.values()
            for key, each in (_in_parts(job, store, jobs, least) if job.kind == "audit" else {job.key: job}).items()
        }
    if workers == 1 and any(job.kind == "part" for job in jobs.values()):
        workers = cores()
    cached = len({*plan.runs, *plan.audits} - set(jobs))
    with open_executor(store, min(workers or 1, len(jobs)), scheduler, device=device, progress=progress) as executor:
        return run(jobs, executor, report=report, cached=cached)


def processes_for(jobs: Mapping[str, Job], store: Store) -> int:
    """Number of processes that do jobs if none is given."""
    return (
        cores() if len(jobs) > 1 and any(total > FEW_WORDS for total in accumulate(words_of_jobs(jobs, store))) else 1
    )


def words_of_jobs(jobs: Mapping[str, Job], store: Store) -> Iterator[int]:
    """Number of words that each job reads, counted as training reads them."""
    for job in jobs.values():
        if job.kind == "audit":
            yield PASSES * sum(words_of_audit(AuditWork.model_validate_json(job.settings), store, jobs))
        elif job.kind == "train":
            run = Run.model_validate_json(job.settings)
            epochs = run.training.epochs if run.finetune is None else run.finetune.epochs
            yield epochs * sum(len(example.tokens) for example in dataset_of(run).train)


def _in_parts(job: Job, store: Store, jobs: Mapping[str, Job], least: float) -> dict[str, Job]:
    """The parts of an audit that are not there, and the job that joins them; of a short audit the audit alone."""
    if least == float("inf"):
        return {job.key: job}
    work = AuditWork.model_validate_json(job.settings)
    words = words_of_audit(work, store, jobs)
    if sum(words) < least:
        return {job.key: job}
    parts = {}
    for name in AuditParts(job.place(store), len(shards_of(words))).missing():
        settings = AuditWork(audit=work.audit, source=work.source, part=name).model_dump_json()
        parts[f"{job.key}/{name}"] = Job(f"{job.key}/{name}", "part", settings, job.needs)
    return {**parts, job.key: replace(job, kind="join", needs=(*job.needs, *parts))}


def run(
    jobs: Mapping[str, Job], executor: JobExecutor, *, report: Report | None = None, cached: int = 0
) -> dict[str, str]:
    """Do the jobs; why some failed, by key. Whatever ends this early (Ctrl-C, a lost connection) leaves what is stored.

    Args:
        cached: how many others were there before, for the status.
    """
    ledger = _Ledger(jobs, executor, report or (lambda status, key, error: None), cached)
    under_way = ledger.under_way
    ledger.tell()
    while ledger.ready or under_way:
        while ledger.ready and len(under_way) < executor.most():
            key = ledger.ready.popleft()
            under_way[executor.submit(jobs[key])] = key
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            key = under_way.pop(future)
            try:
                executor.take(jobs[key], future)
            except CancelledError:
                raise HeedfulError(
                    f"the connection to the scheduler was lost with {ledger.left()} runs left. What was finished is "
                    "stored: start the cluster and run the command again."
                ) from None
            except BrokenExecutor:
                ledger.lose(key)
            except HeedfulError as error:
                ledger.fail(key, str(error))
            except Exception as error:  # whatever it was, it was raised elsewhere and concerns that job alone
                ledger.fail(key, f"{type(error).__name__}: {error}")
            else:
                ledger.succeed(key)
    return ledger.errors


class _Ledger:
    """Which jobs can begin, wait for others, are running, done, or failed."""

    def __init__(self, jobs: Mapping[str, Job], executor: JobExecutor, report: Report, cached: int):
        self.jobs, self.executor, self.report, self.cached = jobs, executor, report, cached
        self.done, self.deaths = 0, Counter[str]()
        self.errors: dict[str, str] = {}
        self.under_way: dict[Future[Any], str] = {}
        self.order = TopologicalSorter({key: [each for each in job.needs if each in jobs] for key, job in jobs.items()})
        self.order.prepare()
        self.ready = deque(self.order.get_ready())

    def left(self) -> int:
        """How many are neither done nor failed."""
        return len(self.jobs) - self.done - len(self.errors)

    def tell(self, key: str | None = None) -> None:
        """Report where jobs stand, after one ended."""
        running = min(self.executor.workers(), len(self.ready) + len(self.under_way))
        status = SweepStatus(self.cached, self.done, len(self.errors), running, self.left())
        self.report(status, key, self.errors.get(key or ""))

    def succeed(self, key: str) -> None:
        """A job is done: its followers come first, since what they read is in memory."""
        self.done += 1
        self.order.done(key)
        self.ready.extendleft(reversed(self.order.get_ready()))
        self.tell(key)

    def fail(self, key: str, error: str) -> None:
        """A job failed, and with it all that need it."""
        if key not in self.errors:
            self.errors[key] = error
            self.tell(key)
            for follower, job in self.jobs.items():
                if key in job.needs:
                    self.fail(follower, f"its base run {key} failed: {error}")

    def lose(self, key: str) -> None:
        """The process that did a job died: another one does it, unless it kills them all."""
        self.deaths[key] += 1
        if self.deaths[key] < DEATHS:
            self.ready.appendleft(key)
        else:
            self.fail(key, "every worker that took this run died; is memory short?")


def check_done(errors: Mapping[str, str]) -> None:
    """Raise if any job failed."""
    if errors:
        raise HeedfulError(
            f"{len(errors)} runs and audits failed; the first: {next(iter(errors.values()))} What was done is kept: "
            "the same command continues from there."
        )
