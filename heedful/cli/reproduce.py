"""`heedful reproduce`: run and audit a paper's models, print its tables next to ours, and test its claims."""

from dataclasses import asdict, dataclass
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
    from heedful.papers.study_report import StudyReport
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
    dry_run: bool = flag(
        "Say what is done and what the rest takes at most, in hours of one core: by the recorded times of finished "
        "runs and audits that differ in the seed alone, else by a probe of a few texts for each kind of model (seconds "
        "each). Nothing is stored.",
        "--dry-run",
    )
    only_finished: bool = flag(
        "Do nothing that is missing: write the page from what is done, and say on it what is not.", "--only-finished"
    )


def reproduce(options: ReproduceOptions) -> None:
    """Reproduce a paper: do the runs that are missing; print each claim with a verdict, and its tables next to ours."""
    from heedful.cli.progress import show_jobs
    from heedful.jobs.executors import cores
    from heedful.jobs.running import carry_out
    from heedful.papers import STUDIES
    from heedful.papers.pipeline import gather, plan_study, prepare_study
    from heedful.papers.study_pages import write_study
    from heedful.papers.study_report import as_json, summarize

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
        _end_dry_run(printed, prepared, store, processes)
        return
    open_store(options, "runs", "audits", "out")
    errors: dict[str, str] = {}
    if missing and not options.only_finished:
        names = names_by_key(prepared)
        where = {"device": options.device, "workers": options.workers, "scheduler": options.scheduler}
        with show_jobs(printed.progress, names, errors, lambda key: names.get(key, key)) as (report_status, _):
            carry_out(plan, store, **where, in_parts=False, report=report_status)
    results = gather(options.scale, prepared, store, store.audits, errors)
    report = summarize(study, results, command_options.command_line(), processes)
    page = write_study(report, Path(options.out))
    print_study(console, report, page.with_suffix(".md"))
    printed.say(*(f"Not whole: {cell}" for cell in results.missing), f"Written: {page}")
    printed.end({"page": str(page), "missing": list(results.missing), **as_json(report)}, result=str(page))
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


def _end_dry_run(printed: "Output", prepared: "Prepared", store: "Store", workers: int) -> None:
    """What is done of each cell, and what the rest takes at most."""
    from heedful.papers.cost import expected_cost

    cells = {}
    for (data, model), members in prepared.cells.items():
        done = sum(prepared.runs[member.run] in store for member in members)
        cells[f"{data}, {model}"] = {"done": done, "runs": len(members)}
        printed.say(f"{data}, {model}: {done} of {len(members)} runs done")
    cost = expected_cost(prepared, store)
    printed.say(cost.text(workers))
    document = {"missing": cost.models + cost.audits, "cells": cells, **asdict(cost), "estimate": cost.text(workers)}
    printed.end(document, result=str(document["missing"]))


def names_by_key(prepared: "Prepared") -> dict[str, str]:
    """What each run and audit is called while it is done, by key."""
    names: dict[str, str] = {}
    for (data, model), members in prepared.cells.items():
        audited = [audit for member in members for audit in member.audits]
        compared = [key for audit in audited for key in prepared.audits[audit].comparison_models]
        names = {**{key: f"companion of {data}, {model}" for key in compared}, **names}
        names |= {member.run: f"{data}, {model}" for member in members}
        names |= {key: f"audit of {data}, {model}" for key in audited}
    return names


def print_study(console: "Console", report: "StudyReport", page: Path) -> None:
    """What was run and what became of the paper, its claims, strongest first, then the tables.

    Args:
        page: where all rows of long tables are, of which the first are printed.
    """
    from rich.text import Text

    from heedful.papers.study_pages import claim_lines, lead
    from heedful.papers.study_report import is_long, table_cells

    for line in (*lead(report), *claim_lines(report)):
        console.print(Text(f"\n{line.replace('**', '')}"))
    console.print()
    for table in report.tables:
        head, rows = table_cells(table)
        first = rows[:FIRST_ROWS] if is_long(table) else rows
        console.print(make_table(head, first, text=range(len(table.head)), title=f"{table.name}: {table.title}"))
        if len(first) < len(rows):
            console.print(f"{len(rows) - len(first)} more rows: {page}", markup=False)
        console.print(f"{table.note}\n", style="dim", markup=False)
    console.print(f"{report.facts['Trained models']} trained models; {report.facts['Computing time']}", markup=False)
