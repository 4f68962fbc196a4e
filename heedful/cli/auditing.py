"""Audits made while a bar shows how far they are: of runs trained first, or of a finished one on other data."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.progress import live_steps, progress_bar, training_reporter
from heedful.errors import SettingError
from heedful.settings import AuditSettings, DataSettings, Run, key_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from heedful.report import AuditFiles
    from heedful.runs.companions import PlannedAudit
    from heedful.runs.split_audits import ClusterChoice
    from heedful.runs.store import Store


DRAWN_TEXTS = 10_000
"""Texts whose rows are in memory for the report; of more, so many at random are drawn."""


def cluster_choice(workers: int | None, scheduler: str | None, device: str, threads: int) -> "ClusterChoice":
    """Who does parts of an audit; nobody but this process where it has several threads, or another device."""
    from heedful.runs.split_audits import ClusterChoice

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
    planned: "list[PlannedAudit]",
    settings: AuditSettings,
    store: "Store",
    folder: Path,
    device: str,
    cluster: "ClusterChoice | None" = None,
) -> list[Path]:
    """Train what is not there, audit what is not there; the folders of the audits."""
    from heedful.runs.audit_folders import audit_problem
    from heedful.runs.companions import audit_in_parallel, audit_place, parts_of
    from heedful.runs.split_audits import ClusterChoice

    places = [audit_place(each, settings, folder) for each in planned]
    if all(audit_problem(place) is None for place in places):
        return places
    cluster = cluster or ClusterChoice()
    parts = parts_of(planned, settings, folder, cluster)
    if len(planned) == 1 and not list(planned[0].companions) and not parts:
        return [_audit_here(console, planned[0], settings, store, folder, device)]
    names = training_names(planned)
    names |= {place.name: f"{_name(each.run)}, audit" for place, each in zip(places, planned, strict=True)}
    names |= {f"{key}/{name}": names[key] for key, own in parts.items() for name in own.names}
    with live_steps(console, names) as (report, progress):
        audit_in_parallel(
            planned, settings, store, folder, device=device, cluster=cluster, report=report, progress=progress
        )
    return places


def training_names(planned: "list[PlannedAudit]") -> dict[str, str]:
    """What each training is called, by its key: that of the runs, of their companions and of their teachers."""
    from heedful.training.teachers import teachers_of

    trained = {key: run for each in planned for key, run in each.by_key().items()}
    names = {key_of(teacher): f"{_name(run)}, teacher" for run in trained.values() for teacher in teachers_of(run)}
    return names | {key: _name(run) for key, run in trained.items()}


def read_drawn(places: Sequence[Path]) -> "list[AuditFiles]":
    """The audits, with the rows of so many texts in memory as are drawn.

    Called where the audited texts are no longer in memory.
    """
    from heedful.report import read_audit

    return [read_audit(place, most=max(1, DRAWN_TEXTS // len(places))) for place in places]


def _audit_here(
    console: "Console", planned: "PlannedAudit", settings: AuditSettings, store: "Store", folder: Path, device: str
) -> Path:
    """The audit of a single run, trained where it is missing, in this process."""
    from heedful.runs.companions import AuditProgress, audit_planned

    with progress_bar(console) as bar:

        def auditing(run: Run):
            task = bar.add_task(f"{_name(run)}: auditing", total=None)
            return lambda done, total: bar.update(task, completed=done, total=total)

        progress = AuditProgress(training=lambda run: training_reporter(bar, f"{_name(run)}: "), auditing=auditing)
        return audit_planned(planned, settings, store, folder, device=device, progress=progress)


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
    from heedful.auditing.companions import Companions
    from heedful.runs.audits import ensure_audit
    from heedful.runs.other_data import load_for
    from heedful.runs.part_worker import AuditSource, absolute
    from heedful.runs.split_audits import sharing
    from heedful.runs.worker import load_data
    from heedful.settings.folder import user_path

    trained = store.load(store.find(model))
    dataset = load_data(trained.run)[1] if data is None else load_for(trained, data)
    given = None if scores is None else user_path(scores, "--scores")
    reference = None if trained.run.reference is None else store.load(trained.run.reference)
    with progress_bar(console) as bar:
        task = bar.add_task(f"{_name(trained.run)}: auditing", total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        beside = Companions(reference=reference)
        source = AuditSource(data=data and absolute(data), scores="" if given is None else str(given.resolve()))
        return ensure_audit(
            trained,
            dataset,
            settings,
            folder,
            beside,
            device=device,
            report=report,
            scores=given,
            share=sharing(cluster, source, store, device=device, report=report),
        )


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
    from heedful.auditing.companions import Companions
    from heedful.runs.audits import ensure_audit
    from heedful.runs.classifiers import absolute_name, load_texts, load_view
    from heedful.runs.part_worker import AuditSource, absolute
    from heedful.runs.split_audits import sharing
    from heedful.runs.store import Store
    from heedful.settings.folder import user_path

    loaded = [load_view(name, **view) for name in models]
    dataset, places = load_texts(data, models), []
    given = None if scores is None else user_path(scores, "--scores")
    source = AuditSource(
        data=absolute(data),
        classifiers={model.key: absolute_name(name) for model, name in zip(loaded, models, strict=True)},
        site=view["site"],
        scope=view["scope"],
        scores="" if given is None else str(given.resolve()),
    )
    with progress_bar(console) as bar:
        for model in loaded:
            beside = Companions(seeds=tuple(other for other in loaded if other is not model))
            task = bar.add_task(f"{Path(model.classifier.name).name}: auditing", total=None)

            def report(done: int, total: int, task: "TaskID" = task) -> None:
                bar.update(task, completed=done, total=total)

            share = sharing(cluster, source, Store(), device=view["device"], report=report)
            places.append(
                ensure_audit(model, dataset, settings, folder, beside, report=report, scores=given, share=share)
            )
    return places


def audit_own(
    console: "Console", name: str, settings: AuditSettings, folder: Path, device: str, cluster: "ClusterChoice"
) -> Path:
    """The folder of the audit of a model of the user's own, FILE.py:FUNCTION."""
    from heedful.runs.audits import ensure_prepared
    from heedful.runs.own_models import absolute_own, load_own
    from heedful.runs.part_worker import AuditSource
    from heedful.runs.split_audits import sharing
    from heedful.runs.store import Store

    loaded = load_own(name)
    with progress_bar(console) as bar:
        task = bar.add_task(f"{name}: auditing", total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        share = sharing(cluster, AuditSource(own=absolute_own(name)), Store(), device=device, report=report)
        request, prepare = loaded.request(settings), partial(loaded.prepare, settings, device)
        return ensure_prepared(request, prepare, folder, report=report, share=share)


def _name(run: Run) -> str:
    return f"{run.network.encoder}, seed {run.seed}"
