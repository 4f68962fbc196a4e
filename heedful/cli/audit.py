"""`heedful audit`: the main job, from data or a finished run to a verdict and a report."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import options
from heedful.cli.options import make_run, use_threads
from heedful.cli.progress import cores, live_counts, progress_bar, reporter
from heedful.cli.tables import print_verdicts
from heedful.errors import HeedfulError, SettingError
from heedful.settings import AuditSettings, Run, key_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from heedful.report import AuditFiles
    from heedful.training.trained import Trained

Data = Annotated[
    str | None,
    typer.Argument(metavar="[DATA]", help="As for `train`. Without it: an average and a BiLSTM model on mock-1."),
]
Model = Annotated[str | None, typer.Option("--model", help="Key of a finished run to audit, instead of training one.")]
Tests = Annotated[str | None, typer.Option(help="Only these tests, with commas between; `heedful list tests`.")]
Examples = Annotated[int | None, typer.Option(min=1, help="At most so many texts, drawn at random.")]
Seeds = Annotated[
    int, typer.Option(min=1, help="Train so many models, seeds one apart, report across them, and compare them.")
]
Deep = Annotated[
    bool,
    typer.Option(
        "--deep", help="Also the costly tests, and retrain: with uniform attention, and against it (--adversaries)."
    ),
]
Adversaries = Annotated[int, typer.Option(min=0, max=9, help="With --deep: models trained to attend elsewhere.")]
Uniform = Annotated[str | None, typer.Option("--uniform", help="Key of the same model trained with uniform attention.")]
Search = Annotated[bool, typer.Option("--search", help="Also run the authors' search for an adversary.")]
Out = Annotated[str, typer.Option(help="Folder for report.html, rows.parquet and verdict.json.")]

DEMONSTRATION: dict[str, Any] = {
    "data": {"source": "mock-1", "train_limit": 2000, "test_limit": 300},
    "network": {"embed_size": 64, "hidden_size": 64},
    "training": {"epochs": 8, "patience": 2},
}
"""Small enough to train in seconds, large enough to show the field's main finding."""


def audit(
    data: Data = None,
    text: options.Text = None,
    label: options.Label = None,
    query: options.Query = None,
    model: Model = None,
    encoder: options.Encoder = None,
    attention: options.Attention = None,
    method: options.Method = None,
    vectors: options.Vectors = None,
    seed: options.Seed = 0,
    epochs: options.Epochs = None,
    reference: options.Reference = None,
    tests: Tests = None,
    examples: Examples = None,
    seeds: Seeds = 1,
    deep: Deep = False,
    adversaries: Adversaries = 3,
    uniform: Uniform = None,
    search: Search = False,
    settings: options.Set = None,
    out: Out = "report",
    runs: options.Runs = "runs",
    audits: options.Audits = "audits",
    device: options.Device = "cpu",
    threads: options.Threads = 1,
) -> None:
    """Train (or take --model), put every test to its attention, print the verdict and write the report."""
    given = locals()
    plain, own = options.split_settings(settings, "audit")
    _check_describes(given, plain)
    how = audit_settings(tests, examples, search, {"deep": deep and not tests, **own})
    use_threads(threads, device)
    planned = [_finished(model, runs)] if model else [make_run(given, plain)] if data else demonstration(seed)
    planned = [run.model_copy(update={"seed": run.seed + more}) for run in planned for more in range(seeds)]
    from rich.console import Console

    console = Console(highlight=False)
    job = _Job(how, Path(runs), Path(audits), device, deep, adversaries if deep else 0, uniform)
    if deep:
        planned = _train_deep(console, planned, job)
    found = _audit_all(console, planned, job)
    print_verdicts(console, found, seeds)
    written = write_out(found, Path(out))
    console.print(f"report: {written}")


def _check_describes(given: dict[str, Any], settings: list[str]) -> None:
    """Refuse options that describe a run to train where none is trained from them."""
    if given["model"] and given["data"]:
        raise SettingError("give DATA to train on or --model to take a finished run, not both.")
    if given["data"]:
        return
    idle = [f"--{name}" for name in options.PLACES if name not in ("data", "seed") and given[name] is not None]
    idle += [f"--set {setting}" for setting in settings]
    if idle:
        raise SettingError(
            f"{idle[0]} says how to train a model, but there is no DATA to train it on; give DATA first."
        )


def demonstration(seed: int) -> list[Run]:
    """An average and a BiLSTM model on mock-1, small: where attention is faithful, and where it is not."""
    return [
        options.validated({**DEMONSTRATION, "network": {**DEMONSTRATION["network"], "encoder": encoder}, "seed": seed})
        for encoder in ("average", "bilstm")
    ]


def audit_settings(tests: str | None, examples: int | None, search: bool, own: dict[str, Any]) -> AuditSettings:
    """The audit's settings from its options and from `--set audit.NAME=VALUE`."""
    from pydantic import ValidationError

    names = tuple(name.strip() for name in tests.split(",")) if tests else ()
    try:
        how = AuditSettings.model_validate({"tests": names, "examples": examples, "search": search, **own})
    except ValidationError as error:
        raise options.explained(error, "audit.", AuditSettings) from None
    if names:
        from heedful.battery import TESTS
        from heedful.errors import pick

        for name in names:
            pick("test", name, TESTS)
    return how


def _finished(key: str, runs: str) -> Run:
    from heedful.runs.store import Store

    return Store(runs).read(key).run


@dataclass(frozen=True)
class _Job:
    """What every audit of one call shares."""

    how: AuditSettings
    runs: Path
    audits: Path
    device: str
    deep: bool
    adversaries: int
    uniform: str | None


def _train_deep(console: "Console", planned: list[Run], job: _Job) -> list[Run]:
    """Do the runs, the same without attention, and their adversaries, on all cores; the runs with their data's hash."""
    from heedful.runs.cluster import connected
    from heedful.runs.grid import prepare
    from heedful.runs.store import Store
    from heedful.runs.sweep import sweep
    from heedful.runs.worker import load_data

    store, bases = Store(job.runs), [load_data(run)[0] for run in planned]
    beside = [other for run in bases for other in (_without_attention(run), *_adversaries(run, job))]
    runs = prepare([*bases, *beside], store)
    missing = sum(run not in store for run in runs.values())
    if missing:
        errors: dict[str, str] = {}
        with (
            connected(workers=min(cores(), missing)) as client,
            live_counts(console, errors, lambda key: f"{key} in {store.read(key).seconds:.1f} s") as report,
        ):
            sweep(runs, store, client, device=job.device, report=report)
        if errors:
            raise HeedfulError(f"{len(errors)} of {len(runs)} runs failed; the first: {next(iter(errors.values()))}")
    return bases


def _without_attention(run: Run) -> Run:
    return run.model_copy(update={"network": run.network.model_copy(update={"attention": "uniform"})})


def _adversaries(run: Run, job: _Job) -> list[Run]:
    from heedful.runs.grid import ADVERSARY_SEEDS, adversary_of

    return [adversary_of(run, seed) for seed in ADVERSARY_SEEDS[: job.adversaries]]


def _audit_all(console: "Console", planned: list[Run], job: _Job) -> "list[AuditFiles]":
    """Train what is not there, audit what is not there, and read what was found."""
    with progress_bar(console) as bar:
        return [_audit_one(bar, run, _of_other_seeds(run, planned), job) for run in planned]


def _of_other_seeds(run: Run, planned: list[Run]) -> list[Run]:
    """Those of the runs that differ from this one in the seed alone."""
    return [one for one in planned if one.seed != run.seed and one.model_copy(update={"seed": run.seed}) == run]


def _audit_one(bar: "Progress", run: Run, others: list[Run], job: _Job) -> "AuditFiles":
    from heedful.auditing.audit import ensure_audit
    from heedful.auditing.companions import Company
    from heedful.report import read_audit
    from heedful.runs.store import Store
    from heedful.runs.worker import ensure_on, load_data

    store = Store(job.runs)
    run, dataset = load_data(run)

    def trained_now(one: Run) -> "Trained":
        report = reporter(bar, f"{one.network.encoder}, seed {one.seed}: ")
        return ensure_on(one, dataset, store, device=job.device, report=report)[1]

    trained = trained_now(run)
    seeds = tuple(trained_now(one.model_copy(update={"data": run.data})) for one in others)
    retrained = store.load(job.uniform) if job.uniform else None
    if job.deep and retrained is None:
        retrained = store.load(key_of(_without_attention(run)))
    against = tuple(store.load(key_of(one)) for one in _adversaries(run, job))
    reference = store.load(run.reference) if run.reference else None
    task = bar.add_task(f"{run.network.encoder}, seed {run.seed}: auditing", total=None)
    place = ensure_audit(
        trained,
        dataset,
        job.how,
        job.audits,
        Company(retrained, reference, seeds, against),
        device=job.device,
        report=lambda done, total: bar.update(task, completed=done, total=total),
        command=shlex.join(["heedful", *sys.argv[1:]]),
    )
    return read_audit(place)


def write_out(found: "list[AuditFiles]", folder: Path) -> Path:
    """Write report.html, and the rows and verdicts of all audits, into a folder; the report's path."""
    import json

    import polars as pl

    from heedful.report import write_report

    folder.mkdir(parents=True, exist_ok=True)
    pl.concat([one.rows for one in found]).write_parquet(folder / "rows.parquet")
    verdicts = [one.verdict.model_dump(mode="json") for one in found]
    content = verdicts[0] if len(verdicts) == 1 else {"audits": verdicts}
    (folder / "verdict.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    write_report(found, folder / "report.html")
    return folder / "report.html"
