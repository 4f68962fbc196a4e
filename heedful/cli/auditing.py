"""Audits made while a bar shows how far they are: of runs trained first, or of a finished one on other data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.cli.progress import live_steps, progress_bar, training_reporter
from heedful.settings import AuditSettings, DataSettings, Run

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from heedful.report import AuditFiles
    from heedful.runs.companions import PlannedAudit
    from heedful.runs.store import Store


def audit_planned_runs(
    console: "Console",
    planned: "list[PlannedAudit]",
    settings: AuditSettings,
    store: "Store",
    folder: Path,
    device: str,
) -> "list[AuditFiles]":
    """Train what is not there, audit what is not there, and read what was found."""
    from heedful.report import read_audit
    from heedful.runs.audit_folders import audit_problem
    from heedful.runs.companions import audit_in_parallel, audit_place

    places = [audit_place(each, settings, folder) for each in planned]
    if all(audit_problem(place) is None for place in places):
        return [read_audit(place) for place in places]
    if len(planned) == 1 and not list(planned[0].companions):
        return [read_audit(_audit_here(console, planned[0], settings, store, folder, device))]
    names = {key: _name(run) for each in planned for key, run in each.by_key().items()}
    names |= {place.name: f"{_name(each.run)}, audit" for place, each in zip(places, planned, strict=True)}
    with live_steps(console, names) as (report, progress):
        audit_in_parallel(planned, settings, store, folder, device=device, report=report, progress=progress)
    return [read_audit(place) for place in places]


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
    scores: str | None = None,
) -> "AuditFiles":
    """The audit of a finished run alone: on other data than its own, or on its own (None).

    Args:
        scores: a file of scores from outside.
    """
    from heedful.auditing.companions import Companions
    from heedful.data.folder import user_path
    from heedful.report import read_audit
    from heedful.runs.audits import ensure_audit
    from heedful.runs.other_data import load_for
    from heedful.runs.worker import load_data

    trained = store.load(store.find(model))
    dataset = load_data(trained.run)[1] if data is None else load_for(trained, data)
    given = None if scores is None else user_path(scores, "--scores")
    reference = None if trained.run.reference is None else store.load(trained.run.reference)
    with progress_bar(console) as bar:
        task = bar.add_task(f"{_name(trained.run)}: auditing", total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        beside = Companions(reference=reference)
        place = ensure_audit(trained, dataset, settings, folder, beside, device=device, report=report, scores=given)
        return read_audit(place)


def audit_classifiers(
    console: "Console",
    models: Sequence[str],
    data: DataSettings,
    settings: AuditSettings,
    folder: Path,
    view: dict[str, str],
    scores: str | None = None,
) -> "AuditFiles":
    """The audit of a Hugging Face classifier, or of several checkpoints of it together.

    Args:
        view: site, scope and device.
        scores: a file of scores from outside.
    """
    from heedful.auditing.companions import Companions
    from heedful.data.folder import user_path
    from heedful.report import read_audit
    from heedful.report.pooled import pool_checkpoints
    from heedful.runs.audits import ensure_audit
    from heedful.runs.classifiers import load_texts, load_view

    loaded = [load_view(name, **view) for name in models]
    dataset, places = load_texts(data, models), []
    given = None if scores is None else user_path(scores, "--scores")
    with progress_bar(console) as bar:
        for model in loaded:
            beside = Companions(seeds=tuple(other for other in loaded if other is not model))
            task = bar.add_task(f"{Path(model.classifier.name).name}: auditing", total=None)

            def report(done: int, total: int, task: "TaskID" = task) -> None:
                bar.update(task, completed=done, total=total)

            places.append(ensure_audit(model, dataset, settings, folder, beside, report=report, scores=given))
    return pool_checkpoints([read_audit(place) for place in places])


def _name(run: Run) -> str:
    return f"{run.network.encoder}, seed {run.seed}"
