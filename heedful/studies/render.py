"""A study's results as text: numbers with their intervals, claims as sentences, tables as cells."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

from heedful import __version__
from heedful.formatting import UNDEFINED, format_estimate, format_number, format_seconds
from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.settings import Run, key_of
from heedful.studies.claim_text import DECIMALS, verdict_counts
from heedful.studies.claims import cell_has_learnt, decide
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table

MOST_ROWS, MOST_NUMBERS = 25, 60
"""A table with more of either has a page of its own."""


@dataclass(frozen=True)
class StudyReport:
    """Everything that a page says about a study.

    Args:
        about: what the paper claims, in a paragraph.
        differences: paragraphs on where we differ and why.
        remarks: sentences on what the tables show, made from the numbers.
        ran: a row per cell: what was run, and for how long.
    """

    study: Study
    scale: str
    command: str
    about: str
    differences: tuple[str, ...]
    tables: Sequence[Table]
    claims: Sequence[Claim]
    remarks: Sequence[str]
    figures: Sequence[Figure]
    ran: Sequence[Mapping[str, str]]
    facts: Mapping[str, str]
    errors: Mapping[str, str]


def summarize(study: Study, results: Results, command: str, workers: int) -> StudyReport:
    """The report on these results: tables, claims and figures made, time added up."""
    about, differences = study_notes(study)
    claims = decide(study.claims(results))
    return StudyReport(
        study=study,
        scale=results.scale,
        command=command,
        about=about,
        differences=differences,
        tables=study.tables(results),
        claims=claims,
        remarks=[*_not_learnt(results), *study.remarks(results)],
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


def _not_learnt(results: Results) -> list[str]:
    names = [f"{cell.data}, {cell.model}" for cell in results.cells if not cell_has_learnt(cell)]
    return [f"Not surely better than a constant answer: {'; '.join(names)}."] if names else []


def _facts(study: Study, results: Results, workers: int) -> dict[str, str]:
    runs = {key_of(file.run): file for cell in results.cells for file in (*cell.runs, *cell.companions)}
    seconds = sum((each.seconds for each in (*runs.values(), *results.cells)), 0.0)
    versions = results.cells[0].runs[0].versions if results.cells else {}
    time = f"{format_seconds(seconds)} of one core; with {workers} workers about {format_seconds(seconds / workers)}"
    return {
        "Scale": f"{results.scale}: {study.scales[results.scale]}",
        "Trained models": str(len(runs)),
        "Computing time": time,
        "Versions": ", ".join(f"{name} {version}" for name, version in {"heedful": __version__, **versions}.items()),
    }


def _ran(cell: Cell) -> dict[str, str]:
    run = cell.runs[0].run
    epochs = (run.finetune or run.training).epochs
    return {
        "data": cell.data,
        "model": cell.model,
        "seeds": ", ".join(str(file.run.seed) for file in cell.runs),
        "training texts": f"{limit:,} at most" if (limit := run.data.train_limit) else "all",
        "words per text": _length(run),
        "epochs": f"{', '.join(str(file.chosen_epoch) for file in cell.runs)} of {epochs}",
        "training": format_seconds(sum(file.seconds for file in (*cell.runs, *cell.companions))),
        "audit": format_seconds(cell.seconds) if cell.columns else "-",
    }


def _length(run: Run) -> str:
    if run.finetune is not None:
        return f"{run.finetune.max_tokens} pieces at most"
    return f"{most} at most" if (most := run.text.max_tokens) else "all"


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


def is_long(table: Table) -> bool:
    """Whether a table is too long for the main page."""
    return len(table.rows) > MOST_ROWS or len(table.rows) * len(table.columns) > MOST_NUMBERS


def table_file(table: Table) -> str:
    """The name of the file of a long table.

    >>> table_file(Table("Tables 4, 6 and 7", "", "", (), (), ()))
    'tables_4_6_and_7.md'
    """
    return re.sub(r"[^a-z0-9]+", "_", table.name.lower()).strip("_") + ".md"


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


def ran_cells(report: StudyReport) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of what was run."""
    head = list(report.ran[0]) if report.ran else []
    return head, [list(row.values()) for row in report.ran]


def as_json(report: StudyReport) -> dict[str, Any]:
    """Verdicts counted, claims and tables, for a program to read; undefined numbers are null."""
    content = {
        "study": report.study.name,
        "scale": report.scale,
        "command": report.command,
        "summary": verdict_counts(report.claims),
        "claims": [asdict(claim) for claim in report.claims],
        "remarks": list(report.remarks),
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
