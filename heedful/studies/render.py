"""A study's results as text: numbers with their intervals, claims as sentences, one Markdown page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from heedful import __version__
from heedful.auditing.audit import without_nan
from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.runs.sweep import span
from heedful.settings import key_of
from heedful.studies.study import Claim, Entry, Results, Study, Table

HOW = (
    "Ours: the mean over texts and its 95 % bootstrap interval (texts resampled; seeds too from five on); scores of "
    "prediction: the mean over seeds and their range. A claim is *confirmed* if the interval of its number, averaged "
    "over its parts, lies above the threshold and no part's interval lies below it; *contradicted* if that interval "
    "lies below; *not confirmed* otherwise."
)


@dataclass(frozen=True)
class Told:
    """All that a page says of a study."""

    study: Study
    scale: str
    command: str
    about: str
    differences: tuple[str, ...]
    tables: Sequence[Table]
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    ran: Sequence[Mapping[str, str]]
    """One line a cell: what was run, and for how long."""
    facts: Mapping[str, str]
    errors: Mapping[str, str]


def tell(study: Study, results: Results, command: str, workers: int) -> Told:
    """Everything that is to be said about the results."""
    about, differences = words_of(study)
    runs = {key_of(one.run): one for cell in results.cells.values() for one in (*cell.runs, *cell.beside)}
    audits = sum(cell.seconds for cell in results.cells.values())
    seconds = audits + sum(run.seconds for run in runs.values())
    versions = next((cell.runs[0].versions for cell in results.cells.values()), {})
    facts = {
        "Scale": f"{results.scale}: {study.scales[results.scale]}",
        "Runs": f"{len(runs)}, and their audits",
        "Computing time": f"{span(seconds)} of one core; with {workers} workers about {span(seconds / workers)}",
        "Versions": ", ".join(f"{name} {version}" for name, version in {"heedful": __version__, **versions}.items()),
    }
    return Told(
        study=study,
        scale=results.scale,
        command=command,
        about=about,
        differences=differences,
        tables=study.tables(results),
        claims=study.claims(results),
        figures=study.figures(results),
        ran=_ran(results),
        facts=facts,
        errors=results.errors,
    )


def words_of(study: Study) -> tuple[str, tuple[str, ...]]:
    """What is written about the study: the paper's claims, and the paragraphs on where we differ and why."""
    file = resources.files("heedful.studies") / study.name.replace("-", "_") / "notes.md"
    _, about, differences = file.read_text(encoding="utf-8").split("## ")
    paragraphs = [" ".join(one.split()) for one in differences.split("\n\n")[1:]]
    return " ".join(about.split("\n\n", 1)[1].split()), tuple(one for one in paragraphs if one)


def _ran(results: Results) -> list[dict[str, str]]:
    return [
        {
            "data": cell.data,
            "model": cell.model,
            "seeds": ", ".join(str(run.run.seed) for run in cell.runs),
            "training texts": f"{limit:,} at most" if (limit := cell.runs[0].run.data.train_limit) else "all",
            "words a text": f"{most} at most" if (most := cell.runs[0].run.text.max_tokens) else "all",
            "epochs": f"{', '.join(str(run.chosen_epoch) for run in cell.runs)} of {cell.runs[0].run.training.epochs}",
            "training": span(sum(run.seconds for run in (*cell.runs, *cell.beside))),
            "audit": span(cell.seconds) if cell.columns else "-",
        }
        for cell in results.cells.values()
    ]


def said_number(value: float | None) -> str:
    """A number as tables show it.

    >>> said_number(0.4567), said_number(12.3), said_number(1.8e-8), said_number(None)
    ('.457', '12.3', '1.8e-08', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    if value != 0 and abs(value) < 5e-4:
        return f"{value:.1e}"
    shown = f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "-0.")) else shown


def said_estimate(estimate: Estimate | None) -> str:
    """A number and its interval.

    >>> said_estimate(Estimate(0.5, 0.45, 0.55, 100))
    '.500 (.450 to .550)'
    """
    if estimate is None or math.isnan(estimate.value):
        return "-"
    if math.isnan(estimate.low):
        return said_number(estimate.value)
    return f"{said_number(estimate.value)} ({said_number(estimate.low)} to {said_number(estimate.high)})"


def has_paper(table: Table) -> list[bool]:
    """For each column of numbers, whether the paper prints one in some row."""
    return [any(entries[place].paper is not None for _, entries in table.rows) for place in range(len(table.columns))]


def cells_of(table: Table) -> tuple[list[str], list[list[str]]]:
    """The head and the lines of a table, the paper's number in a column of its own where it has any."""
    beside = has_paper(table)
    head = [*table.head]
    for name, paper in zip(table.columns, beside, strict=True):
        head += [name, "paper"] if paper else [name]
    return head, [[*about, *_line(entries, beside)] for about, entries in table.rows]


def _line(entries: Sequence[Entry], beside: Sequence[bool]) -> list[str]:
    line: list[str] = []
    for one, paper in zip(entries, beside, strict=True):
        line += [said_estimate(one.ours), said_number(one.paper)] if paper else [said_estimate(one.ours)]
    return line


def markdown(told: Told, figures: Mapping[str, str]) -> str:
    """The whole page.

    Args:
        figures: where the drawing of each figure lies, by its name.
    """
    study = told.study
    parts = [f"# {study.title}, repeated", f"{study.paper}. Made by `{told.command}`."]
    parts += ["## What the paper claims", told.about, "## What we find"]
    parts.append(_markdown_table(["claim", "number", "threshold", "verdict"], [_claim_line(c) for c in told.claims]))
    parts += [HOW, *map(_claim_details, told.claims), "## Where we differ, and why", *told.differences]
    for table in told.tables:
        parts += [f"## {table.name}: {table.title}", table.note, _markdown_table(*cells_of(table))]
    for figure in told.figures:
        parts += [f"### {figure.title} ({figure.source})", f"![{figure.alt}]({figures[figure.name]})", figure.caption]
    parts += ["## What was run", "\n".join(f"- {name}: {said}" for name, said in told.facts.items())]
    if told.ran:
        parts.append(_markdown_table(list(told.ran[0]), [list(line.values()) for line in told.ran]))
    parts += [f"Failed: {key}: {error}" for key, error in told.errors.items()]
    return "\n\n".join(parts) + "\n"


def _claim_line(claim: Claim) -> list[str]:
    return [
        f"{claim.statement} ({claim.source})",
        said_estimate(claim.pooled),
        said_number(claim.threshold),
        f"**{claim.verdict}**",
    ]


def _claim_details(claim: Claim) -> str:
    parts = "; ".join(f"{name} {said_estimate(one)}" for name, one in claim.parts.items())
    return f"- {claim.statement} Measured: {claim.measured}. {parts}."


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def as_json(told: Told) -> dict[str, Any]:
    """Claims and tables for a program to read; undefined numbers are null."""
    content = {
        "study": told.study.name,
        "scale": told.scale,
        "command": told.command,
        "claims": [asdict(claim) for claim in told.claims],
        "tables": [asdict(table) for table in told.tables],
        "ran": list(told.ran),
        "errors": dict(told.errors),
    }
    return without_nan(content)
