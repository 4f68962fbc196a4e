"""`heedful reproduce`: a paper's runs and audits, its tables beside ours, its claims tested."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import command_options
from heedful.cli.command_options import Scheduler, Workers
from heedful.cli.output import output
from heedful.cli.progress import live_counts
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.papers.pipeline import Prepared
    from heedful.papers.reproduction import Claim, Study, StudyRun, Table
    from heedful.papers.study_pages import StudyReport
    from heedful.store.store import Store

WIDE = 200
FIRST_ROWS = 10
"""Rows of a long table that the terminal shows."""

Paper = Annotated[
    str,
    typer.Argument(
        metavar="PAPER",
        help="A study; `heedful list studies` names them.",
        autocompletion=command_options.names("studies"),
    ),
]
Scale = Annotated[str, typer.Option(help="small (minutes on two cores), medium (an hour or two), paper (all of it).")]
Out = Annotated[str, typer.Option(help="Folder for PAPER.html, PAPER.md, PAPER.json and the figures.")]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List the runs, which of them are done, and what the others may take; do none."),
]


def reproduce(
    paper: Paper,
    scale: Scale = "small",
    out: Out = "studies",
    scheduler: Scheduler = None,
    workers: Workers = None,
    dry_run: DryRun = False,
    runs: command_options.Runs = "runs",
    audits: command_options.Audits = "audits",
    device: command_options.Device = "cpu",
) -> None:
    """Reproduce a paper: do the runs that are missing; print each claim with a verdict, and its tables beside ours."""
    from heedful.jobs.executors import cores
    from heedful.jobs.running import carry_out
    from heedful.papers.pipeline import gather, plan_study
    from heedful.papers.study_pages import as_json, summarize, write_study
    from heedful.store.folders import check_writable
    from heedful.store.store import Store

    printed, store = output(), Store(runs, audits)
    console, processes = printed.console, workers or cores()
    if not console.is_terminal:  # a file or pipe has no width: tables need not be squeezed
        console.width = WIDE
    study, study_runs = _announce(console, paper, scale)
    prepared = _prepare(printed, study_runs, dry_run)
    if prepared is None:
        return
    plan = plan_study(prepared)
    missing = plan.missing(store)
    console.print(f"{len(prepared.runs)} runs and {len(prepared.audits)} audits, {len(missing)} of them to do")
    if dry_run:
        _end_dry_run(printed, prepared, store, len(missing), processes)
        return
    for place, option in ((runs, "--runs"), (audits, "--audits"), (out, "--out")):
        check_writable(place, option)
    errors: dict[str, str] = {}
    if missing:
        names = names_by_key(prepared)
        where = {"device": device, "workers": workers, "scheduler": scheduler, "in_parts": False}
        with live_counts(printed.progress, errors, lambda key: names.get(key, key)) as report_status:
            carry_out(plan, store, **where, report=report_status)
    report = summarize(
        study, gather(scale, prepared, store, store.audits, errors), command_options.command_line(), processes
    )
    page = write_study(report, Path(out))
    print_study(console, report, page.with_suffix(""))
    console.print(f"Written: {page}", markup=False, soft_wrap=True)
    printed.end({"page": str(page), **as_json(report)}, result=str(page))
    if errors:
        raise typer.Exit(1)


def _announce(console: "Console", paper: str, scale: str) -> tuple["Study", "list[StudyRun]"]:
    from heedful.errors import lookup
    from heedful.papers import STUDIES

    study = lookup("study", paper.replace("_", "-"), STUDIES)
    study_runs = study.runs_at(scale)
    study.require()
    console.print(f"{study.paper}\n{scale}: {study.scales[scale]}\nreading data", markup=False)
    return study, study_runs


def _prepare(printed: "Output", study_runs: "list[StudyRun]", dry_run: bool) -> "Prepared | None":
    """What must be done, by key; None for a dry run that ended, since the data is not at hand."""
    from heedful.papers.pipeline import prepare_study

    try:
        return prepare_study(study_runs)
    except HeedfulError as problem:
        if not dry_run:
            raise
        _end_without_data(printed, study_runs, problem)
        return None


def _end_without_data(printed: "Output", study_runs: "list[StudyRun]", problem: HeedfulError) -> None:
    """What there is to do, where the data is not at hand without which nobody knows what is done."""
    cells: dict[str, dict[str, int]] = {}
    for each in study_runs:
        cells.setdefault(f"{each.data}, {each.model}", {"done": 0, "runs": 0})["runs"] += 1
    for name, cell in cells.items():
        printed.console.print(f"{name}: {cell['runs']} runs", markup=False)
    printed.console.print(f"{len(study_runs)} runs to do. Before that: {problem}", markup=False, soft_wrap=True)
    printed.end({"missing": len(study_runs), "cells": cells, "problem": str(problem)}, result=str(len(study_runs)))


def _end_dry_run(printed: "Output", prepared: "Prepared", store: "Store", missing: int, workers: int) -> None:
    """What is done of each cell, and what the rest may take, by finished runs that resemble it."""
    from heedful.cli.sweep_command import estimate

    cells = {}
    for (data, model), members in prepared.cells.items():
        done = sum(prepared.runs[member.run] in store for member in members)
        cells[f"{data}, {model}"] = {"done": done, "runs": len(members)}
        printed.console.print(f"{data}, {model}: {done} of {len(members)} runs done", markup=False)
    expected = estimate(prepared.runs, store, workers)
    printed.console.print(f"{expected} Audits come on top.", markup=False)
    printed.end({"missing": missing, "cells": cells, "estimate": expected}, result=str(missing))


def names_by_key(prepared: "Prepared") -> dict[str, str]:
    """What each run and audit is called while it is done, by key."""
    names: dict[str, str] = {}
    for (data, model), members in prepared.cells.items():
        audited = [member.audit for member in members if member.audit]
        compared = [key for audit in audited for key in prepared.audits[audit].comparison_models]
        names = {**{key: f"companion of {data}, {model}" for key in compared}, **names}
        names |= {member.run: f"{data}, {model}" for member in members}
        names |= {key: f"audit of {data}, {model}" for key in audited}
    return names


def print_study(console: "Console", report: "StudyReport", folder: Path) -> None:
    """How many claims hold, each claim with its verdict, then the tables.

    Args:
        folder: where the pages of long tables are, of which only the first rows are printed.
    """
    from heedful.papers.claim_rule import summary_sentence

    console.print(f"\n[bold]{summary_sentence(report.claims)}[/bold]\n")
    for claim in report.claims:
        _print_claim(console, claim)
    console.print()
    for table in report.tables:
        _print_table(console, table, folder)
    console.print(f"{report.facts['Trained models']} trained models; {report.facts['Computing time']}", markup=False)


def _print_claim(console: "Console", claim: "Claim") -> None:
    from rich.markup import escape
    from rich.padding import Padding
    from rich.text import Text

    from heedful.papers.claim_rule import claim_bounds_text, claim_number

    color = {"confirmed": "green", "contradicted": "red"}.get(claim.verdict, "yellow")
    console.print(f"[bold {color}]{claim.verdict:>13}[/]  {escape(claim.statement)}")
    number = f"{claim_number(claim)}; {claim_bounds_text(claim)}"
    console.print(Padding(Text(number), (0, 0, 0, 15)))
    console.print(Padding(Text(f"{claim.measured} ({claim.source})", style="dim"), (0, 0, 0, 15)))


def _print_table(console: "Console", table: "Table", folder: Path) -> None:
    """A table and its note; of a long one the first rows, and where the others are."""
    from rich import table as rich_table
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape

    from heedful.papers.study_pages import is_long, table_cells, table_file

    head, rows = table_cells(table)
    title = f"[bold]{escape(table.name)}: {escape(table.title)}[/bold]"
    shown = rich_table.Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="")
    for place, name in enumerate(head):
        shown.add_column(escape(name), justify="left" if place < len(table.head) else "right")
    first = rows[:FIRST_ROWS] if is_long(table) else rows
    for row in first:
        shown.add_row(*map(escape, row))
    console.print(shown)
    if len(first) < len(rows):
        console.print(f"{len(rows) - len(first)} more rows: {folder / table_file(table)}", markup=False)
    console.print(f"{table.note}\n", style="dim", markup=False)
