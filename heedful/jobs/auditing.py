"""Audits, done as far as they are not there: their runs first, small work in this process, large work by several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.data.batching import shards_of
from heedful.errors import HeedfulError
from heedful.jobs.audit_parts import AuditParts
from heedful.jobs.planning import PlannedAudit, unique_runs
from heedful.jobs.request import AuditRequest, AuditSource, ClusterChoice
from heedful.jobs.running import Job, Progress, Report, audit_job, do_here, jobs_of, log, part_jobs, sweep
from heedful.jobs.work import dataset_of
from heedful.settings import AuditSettings, Run
from heedful.store.store import Store, audit_defect
from heedful.subjects.finished_run import batches_by_length
from heedful.subjects.subject import chosen_texts
from heedful.types import Dataset

FEW_WORDS = 200_000
"""Words that several jobs read together up to which this process does them: others would start for as long."""
PASSES = 15
"""How often an audit reads its texts, as long as training takes to read them once."""


@dataclass(frozen=True)
class AskedAudit:
    """An audit that is asked for.

    Args:
        source: where what it needs is found, beyond runs in the store.
        words: of each batch of texts.
    """

    request: AuditRequest
    source: AuditSource
    words: Sequence[int]


def do_planned(
    planned: Sequence[PlannedAudit],
    settings: AuditSettings,
    store: Store,
    folder: Path,
    *,
    device: str = "cpu",
    cluster: ClusterChoice = ClusterChoice(),  # noqa: B008 (frozen)
    report: Report | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """The folders of the audits; whatever is missing of them and of their runs is done."""
    requests = [each.request(settings) for each in planned]
    missing = [
        (each, request)
        for each, request in zip(planned, requests, strict=True)
        if audit_defect(folder / request.key) is not None
    ]
    if missing:
        asked = [
            AskedAudit(request, AuditSource(), words_of_batches(dataset_of(each.run), settings))
            for each, request in missing
        ]
        runs = unique_runs([run for each, _ in missing for run in (each.run, *each.comparison_models)], store)
        do_audits(asked, runs, store, folder, device=device, cluster=cluster, report=report, progress=progress)
    return [folder / request.key for request in requests]


def do_audits(
    asked: Sequence[AskedAudit],
    runs: Mapping[str, Run],
    store: Store,
    folder: Path,
    *,
    device: str = "cpu",
    cluster: ClusterChoice = ClusterChoice(),  # noqa: B008 (frozen)
    report: Report | None = None,
    progress: Progress | None = None,
) -> None:
    """Make these audits, after the runs that they need.

    Large audits are done in parts, and so are those of which somebody says who helps; their parts are joined here.
    """
    split = {
        each.request.key: AuditParts(folder / each.request.key, len(shards_of(each.words)))
        for each in asked
        if cluster.is_wanted(sum(each.words))
    }
    jobs, joined = jobs_of(runs, store), dict[str, Job]()
    for each in asked:
        key = each.request.key
        whole = {key: audit_job(each.request, each.source, folder)}
        if key in split:
            jobs |= part_jobs(each.request, each.source, split[key])
            joined |= whole
        else:
            jobs |= whole
    trained = [run for key, run in runs.items() if jobs[key].problem() is not None]
    words = PASSES * sum(sum(each.words) for each in asked) + sum(map(_words_trained_on, trained))
    missing = sum(job.problem() is not None for job in jobs.values())
    if missing > 1 and (split or cluster.is_wanted(words, FEW_WORDS)):
        from heedful.jobs.executors import connected, cores, has_workers

        with connected(cluster.scheduler, workers=min(cluster.workers or cores(), missing)) as client:
            if not has_workers(client):
                log.warning("the cluster at %s has no worker yet; the audit waits for one.", cluster.scheduler)
            is_beside = cluster.scheduler is None
            errors = sweep(jobs, store, client, shares_disk=is_beside, device=device, report=report, progress=progress)
    else:
        errors = do_here(jobs, store, device=device, report=report, progress=progress)
    _check_done(errors, len(jobs))
    _check_done(do_here(joined, store, device=device), len(joined))


def _words_trained_on(run: Run) -> int:
    """How many words a training reads."""
    epochs = run.training.epochs if run.finetune is None else run.finetune.epochs
    return epochs * sum(len(example.tokens) for example in dataset_of(run).train)


def _check_done(errors: Mapping[str, str], count: int) -> None:
    """Raise if any job failed."""
    if errors:
        raise HeedfulError(
            f"{len(errors)} of {count} runs and audits failed; the first: {next(iter(errors.values()))} What was done "
            "is kept: the same command continues from there."
        )


def words_of_batches(dataset: Dataset, settings: AuditSettings) -> list[int]:
    """How many words each batch has that one of our models is audited on."""
    examples = getattr(dataset, settings.split)
    return batches_by_length(examples, chosen_texts(len(examples), settings))[1]
