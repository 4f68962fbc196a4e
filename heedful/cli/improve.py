"""`heedful improve`: from a finished run to one whose attention tells more of the truth, at no cost in accuracy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import completion, options
from heedful.cli.output import output
from heedful.errors import SettingError
from heedful.formatting import format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.improving import Improvement, Point
    from heedful.report import AuditFiles
    from heedful.runs.companions import PlannedAudit
    from heedful.runs.store import Store
    from heedful.settings import AuditSettings, Run

Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="A finished run (the first characters of its key will do).", autocompletion=completion.runs
    ),
]
MostLost = Annotated[
    float,
    typer.Option(min=0.0, max=100.0, help="Percentage points of accuracy that may be lost, measured on dev texts."),
]
Examples = Annotated[
    int | None, typer.Option(min=20, help="Dev texts that judge each way to train, at most. Default: 400.")
]
Out = Annotated[str, typer.Option(help="Folder for report.html, with before and after, and for improvement.json.")]

OWN_DATA = "To train on other data, train a run on them first: heedful train DATA."
LEGEND = (
    "Mean score: of agreement with gradient and leave-one-out, erasure, comprehensiveness, sufficiency, and stability "
    "under attack and over seeds; 0 the floor, 1 the best possible. Sharpness: the largest weight x the number of "
    "words, 1 for even weights. * chosen."
)


def improve(
    key: Key,
    most_lost: MostLost = 0.5,
    examples: Examples = None,
    out: Out = "report",
    runs: options.Runs = "runs",
    audits: options.Audits = "audits",
    device: options.Device = "cpu",
) -> None:
    """Search for training that makes a finished run's attention more faithful; print before and after, keep the best.

    Ways to train are judged on dev texts; the best is then tested on test texts, with seeds that had no part in the
    choice. What is done is stored as it comes: a second call continues.
    """
    from heedful.improving import improve as search
    from heedful.runs.folders import check_writable
    from heedful.runs.sources import recorded_source
    from heedful.runs.store import Store

    printed, store = output(), Store(runs)
    for place, option in ((runs, "--runs"), (audits, "--audits"), (out, "--out")):
        check_writable(place, option)
    run = _improvable(store, key)
    if note := recorded_source(run, OWN_DATA):
        printed.note(note)

    def auditor(planned: "Sequence[PlannedAudit]", settings: "AuditSettings", purpose: str) -> "Sequence[AuditFiles]":
        from heedful.cli.auditing import audit_planned_runs
        from heedful.report import read_audit

        printed.progress.print(f"{purpose}: {len(planned)} trainings", markup=False, soft_wrap=True)
        places = audit_planned_runs(printed.progress, list(planned), settings, store, Path(audits), device)
        return [read_audit(place) for place in places]

    reached = search(run, auditor, most_lost=most_lost / 100, texts=examples)
    _print(printed, reached, Path(out), most_lost / 100)


def _improvable(store: "Store", key: str) -> "Run":
    from heedful.runs.classifiers import is_classifier

    if not store.has_prefix(key) and is_classifier(key):
        raise SettingError(
            f"KEY must name a finished run; '{key}' is a Hugging Face model, whose own attention the recipe does not "
            f"train. Train an attention of ours over its encoder: heedful train DATA --encoder hf:{key}."
        )
    return store.read(store.find(key)).run


def _print(printed: "Output", reached: "Improvement", folder: Path, most_lost: float) -> None:
    from heedful.cli.tables import compare_models, print_models

    _print_points(printed.console, reached)
    document = _document(reached)
    if reached.tested is None:
        line = (
            f"Nothing that was tried is better than the run as it is, at {100 * most_lost:g} points of accuracy lost."
        )
        for each in (line, *_refused(reached, most_lost)):
            printed.console.print(each, markup=False, soft_wrap=True)
        _write(document, folder)
        printed.end(document, result=reached.key)
        return
    tested = reached.tested
    compared = compare_models([tested.before, tested.after])
    printed.console.print("\nBefore and after, on test texts, from seeds that had no part in the choice:\n")
    print_models(printed.console, compared.table())
    _print_scores(printed.console, tested.own_way, tested.chosen)
    document = {**document, "comparison": compared.document()}
    _write(document, folder)
    page = _write_page(reached, folder, most_lost)
    for line in _closing(reached):
        printed.console.print(line, markup=False, soft_wrap=True)
    printed.console.print(f"report: {page}", markup=False, soft_wrap=True)
    printed.end({**document, "report": str(page)}, result=reached.key)


def _refused(reached: "Improvement", most_lost: float) -> list[str]:
    """Of each way to train with a higher mean score than the run's own, what it costs."""
    from heedful.improving.choosing import refusal

    better = [point for point in reached.points if point.mean > reached.own_way.mean]
    return [f"{point.name} {refusal(point, reached.own_way, most_lost)}." for point in better]


def _print_points(console: "Console", reached: "Improvement") -> None:
    rows = [
        (f"{point.name} *" if point.name == reached.chosen.name else point.name, *_numbers(point))
        for point in (reached.own_way, *reached.points)
    ]
    _print_table(console, "Ways to train, on dev texts", ("accuracy", "points lost", "mean score", "sharpness"), rows)
    console.print(LEGEND, style="dim", markup=False)


def _print_scores(console: "Console", before: "Point", after: "Point") -> None:
    """What the mean score is made of: unlike the values above it does not depend on how sharp attention is."""
    rows = [(name.replace("_", " "), score, after.scores.get(name)) for name, score in before.scores.items()]
    rows += [(name, getattr(before, name), getattr(after, name)) for name in ("mean", "sharpness", "evenness")]
    shown = [(name, format_number(old), format_number(new)) for name, old, new in rows]
    _print_table(console, "Scores: 0 the floor, 1 the best", ("before", "after"), shown)


def _print_table(console: "Console", title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.add_column("", overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _numbers(point: "Point") -> tuple[str, ...]:
    lost = "" if point.lost_low == point.lost_high else f"{100 * point.lost:.1f}"
    return format_number(point.accuracy), lost, format_number(point.mean), format_number(point.sharpness)


def _closing(reached: "Improvement") -> list[str]:
    assert reached.tested is not None
    own, chosen = reached.tested.own_way, reached.tested.chosen
    lost = f"{100 * chosen.lost:.1f} points of accuracy"
    interval = format_interval(100 * chosen.lost_low, 100 * chosen.lost_high)
    return [
        f"{chosen.name}: mean score {format_number(own.mean)} before, {format_number(chosen.mean)} after; {lost} lost, "
        f"95 % interval {interval}.",
        "That attention tells the truth does not mean that no other would do: see exclusivity.",
        f"kept: run {reached.key}. Audit or explain it: heedful audit --model {reached.key}",
    ]


def _document(reached: "Improvement") -> dict[str, Any]:
    tested = () if reached.tested is None else (reached.tested.own_way, reached.tested.chosen)
    dev, test = (
        [{**point.model_dump(), "mean": point.mean} for point in points]
        for points in ((reached.own_way, *reached.points), tested)
    )
    return {"key": reached.key, "chosen": reached.chosen.name, "dev": dev, "test": test}


def _write(document: dict[str, Any], folder: Path) -> None:
    import json

    from heedful.cli.output import without_nan

    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(without_nan(document), indent=2, allow_nan=False, default=str)
    (folder / "improvement.json").write_text(content + "\n", encoding="utf-8")


def _write_page(reached: "Improvement", folder: Path, most_lost: float) -> Path:
    from dataclasses import replace

    from heedful.improving.figure import frontier_figure
    from heedful.report import write_report

    assert reached.tested is not None
    audits = [
        replace(audit, name=name)
        for audit, name in ((reached.tested.before, "before"), (reached.tested.after, "after"))
    ]
    figure = frontier_figure(reached.own_way, reached.points, reached.chosen, most_lost)
    return write_report(audits, folder / "report.html", figures=[figure])
