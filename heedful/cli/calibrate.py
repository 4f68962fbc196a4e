"""`heedful calibrate`: the battery on attention of known quality."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.options import Scheduler, Workers
from heedful.cli.output import output
from heedful.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.studies.calibration.page import CalibrationReport
    from heedful.studies.calibration.suite import Result

Draws = Annotated[int, typer.Option(min=1, max=100_000, help="Draws of each world: 100 texts each.")]
Worlds = Annotated[
    list[str] | None, typer.Option("--world", help="Only this world; may be given several times. Default: all.")
]
Out = Annotated[str, typer.Option(help="Folder for calibration.html, calibration.md and calibration.json.")]


def calibrate(
    draws: Draws = 20,
    world: Worlds = None,
    out: Out = "calibration",
    scheduler: Scheduler = None,
    workers: Workers = None,
) -> None:
    """Test the battery itself, on attention of known quality: good attention must hold, bad attention must not."""
    from heedful.errors import pick
    from heedful.runs.cluster import connected
    from heedful.studies.calibration.page import CalibrationReport, outcome, write_calibration
    from heedful.studies.calibration.suite import WORLDS, tallies
    from heedful.studies.calibration.suite import calibrate as calibrate_battery

    printed = output()
    names = tuple(dict.fromkeys(world)) if world else tuple(WORLDS)
    for name in names:
        pick("world", name, WORLDS)
    results: list[Result] = []
    interrupted = False
    with connected(scheduler, workers=workers) as client, progress_bar(printed.progress) as bar:
        task = bar.add_task("draws", total=draws * len(names))

        def report(done: "Sequence[Result]") -> None:
            results.extend(done)
            bar.advance(task)

        try:
            counted = calibrate_battery(draws, worlds=names, client=client, report=report)
        except KeyboardInterrupt:
            interrupted, counted = True, tallies(results)
    if not counted:
        raise typer.Exit(130)
    finished = CalibrationReport(tuple(counted), min(tally.draws for tally in counted), options.command_line())
    _print(printed.console, finished)
    page = write_calibration(finished, Path(out))
    printed.console.print(f"Written: {page}", markup=False, soft_wrap=True)
    printed.end(
        {"page": str(page), "draws": finished.draws, "shortfalls": [str(missed) for missed in finished.shortfalls]},
        result=outcome(finished),
    )
    if interrupted:
        raise typer.Exit(130)
    if finished.shortfalls:
        raise typer.Exit(1)


def _print(console: "Console", report: "CalibrationReport") -> None:
    """A row for each world, then every rule that is broken."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from heedful.studies.calibration.page import outcome, summary_rows

    head, rows = summary_rows(report)
    table = Table(box=SIMPLE_HEAD)
    for name in head:
        table.add_column(name, justify="left" if name == "world" else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(outcome(report), markup=False)
    for missed in report.shortfalls:
        console.print(f"  {missed}", markup=False)
