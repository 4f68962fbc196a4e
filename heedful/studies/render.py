"""A study's results as text: numbers with their intervals, claims as sentences, one Markdown page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from heedful import __version__
from heedful.formatting import UNDEFINED, format_estimate, format_number, format_seconds
from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.settings import key_of
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table

HOW = (
    "Ours: the mean over texts and its 95 % bootstrap interval (texts are resampled; seeds too if there are five or "
    "more); for prediction scores, the mean over seeds and their range. A claim is *confirmed* if the interval of its "
    "number, averaged over its parts, lies above the threshold and no part's interval lies below it; *contradicted* if "
    "that interval lies below; *not confirmed* otherwise."
)
DECIMALS = 3


@dataclass(frozen=True)
class StudyReport:
    """Everything that a page says about a study.

    Args:
        about: what the paper claims, in a paragraph.
        differences: paragraphs on where we differ and why.
        ran: a row per cell: what was run, and for how long.
    """

    study: Study
    scale: str
    command: str
    about: str
    differences: tuple[str, ...]
    tables: Sequence[Table]
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    ran: Sequence[Mapping[str, str]]
    facts: Mapping[str, str]
    errors: Mapping[str, str]


def summarize(study: Study, results: Results, command: str, workers: int) -> StudyReport:
    """The report on these results: tables, claims and figures made, time added up."""
    about, differences = study_notes(study)
    claims = study.claims(results)
    return StudyReport(
        study=study,
        scale=results.scale,
        command=command,
        about=about,
        differences=differences,
        tables=study.tables(results),
        claims=claims,
        figures=study.figures(results, {claim.id: claim for claim in claims}),
        ran=[_ran(cell) for cell in results.cells],
        facts=_facts(study, results, workers),
        errors=results.errors,
    )


def study_notes(study: Study) -> tuple[str, tuple[str, ...]]:
    """What `notes.md` says about the study: the paper's claims, and the paragraphs on where we differ and why."""
    file = resources.files("heedful.studies") / study.folder / "notes.md"
    _, about, differences = file.read_text(encoding="utf-8").split("## ")
    paragraphs = [" ".join(paragraph.split()) for paragraph in differences.split("\n\n")[1:]]
    return " ".join(about.split("\n\n", 1)[1].split()), tuple(paragraph for paragraph in paragraphs if paragraph)


def _facts(study: Study, results: Results, workers: int) -> dict[str, str]:
    runs = {key_of(file.run): file for cell in results.cells for file in (*cell.runs, *cell.companions)}
    seconds = sum((each.seconds for each in (*runs.values(), *results.cells)), 0.0)
    versions = results.cells[0].runs[0].versions if results.cells else {}
    time = f"{format_seconds(seconds)} of one core; with {workers} workers about {format_seconds(seconds / workers)}"
    return {
        "Scale": f"{results.scale}: {study.scales[results.scale]}",
        "Runs": f"{len(runs)}, and their audits",
        "Computing time": time,
        "Versions": ", ".join(f"{name} {version}" for name, version in {"heedful": __version__, **versions}.items()),
    }


def _ran(cell: Cell) -> dict[str, str]:
    run = cell.runs[0].run
    return {
        "data": cell.data,
        "model": cell.model,
        "seeds": ", ".join(str(file.run.seed) for file in cell.runs),
        "training texts": f"{limit:,} at most" if (limit := run.data.train_limit) else "all",
        "words per text": f"{most} at most" if (most := run.text.max_tokens) else "all",
        "epochs": f"{', '.join(str(file.chosen_epoch) for file in cell.runs)} of {run.training.epochs}",
        "training": format_seconds(sum(file.seconds for file in (*cell.runs, *cell.companions))),
        "audit": format_seconds(cell.seconds) if cell.columns else "-",
    }


def number_text(value: float | None) -> str:
    """A number as tables show it.

    >>> number_text(0.4567), number_text(12.3), number_text(1.8e-8), number_text(None)
    ('0.457', '12.3', '1.8e-08', '–')
    """
    return format_number(value, decimals=DECIMALS)


def estimate_text(estimate: Estimate | None) -> str:
    """A number and its interval.

    >>> estimate_text(Estimate(0.5, 0.45, 0.55, 100))
    '0.500 (0.450 to 0.550)'
    """
    if estimate is None:
        return UNDEFINED
    return format_estimate(estimate.value, estimate.low, estimate.high, decimals=DECIMALS)


def has_paper(table: Table) -> list[bool]:
    """For each column of numbers, whether the paper prints one in some row."""
    return [any(entries[place].paper is not None for _, entries in table.rows) for place in range(len(table.columns))]


def table_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table; the paper's numbers have a column of their own where there are any."""
    printed = has_paper(table)
    head = [*table.head]
    for name, has_number in zip(table.columns, printed, strict=True):
        head += [name, "paper"] if has_number else [name]
    return head, [[*about, *_row(entries, printed)] for about, entries in table.rows]


def _row(entries: Sequence[Entry], printed: Sequence[bool]) -> list[str]:
    row: list[str] = []
    for entry, has_number in zip(entries, printed, strict=True):
        row += [estimate_text(entry.ours), number_text(entry.paper)] if has_number else [estimate_text(entry.ours)]
    return row


def markdown(report: StudyReport, figures: Mapping[str, str]) -> str:
    """The whole page.

    Args:
        figures: the path of each figure's file, by its name.
    """
    study, claims = report.study, [_claim_row(claim) for claim in report.claims]
    parts = [f"# {study.title}, repeated", f"{study.paper}. Made by `{report.command}`."]
    parts += ["## What the paper claims", report.about, "## What we find"]
    parts.append(_markdown_table(["verdict", "claim", "number", "threshold"], claims))
    parts += [HOW, *map(_claim_details, report.claims), "## Where we differ, and why", *report.differences]
    for table in report.tables:
        parts += [f"## {table.name}: {table.title}", table.note, _markdown_table(*table_cells(table))]
    for figure in report.figures:
        parts += [f"### {figure.title} ({figure.source})", f"![{figure.alt}]({figures[figure.name]})", figure.caption]
    parts += ["## What was run", "\n".join(f"- {name}: {fact}" for name, fact in report.facts.items())]
    if report.ran:
        parts.append(_markdown_table(list(report.ran[0]), [list(row.values()) for row in report.ran]))
    parts += [f"Failed: {key}: {error}" for key, error in report.errors.items()]
    return "\n\n".join(parts) + "\n"


def _claim_row(claim: Claim) -> list[str]:
    return [
        f"**{claim.verdict}**",
        f"{claim.statement} ({claim.source})",
        estimate_text(claim.pooled),
        number_text(claim.threshold),
    ]


def _claim_details(claim: Claim) -> str:
    parts = "; ".join(f"{name} {estimate_text(part)}" for name, part in claim.parts.items())
    return f"- {claim.statement} Measured: {claim.measured}. {parts}."


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_json(report: StudyReport) -> dict[str, Any]:
    """Claims and tables for a program to read; undefined numbers are null."""
    content = {
        "study": report.study.name,
        "scale": report.scale,
        "command": report.command,
        "claims": [asdict(claim) for claim in report.claims],
        "tables": [asdict(table) for table in report.tables],
        "ran": list(report.ran),
        "errors": dict(report.errors),
    }
    return _finite(content)


def _finite(content: Any) -> Any:
    """The same tree with None for each number that JSON cannot express."""
    if isinstance(content, Mapping):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
