"""`heedful sweep`: the runs of a grid, those that are missing done by a cluster, all in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from heedful.cli import command_options
from heedful.cli.command_options import argument, flag, open_store, option
from heedful.cli.lists import SHORT_KEY
from heedful.cli.output import make_table, output
from heedful.errors import SettingError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from heedful.jobs.planning import Plan
    from heedful.settings import Run
    from heedful.store.store import Store

WIDE = 200
FIRST_ROWS = 50
"""Rows of a long table that are printed."""


@dataclass(frozen=True, kw_only=True)
class SweepOptions(command_options.FolderOptions, command_options.ClusterOptions):
    """The options of `heedful sweep`."""

    file: str = argument(
        "Settings, a table `grid` of lists to combine, a table `audit` to audit each run.", "FILE.toml"
    )
    dry_run: bool = flag("List the runs and what they may take; do none.", "--dry-run")
    out: str | None = option("Also write the table to this file, .csv or .parquet.")


def sweep(options: SweepOptions) -> None:
    """Train every run of FILE.toml that is not stored yet, and print one table of all runs."""
    out = options.out
    if out is not None and Path(out).suffix not in (".csv", ".parquet"):
        raise SettingError(f"--out must be a file ending in .csv or .parquet; it was '{out}'.")
    from heedful.cli.progress import show_jobs
    from heedful.jobs.executors import cores
    from heedful.jobs.planning import plan_sweep
    from heedful.jobs.running import carry_out
    from heedful.jobs.sweep_file import read_sweep
    from heedful.store.folders import check_file_writable

    if out is not None:
        check_file_writable(out, "--out")
    asked, store = read_sweep(options.file), open_store(options)
    plan = plan_sweep(asked.runs, asked.audit, store)
    missing = tuple(plan.missing(store))
    if options.dry_run or not missing:
        expected = estimate(plan.runs, store, min(options.workers or cores(), max(len(missing), 1)))
        if audits := sum(key in missing for key in plan.audits):
            expected = f"{expected} {audits} audits come on top."
        _finish(plan, store, missing, {}, out, expected)
        return
    open_store(options, "runs", *(["audits"] if plan.audits else []))
    errors: dict[str, str] = {}

    def describe(key: str) -> str:
        audit = plan.audits.get(key)
        return f"{key} in {store.read(key).seconds:.1f} s" if audit is None else f"audit of {audit.run}"

    where = {"device": options.device, "workers": options.workers, "scheduler": options.scheduler}
    try:
        with show_jobs(output().progress, {}, errors, describe) as (report, _):
            carry_out(plan, store, **where, in_parts=False, report=report)
    finally:  # the table also where that ends early
        _finish(plan, store, missing, errors, out)
    if errors:
        raise typer.Exit(1)


def _finish(
    plan: "Plan",
    store: "Store",
    missing: tuple[str, ...],
    errors: Mapping[str, str],
    out: str | None,
    expected: str | None = None,
) -> None:
    """Write the table of all runs in their present state; print it, below it the errors and what is left.

    Args:
        missing: keys of what was not there before.
        expected: how long it may take.
    """
    from heedful.jobs.result_table import result_table

    cached, audits = set(plan.wanted) - set(missing), {request.run: request for request in plan.audits.values()}
    rows = result_table(plan.runs, store, errors, cached, audits=audits)
    printed = output()
    if out is not None:
        from heedful.store.folders import atomic_file

        with atomic_file(Path(out)) as part:
            _ = _harmless(rows).write_csv(part) if out.endswith(".csv") else rows.write_parquet(part)
    _print_table(printed.console, rows)
    failed = rows.filter(rows["error"].is_not_null()).select("key", "error").iter_rows()
    printed.say(*(f"{key} failed: {error}" for key, error in failed))
    counts = {status: int((rows["status"] == status).sum()) for status in ("cached", "done", "failed", "left")}
    if counts["left"]:
        printed.say(f"{counts['left']} of {len(rows)} runs are left to do.")
    if expected is not None:
        printed.say(expected)
    document: dict[str, Any] = {**counts, "runs": rows.to_dicts(), "table": out, "estimate": expected}
    printed.end(document, result=", ".join(f"{count} {status}" for status, count in counts.items()))


def _print_table(console: "Console", rows: "pl.DataFrame") -> None:
    """The table without what is too much for the terminal: the last scores, and rows beyond the first."""
    if not console.is_terminal:  # a file or pipe has no width: all columns are kept
        console.width = max(console.width, WIDE)
    head = {name: name.rpartition(".")[2] for name in rows.columns if name != "error" and "macro" not in name}
    shown = [
        [_cell(name, value) for name, value in row.items()] for row in rows.head(FIRST_ROWS).select(*head).to_dicts()
    ]
    names = _fitting(head, shown, console.width)
    places = [place for place, name in enumerate(head) if name in names]
    text = [place for place, name in enumerate(names) if not rows.schema[name].is_numeric()]
    console.print(make_table([head[name] for name in names], [[row[p] for p in places] for row in shown], text=text))
    if len(rows) > FIRST_ROWS:
        console.print(f"{len(rows) - FIRST_ROWS:,} more rows; --out FILE.csv writes all.")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return value[:SHORT_KEY] if name == "key" else f"{value:.3f}" if isinstance(value, float) else str(value)


def _fitting(head: Mapping[str, str], rows: list[list[str]], width: int) -> list[str]:
    """The columns that there is room for: if necessary without the time, then without scores and counts."""
    widths = {name: 1 + max([len(head[name]), *(len(row[at]) for row in rows)]) for at, name in enumerate(head)}
    needed = ("key", "seed", "status", "accuracy", "answer", "fails")
    spare = ["seconds", *(name for name in head if "." not in name and name not in (*needed, "seconds"))]
    kept = list(head)
    for name in spare:
        if name in kept and sum(widths[each] for each in kept) > width:
            kept.remove(name)
    return kept


def _harmless(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The same, with an apostrophe before text that a spreadsheet would treat as a formula."""
    import polars as pl

    text = pl.col(pl.String)
    return rows.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


def estimate(planned: "Mapping[str, Run]", store: "Store", workers: int) -> str:
    """How many of these runs are still to be done, and how long that may take, as text."""
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
