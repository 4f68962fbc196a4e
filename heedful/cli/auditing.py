"""Audits made while bars show how far they are: of runs trained first, of finished ones on other data, of others."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import heedful
from heedful.cli import command_options
from heedful.cli.progress import live_steps
from heedful.errors import SettingError
from heedful.report.audits import distinct_names
from heedful.schema import Verdict, updated
from heedful.settings import AuditSettings, DataSettings, Run, key_of
from heedful.store.folders import CHECKSUMS, find_damage, sha256_of, write_checksums, write_file
from heedful.store.store import read_verdict_file

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.jobs.planning import PlannedAudit
    from heedful.jobs.request import ClusterChoice
    from heedful.report import AuditFiles
    from heedful.store.store import Store
    from heedful.subjects.opening import NamedModel
    from heedful.subjects.subject import Subject

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
    from heedful.store.store import audit_defect

    keys = [each.request(settings).key for each in planned]
    if all(audit_defect(folder / key) is None for key in keys):
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
    model: "NamedModel",
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
    from heedful.subjects.opening import open_subject

    subject = open_subject(model, store, device=device)
    return _audit_subjects(console, [subject], {}, data, settings, store, folder, device, cluster, scores)[0]


def audit_classifiers(
    console: "Console",
    store: "Store",
    models: "Sequence[NamedModel]",
    data: DataSettings | None,
    settings: AuditSettings,
    folder: Path,
    view: dict[str, str],
    cluster: "ClusterChoice",
    scores: str | None = None,
) -> list[Path]:
    """The folders of the audits of a Hugging Face classifier, or of several checkpoints of it.

    Args:
        data: None: what fine-tuned ones were all trained on.
        view: site, scope and device.
        scores: a file of scores from outside.
    """
    from heedful.subjects.opening import open_subject

    subjects = [
        open_subject(model, store, site=view["site"], scope=view["scope"], device=view["device"]) for model in models
    ]
    known = [subject.own_data for subject in subjects]
    if data is None and None in known:
        unknown = models[known.index(None)].name
        raise SettingError(f"DATA must be given with --model {unknown}: texts with the labels of that model.")
    if data is None and len({own.fingerprint for own in known if own is not None}) > 1:
        raise SettingError("DATA must be given: the models that --model names were trained on different data.")
    places = {subject.key: model.absolute for subject, model in zip(subjects, models, strict=True)}
    at = {"site": view["site"], "scope": view["scope"], "classifiers": places}
    data = data or known[0]
    return _audit_subjects(console, subjects, at, data, settings, store, folder, view["device"], cluster, scores)


def audit_own(
    console: "Console",
    model: "NamedModel",
    settings: AuditSettings,
    folder: Path,
    device: str,
    cluster: "ClusterChoice",
) -> Path:
    """The folder of the audit of a model of the user's own, FILE.py:FUNCTION."""
    from heedful.store.store import Store
    from heedful.subjects.opening import open_subject

    subject, at = open_subject(model, Store(), device=device), {"own": model.absolute}
    return _audit_subjects(console, [subject], at, None, settings, Store(), folder, device, cluster)[0]


def _audit_subjects(
    console: "Console",
    subjects: "Sequence[Subject]",
    at: dict[str, Any],
    data: DataSettings | None,
    settings: AuditSettings,
    store: "Store",
    folder: Path,
    device: str,
    cluster: "ClusterChoice",
    scores: str | None = None,
) -> list[Path]:
    """The folders of the audits of subjects that are at hand, each beside the others.

    Args:
        at: where a worker finds them, as `AuditSource` says it.
        data: None: their own.
        scores: a file of scores from outside.
    """
    from heedful.auditing.audit import prepare_audit
    from heedful.jobs.audit_parts import request_of
    from heedful.jobs.auditing import AskedAudit, do_audits
    from heedful.jobs.request import AuditSource, absolute
    from heedful.jobs.work import keep_ready
    from heedful.settings.comparison_models import ComparisonModels
    from heedful.settings.data_folder import user_path
    from heedful.subjects.opening import load_texts

    dataset = load_texts(subjects[0], data, subjects[1:])
    given = None if scores is None else user_path(scores, "--scores")
    source = AuditSource(data=data and absolute(data), scores="" if given is None else str(given.resolve()), **at)
    asked = []
    for subject in subjects:
        beside = ComparisonModels(seeds=tuple(other for other in subjects if other is not subject))
        request = request_of(subject, dataset, settings, beside, given)
        asked.append((subject, request, prepare_audit(subject, dataset, settings, beside, scores=given)))
    names = {
        request.key: _name(subject.run) if subject.settings["run"] else subject.title for subject, request, _ in asked
    }
    with live_steps(console, names) as (report, progress):
        for _, request, prepared in asked:
            keep_ready(request, device, prepared)
            each = AskedAudit(request, source, prepared.texts.batches.words)
            do_audits([each], {}, store, folder, device=device, cluster=cluster, report=report, progress=progress)
    return [folder / request.key for _, request, _ in asked]


def _name(run: Run) -> str:
    return f"{run.network.encoder}, seed {run.seed}"


# The output of `heedful audit`: its files, and what it prints. Imports no torch, unless a page has to be drawn.

PAGE = "report.html"
WRITTEN = (PAGE, "rows.parquet", "outcomes.parquet", "verdict.json")


@dataclass(frozen=True)
class AuditOutput:
    """What an audit came to.

    Args:
        folders: the audit of each model; of several seeds together.
        verdicts: what each says.
        notes: what is printed before the answer.
    """

    page: Path
    folders: tuple[Path, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the reader calls the models."""
        names = [verdict.model or verdict.run for verdict in self.verdicts]
        return distinct_names(names, [verdict.settings for verdict in self.verdicts]) if len(names) > 1 else (*names,)

    def audits(self) -> "list[AuditFiles]":
        """The tables of the audits, with the rows of so many texts in memory as are drawn."""
        from heedful.report import read_audit

        return [read_audit(folder, most=max(1, DRAWN_TEXTS // len(self.folders))) for folder in self.folders]


def write_answer(folders: Sequence[Path], out: Path, notes: Sequence[str], *, with_texts: bool = True) -> AuditOutput:
    """Write report.html, verdict.json, and the rows and outcomes of all models, unless they are there already.

    Args:
        folders: the audit of each model.
        notes: what is printed before the answer.
    """
    answer = AuditOutput(out / PAGE, tuple(folders), tuple(map(read_verdict_file, folders)), tuple(notes))
    made_of = hashlib.sha256(
        "\n".join([_drawing_code(), str(with_texts), *(sha256_of(folder / CHECKSUMS) for folder in folders)]).encode()
    ).hexdigest()
    if find_damage(out, WRITTEN) is not None or made_of not in (out / PAGE).read_text(encoding="utf-8")[-200:]:
        _write_files(answer, made_of, with_texts)
    return answer


@cache
def _drawing_code() -> str:
    """Which Heedful draws: its version, and the state of the files that draw."""
    code = Path(heedful.__file__).parent
    files = sorted(path for folder in ("report", "verdict", "schema") for path in (code / folder).rglob("*.*"))
    states = (f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files if path.suffix != ".pyc")
    return " ".join([heedful.__version__, *states])


def print_answer(printed: "Output", answer: AuditOutput, *, with_details: bool = False) -> None:
    """The answer as the terminal, a script or a quiet reader gets it.

    Args:
        with_details: whether the tests that explain the answer are printed, too.
    """
    from heedful.cli.printed_audit import (
        asks_for_rankings,
        compare_models,
        print_details,
        print_models,
        print_rankings,
        print_verdict,
    )

    for note in dict.fromkeys((*answer.notes, *(note for verdict in answer.verdicts for note in verdict.notes))):
        printed.note(note)
    console = printed.console
    for number, (name, verdict) in enumerate(zip(answer.names, answer.verdicts, strict=True)):
        if number:
            console.print()
        print_verdict(console, verdict, name)
        if with_details or verdict.answer is None:
            print_details(console, verdict)
        if with_details or asks_for_rankings(verdict):
            print_rankings(console, verdict)
        if named := _explained_by(verdict):
            console.print(f'Explain a text: heedful explain "TEXT" --model {named}', markup=False, soft_wrap=True)
    if with_details and len(answer.verdicts) > 1:
        print_models(console, compare_models(answer.audits()).table())
    console.print(f"Report: {answer.page}", markup=False, soft_wrap=True)
    document = _document(answer.verdicts, answer.page.parent) if printed.as_json else {}
    printed.end({"report": str(answer.page), **document}, result="\n".join(map(_result, answer.verdicts)))


def _result(verdict: Verdict) -> str:
    """The answer in a line."""
    if (answer := verdict.answer) is None:
        return f"{len(verdict.lines)} tests, no answer"
    shown = answer.recommendation.sentence if answer.recommendation else ""
    return " ".join(part for part in (f"{answer.headline}.", answer.sentence, shown) if part)


def _explained_by(verdict: Verdict) -> str:
    """The options that name the audited model to `heedful explain`; empty for one of the user's own."""
    if "classifier" not in verdict.settings:
        return verdict.run if verdict.settings.get("run") else ""
    options = [quote(str(verdict.settings.get("model", "")).split(", ")[0])]
    usual = {"site": "last", "scope": "row"}
    options += [f"--{name} {verdict.settings[name]}" for name in usual if verdict.settings.get(name) != usual[name]]
    return " ".join(options)


def _write_files(answer: AuditOutput, made_of: str, with_texts: bool) -> None:
    import polars as pl

    from heedful.report import without_texts, write_report

    command, folder = command_options.command_line(), answer.page.parent
    audits = [replace(each, verdict=updated(each.verdict, command=command)) for each in answer.audits()]
    shown = audits if with_texts else [without_texts(each) for each in audits]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CHECKSUMS).unlink(missing_ok=True)
    rows = [each.rows.lazy() if each.stored is None else each.stored for each in shown]
    pl.concat(rows).sink_parquet(folder / "rows.parquet")
    pl.concat([each.outcomes for each in shown]).write_parquet(folder / "outcomes.parquet")
    write_file(folder / "verdict.json", json.dumps(_document([each.verdict for each in shown]), indent=2) + "\n")
    page = write_report(shown, answer.page)
    page.write_text(page.read_text(encoding="utf-8") + f"<!-- {made_of} -->\n", encoding="utf-8")
    write_checksums(folder, WRITTEN)


def _document(verdicts: Sequence[Verdict], folder: Path | None = None) -> dict[str, Any]:
    """What verdict.json holds: the verdict, or those of several models.

    Args:
        folder: of outcomes.parquet, whose rows and shares are added.
    """
    content = [verdict.model_dump(mode="json") for verdict in verdicts]
    if folder is not None:
        import polars as pl

        outcomes = pl.read_parquet(folder / "outcomes.parquet")
        for own, verdict in zip(content, verdicts, strict=True):
            runs = [training.run for training in verdict.trainings]
            own["shares"] = [share.model_dump(mode="json") for share in verdict.answer.shares] if verdict.answer else []
            own["outcomes"] = outcomes.filter(pl.col("run").is_in(runs)).to_dicts()
    return content[0] if len(content) == 1 else {"audits": content}
