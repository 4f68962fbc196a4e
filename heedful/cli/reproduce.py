"""`heedful reproduce`: a paper's runs and audits, its tables beside ours, its claims tested."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.progress import live_counts
from heedful.cli.sweep import Scheduler, Workers

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.runs.store import Store
    from heedful.studies.pipeline import Prepared
    from heedful.studies.render import StudyReport
    from heedful.studies.study import Claim, Study

Paper = Annotated[str, typer.Argument(metavar="PAPER", help="A study; `heedful list studies` names them.")]
Scale = Annotated[str, typer.Option(help="small (minutes on two cores), medium (an hour or two), paper (all of it).")]
Out = Annotated[str, typer.Option(help="Folder for PAPER.html, PAPER.md, PAPER.json and the figures.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and which of them are done; do none.")]


def reproduce(
    paper: Paper,
    scale: Scale = "small",
    out: Out = "studies",
    scheduler: Scheduler = None,
    workers: Workers = None,
    dry_run: DryRun = False,
    runs: options.Runs = "runs",
    audits: options.Audits = "audits",
    device: options.Device = "cpu",
) -> None:
    """Repeat a paper: do what is missing of its runs, print its tables beside ours and its claims with a verdict."""
    from rich.console import Console

    from heedful.runs.cluster import connected, cores
    from heedful.runs.store import Store
    from heedful.studies.page import write_study
    from heedful.studies.pipeline import do_study, gather
    from heedful.studies.render import summarize

    console, store, folder = Console(highlight=False, width=_width()), Store(runs), Path(audits)
    processes = workers or cores()
    study, prepared = _prepare(console, paper, scale)
    missing = _missing(prepared, store, folder)
    console.print(f"{len(prepared.runs)} runs and {len(prepared.audits)} audits, {len(missing)} of them to do")
    if dry_run:
        _list_cells(console, prepared, store)
        return
    errors: dict[str, str] = {}
    if missing:
        names = _names(prepared)
        with (
            connected(scheduler, workers=processes) as client,
            live_counts(console, errors, lambda key: names.get(key, key)) as progress,
        ):
            do_study(prepared, store, folder, client, device=device, report=progress)
    report = summarize(study, gather(scale, prepared, store, folder, errors), options.command_line(), processes)
    print_study(console, report)
    console.print(f"Written: {write_study(report, Path(out))}")
    if errors:
        raise typer.Exit(1)


def _prepare(console: "Console", paper: str, scale: str) -> tuple["Study", "Prepared"]:
    from heedful.errors import pick
    from heedful.studies import STUDIES
    from heedful.studies.pipeline import prepare_study

    study = pick("study", paper.replace("_", "-"), STUDIES)
    study_runs = study.runs_at(scale)
    console.print(f"{study.paper}\n{scale}: {study.scales[scale]}\nreading data", markup=False)
    return study, prepare_study(study_runs)


def _missing(prepared: "Prepared", store: "Store", folder: Path) -> list[str]:
    runs = [key for key, run in prepared.runs.items() if run not in store]
    return runs + [key for key in prepared.audits if not (folder / key).is_dir()]


def _list_cells(console: "Console", prepared: "Prepared", store: "Store") -> None:
    for (data, model), members in prepared.cells.items():
        done = sum(prepared.runs[member.run] in store for member in members)
        console.print(f"{data}, {model}: {done} of {len(members)} runs done", markup=False)


def _names(prepared: "Prepared") -> dict[str, str]:
    """What each run and audit is called while it is done, by key."""
    names: dict[str, str] = {}
    for (data, model), members in prepared.cells.items():
        names |= {member.run: f"{data}, {model}" for member in members}
        names |= {member.audit: f"audit of {data}, {model}" for member in members if member.audit}
    return names


def _width() -> int | None:
    """A file or pipe has no width: there tables need not be squeezed into eighty columns."""
    return None if sys.stdout.isatty() else 200


def print_study(console: "Console", report: "StudyReport") -> None:
    """The tables, then the claims with their verdicts."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.studies.render import table_cells

    for table in report.tables:
        head, rows = table_cells(table)
        title = f"[bold]{escape(table.name)}: {escape(table.title)}[/bold]"
        shown = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="")
        for place, name in enumerate(head):
            shown.add_column(escape(name), justify="left" if place < len(table.head) else "right")
        for row in rows:
            shown.add_row(*map(escape, row))
        console.print(shown)
        console.print(f"{table.note}\n", style="dim", markup=False)
    for claim in report.claims:
        _print_claim(console, claim)
    console.print(f"\n{report.facts['Runs']}; {report.facts['Computing time']}", markup=False)


def _print_claim(console: "Console", claim: "Claim") -> None:
    from rich.markup import escape

    from heedful.studies.render import claim_bounds_text, estimate_text

    colour = {"confirmed": "green", "contradicted": "red"}.get(claim.verdict, "yellow")
    console.print(f"[bold {colour}]{claim.verdict:>13}[/]  {escape(claim.statement)} [dim]({escape(claim.source)})[/]")
    number = f"{estimate_text(claim.pooled)} {claim.unit}"
    console.print(f"               {claim.measured}: {number}; {claim_bounds_text(claim)}", markup=False)
