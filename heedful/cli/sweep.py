"""`heedful sweep`: the runs of a grid, those that are missing done by a cluster, all in one table."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.progress import live_counts
from heedful.errors import SettingError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from heedful.runs.store import Store
    from heedful.settings import Run

File = Annotated[str, typer.Argument(metavar="FILE.toml", help="Settings, and a table `grid` of lists to combine.")]
Scheduler = Annotated[
    str | None, typer.Option(help="A running Dask cluster, tcp://HOST:PORT. Without it: one worker a core, here.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes to start here. Default: one a core.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and what they may take; do none.")]
Out = Annotated[str | None, typer.Option(help="Also write the table to this file, .csv or .parquet.")]


def sweep(
    file: File,
    scheduler: Scheduler = None,
    workers: Workers = None,
    dry_run: DryRun = False,
    out: Out = None,
    runs: options.Runs = "runs",
    device: options.Device = "cpu",
) -> None:
    """Do every run of FILE.toml that is not done yet, and print one table of all."""
    if out is not None and Path(out).suffix not in (".csv", ".parquet"):
        raise SettingError(f"--out must be a file ending in .csv or .parquet; it was '{out}'.")
    from rich.console import Console

    from heedful.runs.cluster import connected, cores
    from heedful.runs.grid import read_grid, unique_runs
    from heedful.runs.results import result_table
    from heedful.runs.store import Store
    from heedful.runs.sweep import sweep as sweep_runs

    # A file or pipe has no width: there the table need not be squeezed into eighty columns.
    console, store = Console(highlight=False, width=None if sys.stdout.isatty() else 200), Store(runs)
    planned = unique_runs(read_grid(file), store)
    cached = [key for key, run in planned.items() if run in store]
    missing = len(planned) - len(cached)
    count = min(workers or cores(), max(missing, 1))
    if dry_run or not missing:
        _finish(console, result_table(planned, store, {}, cached), out)
        console.print(_estimate(planned, store, count))
        return
    errors: dict[str, str] = {}
    with connected(scheduler, workers=count) as client:
        try:
            with live_counts(console, errors, lambda key: f"{key} in {store.read(key).seconds:.1f} s") as report:
                sweep_runs(planned, store, client, device=device, report=report)
        finally:
            _finish(console, result_table(planned, store, errors, cached), out)
    if errors:
        raise typer.Exit(1)


def _finish(console: "Console", rows: "pl.DataFrame", out: str | None) -> None:
    """Write the table; print it without what is too much for a terminal, below it the errors and what is left."""
    if out is not None:
        _write(rows, Path(out))
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    shown = rows.drop("error", *(name for name in rows.columns if "macro" in name))
    table = Table(box=SIMPLE_HEAD)
    for name, kind in shown.schema.items():
        right = "right" if kind.is_numeric() else "left"
        table.add_column(escape(name.rpartition(".")[2]), justify=right, no_wrap=name == "key", overflow="fold")
    for row in shown.iter_rows():
        table.add_row(*("-" if v is None else f"{v:.3f}" if isinstance(v, float) else escape(str(v)) for v in row))
    console.print(table)
    for key, error in rows.filter(rows["error"].is_not_null()).select("key", "error").iter_rows():
        console.print(f"{key} failed: {error}", markup=False)
    if left := (rows["status"] == "left").sum():
        console.print(f"{left} of {len(rows)} runs are left to do.")


def _write(rows: "pl.DataFrame", out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.part")
    _ = rows.write_csv(part) if out.suffix == ".csv" else rows.write_parquet(part)
    part.replace(out)


def _estimate(planned: "dict[str, Run]", store: "Store", workers: int) -> str:
    from heedful.formatting import format_seconds
    from heedful.runs.results import expected_seconds

    finished = list(store.listing()[0].values())
    times = [expected_seconds(run, finished) for run in planned.values() if run not in store]
    known = [seconds for seconds in times if seconds is not None]
    if not times:
        return "All are done."
    if not known:
        return f"{len(times)} runs to do; no finished run resembles them, so their time is unknown."
    guess = sum(known) / len(known) * len(times) / workers
    basis = "" if len(known) == len(times) else f" (judging by the {len(known)} that resemble a finished run)"
    return f"{len(times)} runs to do: about {format_seconds(guess)} on {workers} workers{basis}."
