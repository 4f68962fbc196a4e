"""Audits made while bars show how far they are: of runs trained first, of finished ones on other data, of others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.progress import live_steps
from heedful.errors import SettingError
from heedful.settings import AuditSettings, DataSettings, Run, key_of

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.auditing.prepared import PreparedAudit
    from heedful.jobs.planning import PlannedAudit
    from heedful.jobs.request import AuditRequest, AuditSource, ClusterChoice
    from heedful.store.store import Store


DRAWN_TEXTS = 10_000
"""Texts whose rows are in memory for the report; of more, so many at random are drawn."""


def cluster_choice(workers: int | None, scheduler: str | None, device: str, threads: int) -> "ClusterChoice":
    """Who does parts of an audit; nobody but this process where it has several threads, or another device."""
    from heedful.jobs.request import ClusterChoice

    asked = "--workers" if (workers or 1) > 1 else "--scheduler" if scheduler is not None else ""
    if threads > 1 and asked:
        raise SettingError(f"--threads must be left out with {asked}: a worker has one, so that all have the same.")
    is_alone = threads > 1 or (device != "cpu" and not asked)
    return ClusterChoice(1 if is_alone else workers, scheduler)


@contextmanager
def tells_what_is_kept(console: "Console", folder: Path) -> Iterator[None]:
    """Where the work inside is stopped: says how much of unfinished audits is kept for the next call."""
    try:
        yield
    except KeyboardInterrupt:
        kept = len(list(folder.glob(".*.parts/*/SHA256SUMS")))
        if kept:
            console.print(f"{kept} parts of the audit are kept in {folder}/: the same command does the others.")
        raise


def audit_planned_runs(
    console: "Console",
    planned: "Sequence[PlannedAudit]",
    settings: AuditSettings,
    store: "Store",
    folder: Path,
    device: str,
    cluster: "ClusterChoice | None" = None,
) -> list[Path]:
    """Train what is not there, audit what is not there; the folders of the audits."""
    from heedful.store.audit_folders import audit_problem

    keys = [each.request(settings).key for each in planned]
    if all(audit_problem(folder / key) is None for key in keys):
        return [folder / key for key in keys]
    from heedful.jobs.auditing import do_planned
    from heedful.jobs.request import ClusterChoice

    names = training_names(planned) | {
        key: f"{_name(each.run)}, audit" for key, each in zip(keys, planned, strict=True)
    }
    with live_steps(console, names) as (report, progress):
        return do_planned(
            planned,
            settings,
            store,
            folder,
            device=device,
            cluster=cluster or ClusterChoice(),
            report=report,
            progress=progress,
        )


def training_names(planned: "Sequence[PlannedAudit]") -> dict[str, str]:
    """What each training is called, by its key: that of the runs, of their companions and of their teachers."""
    from heedful.training.teachers import teachers_of

    trained = {key: run for each in planned for key, run in each.by_key().items()}
    names = {key_of(teacher): f"{_name(run)}, teacher" for run in trained.values() for teacher in teachers_of(run)}
    return names | {key: _name(run) for key, run in trained.items()}


def audit_on(
    console: "Console",
    store: "Store",
    model: str,
    data: DataSettings | None,
    settings: AuditSettings,
    folder: Path,
    device: str,
    cluster: "ClusterChoice",
    scores: str | None = None,
) -> Path:
    """The folder of the audit of a finished run alone: on other data than its own, or on its own (None).

    Args:
        scores: a file of scores from outside.
    """
    from heedful.auditing.prepared import prepare_audit
    from heedful.jobs.audit_parts import request_of
    from heedful.jobs.request import AuditSource, absolute
    from heedful.jobs.work import load_data
    from heedful.runs.other_data import load_for
    from heedful.settings.companions import Companions
    from heedful.settings.folder import user_path

    trained = store.load(store.find(model))
    dataset = load_data(trained.run)[1] if data is None else load_for(trained, data)
    given = None if scores is None else user_path(scores, "--scores")
    beside = Companions(reference=None if trained.run.reference is None else store.load(trained.run.reference))
    source = AuditSource(data=data and absolute(data), scores="" if given is None else str(given.resolve()))
    request = request_of(trained, dataset, settings, beside, given)
    prepared = prepare_audit(trained, dataset, settings, beside, scores=given, device=device)
    asked = [(request, source, prepared)]
    return _audit_prepared(console, asked, {request.key: _name(trained.run)}, store, folder, device, cluster)[0]


def audit_classifiers(
    console: "Console",
    models: Sequence[str],
    data: DataSettings,
    settings: AuditSettings,
    folder: Path,
    view: dict[str, str],
    cluster: "ClusterChoice",
    scores: str | None = None,
) -> list[Path]:
    """The folders of the audits of a Hugging Face classifier, or of several checkpoints of it.

    Args:
        view: site, scope and device.
        scores: a file of scores from outside.
    """
    from heedful.auditing.prepared import prepare_audit
    from heedful.jobs.audit_parts import request_of
    from heedful.jobs.request import AuditSource, absolute
    from heedful.runs.classifiers import absolute_name, load_texts, load_view
    from heedful.settings.companions import Companions
    from heedful.settings.folder import user_path
    from heedful.store.store import Store

    loaded = [load_view(name, **view) for name in models]
    dataset = load_texts(data, models)
    given = None if scores is None else user_path(scores, "--scores")
    source = AuditSource(
        data=absolute(data),
        classifiers={model.key: absolute_name(name) for model, name in zip(loaded, models, strict=True)},
        site=view["site"],
        scope=view["scope"],
        scores="" if given is None else str(given.resolve()),
    )
    asked, names = [], {}
    for model in loaded:
        beside = Companions(seeds=tuple(other for other in loaded if other is not model))
        request = request_of(model, dataset, settings, beside, given)
        prepared = prepare_audit(model, dataset, settings, beside, scores=given, device=view["device"])
        asked.append((request, source, prepared))
        names[request.key] = Path(model.classifier.name).name
    return _audit_prepared(console, asked, names, Store(), folder, view["device"], cluster)


def audit_own(
    console: "Console", name: str, settings: AuditSettings, folder: Path, device: str, cluster: "ClusterChoice"
) -> Path:
    """The folder of the audit of a model of the user's own, FILE.py:FUNCTION."""
    from heedful.jobs.request import AuditSource
    from heedful.runs.own_models import absolute_own, load_own
    from heedful.store.store import Store

    loaded = load_own(name)
    request, prepared = loaded.request(settings), loaded.prepare(settings, device)
    asked = [(request, AuditSource(own=absolute_own(name)), prepared)]
    return _audit_prepared(console, asked, {request.key: name}, Store(), folder, device, cluster)[0]


def _audit_prepared(
    console: "Console",
    asked: "Sequence[tuple[AuditRequest, AuditSource, PreparedAudit]]",
    names: Mapping[str, str],
    store: "Store",
    folder: Path,
    device: str,
    cluster: "ClusterChoice",
) -> list[Path]:
    """The folders of audits of models that are at hand.

    Args:
        names: what each audit is called, by its key.
    """
    from heedful.jobs.auditing import AskedAudit, do_audits
    from heedful.jobs.work import keep_ready

    with live_steps(console, names) as (report, progress):
        for request, source, prepared in asked:
            keep_ready(request, device, prepared)
            each = AskedAudit(request, source, prepared.subject.batches.words)
            do_audits([each], {}, store, folder, device=device, cluster=cluster, report=report, progress=progress)
    return [folder / request.key for request, _, _ in asked]


def _name(run: Run) -> str:
    return f"{run.network.encoder}, seed {run.seed}"
