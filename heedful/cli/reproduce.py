"""`heedful reproduce`: run and audit a paper's models, print its tables next to ours, and test its claims."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heedful.cli import command_options
from heedful.cli.command_options import argument, flag, open_store, option
from heedful.cli.output import make_table, output
from heedful.errors import HeedfulError, lookup

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.cli.output import Output
    from heedful.papers.pipeline import Prepared
    from heedful.papers.reproduction import StudyRun
    from heedful.papers.study_pages import StudyReport
    from heedful.store.store import Store

WIDE = 200
FIRST_ROWS = 10
"""Rows of a long table that the terminal shows."""


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(command_options.FolderOptions, command_options.ClusterOptions):
    """The options of `heedful reproduce`."""

    paper: str = argument(
        "A study; `heedful list studies` names them.", "PAPER", autocompletion=command_options.names("studies")
    )
    scale: str = option("small (minutes on two cores), medium (an hour or two), paper (all of it).", default="small")
    out: str = option("Folder for PAPER.html, PAPER.md, PAPER.json and the figures.", default="studies")
    dry_run: bool = flag("List the runs, which of them are done, and what the others may take; do none.", "--dry-run")


def reproduce(options: ReproduceOptions) -> None:
    """Reproduce a paper: do the runs that are missing; print each claim with a verdict, and its tables next to ours."""
    from heedful.cli.progress import show_jobs
    from heedful.jobs.executors import cores
    from heedful.jobs.running import carry_out
    from heedful.papers import STUDIES
    from heedful.papers.pipeline import gather, plan_study, prepare_study
    from heedful.papers.study_pages import as_json, summarize, write_study

    printed, store = output(), open_store(options)
    console, processes = printed.console, options.workers or cores()
    if not console.is_terminal:  # a file or pipe has no width: tables keep their width
        console.width = WIDE
    study = lookup("study", options.paper.replace("_", "-"), STUDIES)
    study_runs = study.runs_at(options.scale)
    study.require()
    printed.say(study.paper, f"{options.scale}: {study.scales[options.scale]}", "reading data")
    try:
        prepared = prepare_study(study_runs)
    except HeedfulError as problem:
        if not options.dry_run:
            raise
        _end_without_data(printed, study_runs, problem)
        return
    plan = plan_study(prepared)
    missing = plan.missing(store)
    printed.say(f"{len(prepared.runs)} runs and {len(prepared.audits)} audits, {len(missing)} of them to do")
    if options.dry_run:
        _end_dry_run(printed, prepared, store, len(missing), processes)
        return
    open_store(options, "runs", "audits", "out")
    errors: dict[str, str] = {}
    if missing:
        names = names_by_key(prepared)
        where = {"device": options.device, "workers": options.workers, "scheduler": options.scheduler}
        with show_jobs(printed.progress, names, errors, lambda key: names.get(key, key)) as (report_status, _):
            carry_out(plan, store, **where, in_parts=False, report=report_status)
    results = gather(options.scale, prepared, store, store.audits, errors)
    report = summarize(study, results, command_options.command_line(), processes)
    page = write_study(report, Path(options.out))
    print_study(console, report, page.with_suffix(""))
    printed.say(f"Written: {page}")
    printed.end({"page": str(page), **as_json(report)}, result=str(page))
    if errors:
        raise typer.Exit(1)


def _end_without_data(printed: "Output", study_runs: "list[StudyRun]", problem: HeedfulError) -> None:
    """Print the runs of a study if the data that decides which are done is missing."""
    cells: dict[str, dict[str, int]] = {}
    for each in study_runs:
        cells.setdefault(f"{each.data}, {each.model}", {"done": 0, "runs": 0})["runs"] += 1
    printed.say(*(f"{name}: {cell['runs']} runs" for name, cell in cells.items()))
    printed.say(f"{len(study_runs)} runs to do. Before that: {problem}")
    printed.end({"missing": len(study_runs), "cells": cells, "problem": str(problem)}, result=str(len(study_runs)))


def _end_dry_run(printed: "Output", prepared: "Prepared", store: "Store", missing: int, workers: int) -> None:
    """What is done of each cell, and what the rest may take, by finished runs that resemble it."""
    from heedful.cli.sweep_command import estimate

    cells = {}
    for (data, model), members in prepared.cells.items():
        done = sum(prepared.runs[member.run] in store for member in members)
        cells[f"{data}, {model}"] = {"done": done, "runs": len(members)}
        printed.say(f"{data}, {model}: {done} of {len(members)} runs done")
    expected = estimate(prepared.runs, store, workers)
    printed.say(f"{expected} Audits come on top.")
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
    """How many claims hold, each claim with its verdict, then the tables; of a long one the first rows.

    Args:
        folder: where the pages of long tables are.
    """
    from rich.padding import Padding
    from rich.text import Text

    from heedful.papers.claim_rule import claim_bounds_text, claim_number, summary_sentence
    from heedful.papers.study_pages import is_long, table_cells, table_file

    console.print(f"\n[bold]{summary_sentence(report.claims)}[/bold]\n")
    for claim in report.claims:
        color = {"confirmed": "green", "contradicted": "red"}.get(claim.verdict, "yellow")
        console.print(Text.assemble((f"{claim.verdict:>13}", f"bold {color}"), "  ", claim.statement))
        console.print(Padding(Text(f"{claim_number(claim)}; {claim_bounds_text(claim)}"), (0, 0, 0, 15)))
        console.print(Padding(Text(f"{claim.measured} ({claim.source})", style="dim"), (0, 0, 0, 15)))
    console.print()
    for table in report.tables:
        head, rows = table_cells(table)
        first = rows[:FIRST_ROWS] if is_long(table) else rows
        console.print(make_table(head, first, text=range(len(table.head)), title=f"{table.name}: {table.title}"))
        if len(first) < len(rows):
            console.print(f"{len(rows) - len(first)} more rows: {folder / table_file(table)}", markup=False)
        console.print(f"{table.note}\n", style="dim", markup=False)
    console.print(f"{report.facts['Trained models']} trained models; {report.facts['Computing time']}", markup=False)
