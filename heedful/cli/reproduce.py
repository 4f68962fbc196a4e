"""`heedful reproduce`: a paper's runs and audits, its tables beside ours, its claims tested."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.progress import cores, live_counts
from heedful.cli.sweep import Scheduler, Workers

if TYPE_CHECKING:
    from rich.console import Console

    from heedful.runs.store import Store
    from heedful.studies.pipeline import Prepared
    from heedful.studies.render import Told
    from heedful.studies.study import Claim

Paper = Annotated[str, typer.Argument(metavar="PAPER", help="A study; `heedful list studies` names them.")]
Scale = Annotated[str, typer.Option(help="small (minutes on two cores), medium (an hour or two), paper (all of it).")]
Out = Annotated[str, typer.Option(help="Folder for PAPER.html, PAPER.md, PAPER.json and the figures.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List the runs and which are there; do none.")]


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

    from heedful.errors import pick
    from heedful.runs.cluster import connected
    from heedful.runs.store import Store
    from heedful.studies import STUDIES
    from heedful.studies.page import write_study
    from heedful.studies.pipeline import do_study, gather, prepare_study
    from heedful.studies.render import tell

    console, store, folder = Console(highlight=False, width=_width()), Store(runs), Path(audits)
    study = pick("study", paper.replace("_", "-"), STUDIES)
    wanted = study.runs(scale)
    console.print(f"{study.paper}\n{scale}: {study.scales[scale]}\nreading data", markup=False)
    prepared = prepare_study(wanted)
    missing = _missing(prepared, store, folder)
    console.print(f"{len(prepared.runs)} runs and {len(prepared.audits)} audits, {len(missing)} of them to do")
    if dry_run:
        for (data, model), keys in prepared.cells.items():
            there = sum(prepared.runs[key] in store for key, _ in keys)
            console.print(f"{data}, {model}: {len(keys)} runs, {there} done", markup=False)
        return
    errors: dict[str, str] = {}
    if missing:
        names = {key: f"{data}, {model}" for (data, model), keys in prepared.cells.items() for key, _ in keys}
        names |= {a: f"audit of {d}, {m}" for (d, m), keys in prepared.cells.items() for _, a in keys if a}
        with (
            connected(scheduler, workers=workers or cores()) as client,
            live_counts(console, errors, lambda key: names.get(key, key)) as report,
        ):
            do_study(prepared, store, folder, client, device=device, report=report)
    results = gather(scale, prepared, store, folder, errors)
    told = tell(study, results, _command(), workers or cores())
    print_study(console, told)
    console.print(f"Written: {write_study(told, Path(out))}")
    if errors:
        raise typer.Exit(1)


def _missing(prepared: "Prepared", store: "Store", folder: Path) -> list[str]:
    runs = [key for key, run in prepared.runs.items() if run not in store]
    return runs + [key for key in prepared.audits if not (folder / key).is_dir()]


def _width() -> int | None:
    """A file or pipe has no width: there tables need not be squeezed into eighty columns."""
    return None if sys.stdout.isatty() else 200


def _command() -> str:
    return shlex.join(["heedful", *sys.argv[1:]])


def print_study(console: "Console", told: "Told") -> None:
    """The tables, then the claims with their verdicts."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from heedful.studies.render import cells_of

    for table in told.tables:
        head, lines = cells_of(table)
        title = f"[bold]{escape(table.name)}: {escape(table.title)}[/bold]"
        shown = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="")
        for place, name in enumerate(head):
            shown.add_column(escape(name), justify="left" if place < len(table.head) else "right")
        for line in lines:
            shown.add_row(*map(escape, line))
        console.print(shown)
        console.print(f"{table.note}\n", style="dim", markup=False)
    for claim in told.claims:
        _print_claim(console, claim)
    console.print(f"\n{told.facts['Runs']}; {told.facts['Computing time']}", markup=False)


def _print_claim(console: "Console", claim: "Claim") -> None:
    from rich.markup import escape

    from heedful.studies.render import said_estimate, said_number

    colour = {"confirmed": "green", "contradicted": "red"}.get(claim.verdict, "yellow")
    console.print(f"[bold {colour}]{claim.verdict:>13}[/]  {escape(claim.statement)} [dim]({escape(claim.source)})[/]")
    number, threshold = said_estimate(claim.pooled), said_number(claim.threshold)
    console.print(f"               {claim.measured}: {number}, claimed above {threshold}", markup=False)
