"""`heedful audit`: the main job, from data or a finished run to a verdict and a report."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import options
from heedful.cli.options import make_run, use_threads
from heedful.cli.progress import live_steps, progress_bar, training_reporter
from heedful.errors import SettingError
from heedful.settings import AuditSettings, Run
from heedful.settings.validation import nest_settings, validate_settings

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.report import AuditFiles
    from heedful.runs.companions import PlannedAudit
    from heedful.runs.store import Store

Data = Annotated[
    str | None,
    typer.Argument(metavar="[DATA]", help="As for `train`. Without it: an average and a BiLSTM model on mock-1."),
]
Model = Annotated[str | None, typer.Option("--model", help="Key of a finished run to audit, instead of training one.")]
Tests = Annotated[str | None, typer.Option(help="Only these tests, separated by commas; see `heedful list tests`.")]
Examples = Annotated[int | None, typer.Option(min=1, help="Audit at most N texts, drawn at random.")]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Train N models with consecutive seeds, in parallel, and answer for them together. Default: 3 where the "
        "audit trains, 1 with --model.",
    ),
]
Deep = Annotated[
    bool,
    typer.Option(
        "--deep",
        help="Also run the costly tests, and retrain: with uniform attention, and against it (--adversaries).",
    ),
]
Adversaries = Annotated[int, typer.Option(min=0, max=9, help="With --deep: how many models to train as adversaries.")]
Uniform = Annotated[str | None, typer.Option("--uniform", help="Key of the same model trained with uniform attention.")]
Search = Annotated[bool, typer.Option("--search", help="Also run the authors' search for adversarial attention.")]
NoTexts = Annotated[
    bool, typer.Option("--no-texts", help="Write a report without any text or word of the data, for confidential ones.")
]
Out = Annotated[str, typer.Option(help="Folder for report.html, rows.parquet and verdict.json.")]

SEEDS = 3
"""Trainings behind a verdict where nobody says how many: one is one draw."""

DEMONSTRATION: dict[str, Any] = {
    "data": {"source": "mock-1", "train_limit": 2000, "test_limit": 200},
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
    seeds: Seeds = None,
    deep: Deep = False,
    adversaries: Adversaries = 3,
    uniform: Uniform = None,
    search: Search = False,
    settings: options.Set = None,
    no_texts: NoTexts = False,
    out: Out = "report",
    runs: options.Runs = "runs",
    audits: options.Audits = "audits",
    device: options.Device = "cpu",
    threads: options.Threads = 1,
) -> None:
    """Train (or take --model), put every test to its attention, print the verdict and write the report."""
    arguments = locals()
    of_run, of_audit = options.split_settings(settings, "audit")
    _check_describes(arguments, of_run)
    how = audit_settings(tests, examples, search, {"deep": deep and not tests, **of_audit})
    use_threads(threads, device)
    from rich.console import Console

    from heedful.cli.verdicts import print_verdicts
    from heedful.report.pooled import pool_by_model
    from heedful.runs.companions import plan_audits
    from heedful.runs.store import Store

    console, store = Console(highlight=False), Store(runs)
    chosen = [store.read(model).run] if model else [make_run(arguments, of_run)] if data else demonstration(seed)
    retrained = store.read(uniform).run if uniform else None
    count = seeds or (1 if model else SEEDS)
    planned = plan_audits(chosen, seeds=count, deep=deep, adversaries=adversaries, retrained=retrained)
    finished = pool_by_model(_audit_all(console, planned, how, store, Path(audits), device))
    page = write_out(finished, Path(out), with_texts=not no_texts)
    print_verdicts(console, finished)
    console.print(f"report: {page}", soft_wrap=True)
    for each in finished:
        console.print(
            f'explain a text ({each.name}): heedful explain "TEXT" --model {each.verdict.run}', soft_wrap=True
        )


def _check_describes(arguments: dict[str, Any], settings: list[str]) -> None:
    """Refuse options that describe a run to train where none is trained from them."""
    if arguments["model"] and arguments["data"]:
        raise SettingError("give DATA to train on or --model to take a finished run, not both.")
    if arguments["data"]:
        return
    idle = [f"--{name}" for name in options.PLACES if name not in ("data", "seed") and arguments[name] is not None]
    idle += [f"--set {setting}" for setting in settings]
    if idle:
        raise SettingError(
            f"{idle[0]} says how to train a model, but there is no DATA to train it on; give DATA first."
        )


def demonstration(seed: int) -> list[Run]:
    """An average and a BiLSTM model on mock-1, small: where attention is faithful, and where it is not."""
    networks = [{**DEMONSTRATION["network"], "encoder": encoder} for encoder in ("average", "bilstm")]
    return [validate_settings(Run, {**DEMONSTRATION, "network": network, "seed": seed}) for network in networks]


def audit_settings(tests: str | None, examples: int | None, search: bool, own: dict[str, Any]) -> AuditSettings:
    """The audit's settings from its options and from `--set audit.NAME=VALUE` or `--set audit.TEST.OPTION=VALUE`."""
    names = tuple(name.strip() for name in tests.split(",")) if tests else ()
    fields = {name: value for name, value in own.items() if name.split(".")[0] in AuditSettings.model_fields}
    of_tests = {f"options.{name}": value for name, value in own.items() if name not in fields}
    if search:
        of_tests["options.adversarial_attention.search"] = True
    flat = {"tests": names, "examples": examples, **fields, **of_tests}
    if misplaced := [name for name in own if name not in fields and "." not in name]:
        known = ", ".join(AuditSettings.model_fields)
        raise SettingError(
            f"unknown setting 'audit.{misplaced[0]}'. Known: {known}; a test's option is audit.TEST.OPTION."
        )
    how = validate_settings(AuditSettings, nest_settings(flat), "audit.")
    if names or how.options:
        from heedful.auditing.rows import chosen_tests

        chosen_tests(how)
    return how


def _audit_all(
    console: "Console",
    planned: "list[PlannedAudit]",
    settings: AuditSettings,
    store: "Store",
    folder: Path,
    device: str,
) -> "list[AuditFiles]":
    """Train what is not there, audit what is not there, and read what was found."""
    from heedful.report import read_audit
    from heedful.runs.companions import audit_in_parallel, audit_place

    places = [audit_place(each, settings, folder) for each in planned]
    if all((place / "verdict.json").is_file() for place in places):
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


def _name(run: Run) -> str:
    return f"{run.network.encoder}, seed {run.seed}"


def write_out(audits: "list[AuditFiles]", folder: Path, *, with_texts: bool = True) -> Path:
    """Write report.html, and the rows and verdicts of all audits, into a folder; the report's path."""
    import json

    import polars as pl

    from heedful.report import without_texts, write_report
    from heedful.schema import updated

    folder.mkdir(parents=True, exist_ok=True)
    command = options.command_line()
    audits = [replace(each, verdict=updated(each.verdict, command=command)) for each in audits]
    if not with_texts:
        audits = [without_texts(each) for each in audits]
    pl.concat([frame for each in audits for frame in (each.rows, each.dev)]).write_parquet(folder / "rows.parquet")
    verdicts = [each.verdict.model_dump(mode="json") for each in audits]
    content = verdicts[0] if len(verdicts) == 1 else {"audits": verdicts}
    (folder / "verdict.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    write_report(audits, folder / "report.html")
    return folder / "report.html"
