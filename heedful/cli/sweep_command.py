"""`heedful sweep`: the runs of a grid, those that are missing done by a cluster, all in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli import command_options
from heedful.cli.output import output
from heedful.cli.progress import live_counts
from heedful.errors import SettingError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from heedful.jobs.planning import Plan
    from heedful.jobs.request import AuditRequest
    from heedful.settings import Run
    from heedful.store.store import Store

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE.toml", help="Settings, a table `grid` of lists to combine, a table `audit` to audit each run."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and what they may take; do none.")]
Out = Annotated[str | None, typer.Option(help="Also write the table to this file, .csv or .parquet.")]

WIDE = 200
FIRST_ROWS = 50
"""Rows of a long table that are printed."""
SHORT_KEY = 8
"""Characters of a key that the table prints: enough to name the run by."""


def sweep(
    file: File,
    scheduler: command_options.Scheduler = None,
    workers: command_options.Workers = None,
    dry_run: DryRun = False,
    out: Out = None,
    runs: command_options.Runs = "runs",
    audits: command_options.Audits = "audits",
    device: command_options.Device = "cpu",
) -> None:
    """Train every run of FILE.toml that is not stored yet, and print one table of all runs."""
    if out is not None and Path(out).suffix not in (".csv", ".parquet"):
        raise SettingError(f"--out must be a file ending in .csv or .parquet; it was '{out}'.")
    from heedful.jobs.executors import cores
    from heedful.jobs.planning import plan_sweep
    from heedful.jobs.sweep_file import read_sweep
    from heedful.store.folders import check_file_writable, check_writable
    from heedful.store.store import Store

    if out is not None:
        check_file_writable(out, "--out")
    asked, store = read_sweep(file), Store(runs, audits)
    plan = plan_sweep(asked.runs, asked.audit, store)
    planned = _Sweep(plan, store, tuple(plan.missing(store)))
    if dry_run or not planned.missing:
        _finish(planned, {}, out, planned.expected(min(workers or cores(), max(len(planned.missing), 1))))
        return
    check_writable(runs, "--runs")
    if plan.audits:
        check_writable(audits, "--audits")
    if _do(planned, scheduler, workers, device, out):
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Sweep:
    """What a sweep must have in the end, and what of it was there before.

    Args:
        missing: keys of what was not.
    """

    plan: "Plan"
    store: "Store"
    missing: tuple[str, ...]

    @property
    def audits(self) -> "dict[str, AuditRequest]":
        """By the key of the run that each is of."""
        return {request.run: request for request in self.plan.audits.values()}

    def table(self, errors: Mapping[str, str]) -> "pl.DataFrame":
        """All runs as they stand now."""
        from heedful.jobs.result_table import result_table

        cached = set(self.plan.wanted) - set(self.missing)
        return result_table(self.plan.runs, self.store, errors, cached, audits=self.audits)

    def describe(self, key: str) -> str:
        """The line of a run or an audit that is done."""
        if key in self.plan.audits:
            return f"audit of {self.plan.audits[key].run}"
        return f"{key} in {self.store.read(key).seconds:.1f} s"

    def expected(self, workers: int) -> str:
        """What there is to do, and how long it may take."""
        runs = estimate(self.plan.runs, self.store, workers)
        audits = sum(key in self.missing for key in self.plan.audits)
        return f"{runs} {audits} audits come on top." if audits else runs


def _do(sweep: _Sweep, scheduler: str | None, workers: int | None, device: str, out: str | None) -> dict[str, str]:
    """Do what is missing and print the table, also where that ends early; why some failed, by key."""
    from heedful.jobs.running import carry_out

    errors = dict[str, str]()
    where = {"device": device, "workers": workers, "scheduler": scheduler, "in_parts": False}
    try:
        with live_counts(output().progress, errors, sweep.describe) as report:
            carry_out(sweep.plan, sweep.store, **where, report=report)
    finally:
        _finish(sweep, errors, out)
    return errors


def _finish(sweep: _Sweep, errors: Mapping[str, str], out: str | None, expected: str | None = None) -> None:
    """Write the table; print it, below it the errors and what is left."""
    printed, rows = output(), sweep.table(errors)
    if out is not None:
        _write(rows, Path(out))
    _print_table(printed.console, rows)
    for key, error in rows.filter(rows["error"].is_not_null()).select("key", "error").iter_rows():
        printed.console.print(f"{key} failed: {error}", markup=False, soft_wrap=True)
    counts = {status: int((rows["status"] == status).sum()) for status in ("cached", "done", "failed", "left")}
    if counts["left"]:
        printed.console.print(f"{counts['left']} of {len(rows)} runs are left to do.")
    if expected is not None:
        printed.console.print(expected, markup=False)
    document: dict[str, Any] = {**counts, "runs": rows.to_dicts(), "table": out, "estimate": expected}
    printed.end(document, result=", ".join(f"{count} {status}" for status, count in counts.items()))


def _print_table(console: "Console", rows: "pl.DataFrame") -> None:
    """The table without what is too much for the terminal: the last scores, and rows beyond the first."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    if not console.is_terminal:  # a file or pipe has no width: nothing need be left out
        console.width = max(console.width, WIDE)
    head = {name: name.rpartition(".")[2] for name in rows.columns if name != "error" and "macro" not in name}
    shown = [
        [_cell(name, value) for name, value in row.items()] for row in rows.head(FIRST_ROWS).select(*head).to_dicts()
    ]
    names = _fitting(head, shown, console.width)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in names:
        right = "right" if rows.schema[name].is_numeric() else "left"
        table.add_column(escape(head[name]), justify=right, no_wrap=name == "key", overflow="fold")
    places = [place for place, name in enumerate(head) if name in names]
    for row in shown:
        table.add_row(*(escape(row[place]) for place in places))
    console.print(table)
    if len(rows) > FIRST_ROWS:
        console.print(f"{len(rows) - FIRST_ROWS:,} more rows; --out FILE.csv writes all.")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return value[:SHORT_KEY] if name == "key" else f"{value:.3f}" if isinstance(value, float) else str(value)


def _fitting(head: Mapping[str, str], rows: list[list[str]], width: int) -> list[str]:
    """The columns that there is room for: if need be without the time, then without scores and counts."""
    widths = {name: 1 + max([len(head[name]), *(len(row[at]) for row in rows)]) for at, name in enumerate(head)}
    needed = ("key", "seed", "status", "accuracy", "answer", "fails")
    spare = ["seconds", *(name for name in head if "." not in name and name not in (*needed, "seconds"))]
    kept = list(head)
    for name in spare:
        if name in kept and sum(widths[each] for each in kept) > width:
            kept.remove(name)
    return kept


def _write(rows: "pl.DataFrame", out: Path) -> None:
    from heedful.store.folders import atomic_file

    with atomic_file(out) as part:
        _ = _harmless(rows).write_csv(part) if out.suffix == ".csv" else rows.write_parquet(part)


def _harmless(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The same, with an apostrophe before text that a spreadsheet would take for a formula."""
    import polars as pl

    text = pl.col(pl.String)
    return rows.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


def estimate(planned: "Mapping[str, Run]", store: "Store", workers: int) -> str:
    """How many of these runs are still to be done, and how long that may take, in words."""
    from heedful.formatting import format_seconds
    from heedful.jobs.result_table import Durations

    left = [run for key, run in planned.items() if not store.has(key)]
    if not left:
        return "All are done."
    durations = Durations(store.listing()[0].values())
    known = [seconds for run in left if (seconds := durations.of(run)) is not None]
    if not known:
        return f"{len(left)} runs to do; no finished run resembles them, so their time is unknown."
    guess = sum(known) / len(known) * len(left) / workers
    basis = "" if len(known) == len(left) else f" (judging by the {len(known)} that resemble a finished run)"
    return f"{len(left)} runs to do: about {format_seconds(guess)} on {workers} workers{basis}."
