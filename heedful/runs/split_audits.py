"""Audits whose texts are shared out: their parts are done by a Dask cluster, and stored as they arrive."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heedful.auditing.audited_texts import batches_by_length, chosen_texts
from heedful.auditing.prepared import PreparedAudit
from heedful.auditing.request import AuditRequest
from heedful.data.batches import SHARD_WORDS, shards_of
from heedful.errors import HeedfulError
from heedful.runs.audit_parts import AuditParts, part_problem
from heedful.runs.audits import Share
from heedful.runs.cluster import connected, cores, has_workers
from heedful.runs.folders import Files
from heedful.runs.part_worker import AuditSource, PartRequest, audit_part
from heedful.runs.store import Store
from heedful.runs.sweep import Step, SweepStatus, Task, sweep, ticker
from heedful.settings import AuditSettings
from heedful.types import Dataset

log = logging.getLogger(__name__)

MANY_WORDS = 10 * SHARD_WORDS
"""Words of an audit from which on all cores do it, unless somebody says how many: starting them takes seconds."""


@dataclass(frozen=True)
class ClusterChoice:
    """Who does the parts of an audit.

    Args:
        workers: how many processes are started here; None: one a core, where there is work enough for them.
        scheduler: address of a running Dask cluster that does it instead.
    """

    workers: int | None = None
    scheduler: str | None = None

    def is_wanted(self, words: int) -> bool:
        """Whether an audit of so many words is done by others than this process."""
        if self.scheduler is not None or self.workers is not None:
            return self.scheduler is not None or (self.workers or 0) > 1
        return cores() > 1 and words >= MANY_WORDS


@dataclass(frozen=True)
class SplitAudit:
    """An audit in parts.

    Args:
        source: where a worker finds what is audited.
    """

    request: AuditRequest
    parts: AuditParts
    source: AuditSource = AuditSource()

    def tasks(self) -> dict[str, Task]:
        """What must be there before the audit can be written, by a key for each."""
        needs = () if self.source.classifiers or self.source.own else self.request.needs
        return {
            f"{self.request.key}/{name}": Task(
                self.parts.folder / name,
                needs,
                _audit_part,
                PartRequest(audit=self.request, part=name, source=self.source).model_dump_json(),
                part_problem,
            )
            for name in self.parts.names
        }


def words_of_batches(dataset: Dataset, settings: AuditSettings) -> list[int]:
    """How many words each batch has that one of our models is audited on."""
    examples = getattr(dataset, settings.split)
    return batches_by_length(examples, chosen_texts(len(examples), settings))[1]


def count_shards(words: Sequence[int]) -> int:
    """How many shards batches of so many words make."""
    return len(shards_of(words))


def sharing(
    cluster: ClusterChoice,
    source: AuditSource,
    store: Store,
    *,
    device: str = "cpu",
    report: Callable[[int, int], None] | None = None,
) -> Share:
    """What `ensure_audit` calls before it does parts itself: a cluster does those that are missing, where it is wanted.

    Args:
        source: where a worker finds what is audited.
        store: where the runs are that it needs.
        report: called with (texts done, texts in all).
    """

    def share(request: AuditRequest, prepared: PreparedAudit, parts: AuditParts) -> None:
        missing = len(parts.missing())
        if not missing or not cluster.is_wanted(sum(prepared.subject.batches.words)):
            return
        count = PartCount(parts, len(prepared.subject.texts), report)
        with connected(cluster.scheduler, workers=min(cluster.workers or cores(), missing)) as client:
            if not has_workers(client):
                log.warning("the cluster at %s has no worker yet; the audit waits for one.", cluster.scheduler)
            tasks = SplitAudit(request, parts, source).tasks()
            errors = sweep({}, store, client, others=tasks, device=device, report=count.ended, progress=count.advanced)
        check_done(errors)

    return share


class PartCount:
    """Counts the texts of parts that are done, and of those that are under way.

    Args:
        total: texts in all.
        report: called with (texts done, texts in all).
    """

    def __init__(self, parts: AuditParts, total: int, report: Callable[[int, int], None] | None):
        self.parts, self.total, self.report = parts, total, report
        missing = parts.missing()
        self.finished = {name: parts.texts(name) for name in parts.names if name not in missing}
        self.under_way: dict[str, int] = {}

    def ended(self, status: SweepStatus, key: str | None, error: str | None) -> None:
        """A part ended, well or with an error."""
        if key is not None:
            name = key.rpartition("/")[2]
            self.under_way.pop(name, None)
            self.finished[name] = 0 if error else self.parts.texts(name)
        self._tell()

    def advanced(self, step: Step) -> None:
        """A worker is so far with a part."""
        name = step.key.rpartition("/")[2]
        if name not in self.finished:
            self.under_way[name] = step.done
            self._tell()

    def _tell(self) -> None:
        if self.report:
            self.report(sum(self.finished.values()) + sum(list(self.under_way.values())), self.total)


def check_done(errors: Mapping[str, str]) -> None:
    """Raise where parts failed."""
    if errors:
        raise HeedfulError(
            f"{len(errors)} parts of the audit failed; the first: {next(iter(errors.values()))} What was done is kept: "
            "the same command continues from there."
        )


def _audit_part(settings: str, key: str, device: str, needs: tuple[str, ...], *files: Files) -> Files:
    """As `part_worker.audit_part`, given up between two batches once the client is gone or has cancelled."""
    tick = ticker(key)
    runs = dict(zip(needs, files, strict=True))
    return audit_part(settings, runs, device=device, report=lambda done, texts: tick("auditing", done, texts))
