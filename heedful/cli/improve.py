"""`heedful improve`: from a finished run to one whose attention points more often, at no cost in accuracy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import command_options
from heedful.cli.output import output
from heedful.errors import SettingError
from heedful.formatting import format_estimate, format_interval, format_number

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.jobs.improving import Improvement, MethodScores
    from heedful.jobs.planning import Plan
    from heedful.settings import Run
    from heedful.store.store import Store

Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY",
        help="A finished run (the first characters of its key will do).",
        autocompletion=command_options.runs,
    ),
]
MostLost = Annotated[
    float,
    typer.Option(min=0.0, max=100.0, help="Percentage points of accuracy that may be lost, measured on dev texts."),
]
Examples = Annotated[int | None, typer.Option(min=20, help="Dev texts that judge each method, at most. Default: 400.")]
Out = Annotated[str, typer.Option(help="Folder for report.html, with before and after, and for improvement.json.")]

OWN_DATA = "To train on other data, train a run on them first: heedful train DATA."
LEGEND = (
    "Points: share of all dev texts in which attention points to the key words; texts in which no small set of words "
    "decides count against a method. * chosen."
)


def improve(
    key: Key,
    max_accuracy_drop: MostLost = 0.5,
    examples: Examples = None,
    out: Out = "report",
    runs: command_options.Runs = "runs",
    audits: command_options.Audits = "audits",
    device: command_options.Device = "cpu",
) -> None:
    """Search for training that makes a finished run's attention point more often; print before and after.

    Training methods are judged on dev texts. The best one is tested on test texts, with seeds that had no part in the
    choice. Finished work is stored: the same command continues after an interruption.
    """
    from heedful.jobs.improving import improve as search
    from heedful.runs.sources import recorded_source
    from heedful.store.folders import check_writable
    from heedful.store.store import Store

    printed, store = output(), Store(runs, audits)
    for place, option in ((runs, "--runs"), (audits, "--audits"), (out, "--out")):
        check_writable(place, option)
    run = _improvable(store, key)
    if note := recorded_source(run, OWN_DATA):
        printed.note(note)

    def carry_out(plan: "Plan", purpose: str) -> None:
        from heedful.cli.auditing import make_audits

        printed.progress.print(f"{purpose}: {len(plan.audits)} runs", markup=False, soft_wrap=True)
        make_audits(printed.progress, plan, store, device=device)

    reached = search(run, store, carry_out, max_accuracy_drop=max_accuracy_drop / 100, texts=examples)
    _print(printed, reached, Path(out), max_accuracy_drop / 100)


def _improvable(store: "Store", key: str) -> "Run":
    from heedful.runs.classifiers import is_classifier

    if not store.has_prefix(key) and is_classifier(key):
        raise SettingError(
            f"KEY must name a finished run; '{key}' is a Hugging Face model, whose own attention the recipe does not "
            f"train. Train an attention of ours over its encoder: heedful train DATA --encoder hf:{key}."
        )
    return store.read(store.find(key)).run


def _print(printed: "Output", reached: "Improvement", folder: Path, max_accuracy_drop: float) -> None:
    from heedful.cli.printed_audit import compare_models, print_models

    _print_points(printed.console, reached)
    document = _document(reached)
    if reached.tested is None:
        line = (
            f"No method is better than the run's own within {100 * max_accuracy_drop:g} percentage points of accuracy."
        )
        for each in (line, *_refused(reached, max_accuracy_drop)):
            printed.console.print(each, markup=False, soft_wrap=True)
        _write(document, folder)
        printed.end(document, result=reached.key)
        return
    tested = reached.tested
    compared = compare_models([tested.before, tested.after])
    printed.console.print("\nBefore and after, on test texts, from seeds that had no part in the choice:\n")
    print_models(printed.console, compared.table())
    document = {**document, "comparison": compared.document()}
    _write(document, folder)
    page = _write_page(reached, folder, max_accuracy_drop)
    for line in _closing(reached):
        printed.console.print(line, markup=False, soft_wrap=True)
    printed.console.print(f"report: {page}", markup=False, soft_wrap=True)
    printed.end({**document, "report": str(page)}, result=reached.key)


def _refused(reached: "Improvement", max_accuracy_drop: float) -> list[str]:
    """Why each method that points more often than the run's own was not chosen."""
    from heedful.jobs.improving import refusal

    better = [method for method in reached.others if method.points > reached.own_way.points]
    return [f"{method.name} {refusal(method, max_accuracy_drop)}." for method in better]


def _print_points(console: "Console", reached: "Improvement") -> None:
    rows = [
        (f"{method.name} *" if method.name == reached.chosen.name else method.name, *_numbers(method))
        for method in (reached.own_way, *reached.others)
    ]
    _print_table(console, "Training methods, on dev texts", ("accuracy", "lost", "points (95%)"), rows)
    console.print(LEGEND, style="dim", markup=False)


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


def _numbers(method: "MethodScores") -> tuple[str, ...]:
    lost = "" if method.lost_low == method.lost_high else f"{100 * method.lost:.1f}"
    return format_number(method.accuracy), lost, format_estimate(method.points, method.points_low, method.points_high)


def _closing(reached: "Improvement") -> list[str]:
    assert reached.tested is not None
    own, chosen = reached.tested.own_way, reached.tested.chosen
    interval = format_interval(100 * chosen.lost_low, 100 * chosen.lost_high)
    return [
        f"{chosen.name}: attention points in {format_number(own.points)} of all test texts before, in "
        f"{format_number(chosen.points)} after; accuracy lost: {100 * chosen.lost:.1f} percentage points "
        f"(95% interval {interval}).",
        f"kept: run {reached.key}. Audit or explain it: heedful audit --model {reached.key}",
    ]


def _document(reached: "Improvement") -> dict[str, Any]:
    tested = () if reached.tested is None else (reached.tested.own_way, reached.tested.chosen)
    dev, test = ([each.model_dump() for each in methods] for methods in ((reached.own_way, *reached.others), tested))
    return {"key": reached.key, "chosen": reached.chosen.name, "dev": dev, "test": test}


def _write(document: dict[str, Any], folder: Path) -> None:
    import json

    from heedful.cli.output import without_nan
    from heedful.store.folders import write_file

    content = json.dumps(without_nan(document), indent=2, allow_nan=False, default=str)
    write_file(folder / "improvement.json", content + "\n")


def _write_page(reached: "Improvement", folder: Path, max_accuracy_drop: float) -> Path:
    from dataclasses import replace

    from heedful.report import write_report
    from heedful.report.figures.frontier_figure import frontier_figure

    assert reached.tested is not None
    audits = [
        replace(audit, name=name)
        for audit, name in ((reached.tested.before, "before"), (reached.tested.after, "after"))
    ]
    figure = frontier_figure(reached.own_way, reached.others, reached.chosen, max_accuracy_drop)
    return write_report(audits, folder / "report.html", figures=[figure])
