"""A study's results as text: numbers with their intervals, claims as sentences, one Markdown page."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from heedful import __version__
from heedful.formatting import UNDEFINED, format_estimate, format_number, format_seconds
from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.settings import key_of
from heedful.studies.claims import cell_has_learnt, decide
from heedful.studies.study import Cell, Claim, Entry, Results, Study, Table

HOW = (
    "Ours: the mean over texts and seeds and its 95 % interval, for which both are samples; for prediction scores, the "
    "mean over seeds and their range. Each claim states the smallest difference that matters, its margin. A claim is "
    "*confirmed* if the 95 % interval of its number, averaged over data sets as a sample of all data sets, lies wholly "
    "above the upper bound; *contradicted* if it lies wholly below the lower one; *not confirmed* otherwise; *not "
    "tested* with fewer than five trained models behind it. Verdicts allow for the number of claims (Holm). Models "
    "that have not learnt their task are left out; data sets that surely lie on the other side of the bound are named "
    "as exceptions, and are no veto."
)
DECIMALS = 3


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


def error_rates_text() -> str:
    """How often the rule for claims errs, and how often it sees what is there: what `benchmarks/claims.py` wrote."""
    measured = json.loads((Path(__file__).parent / "error_rates.json").read_text(encoding="utf-8"))
    worlds = measured["worlds"]
    decides = max(rates["decides"] for rates in worlds.values())
    confirms = ", ".join(
        f"{100 * rates['confirms']:.0f} % ({name}, {rates['texts']:,} texts)" for name, rates in worlds.items()
    )
    return (
        f"In simulations with {measured['sets']} sets that differ by half the margin and {measured['seeds']} seeds, "
        f"the rule, before Holm's correction, decides at most {100 * decides:.1f} % of claims whose true effect is at "
        f"a bound, and confirms of those whose effect is twice the margin {confirms}. With fewer texts *not confirmed* "
        "says little (`benchmarks/claims.py`)."
    )


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
    parts.append(_markdown_table(["verdict", "claim", "number", "confirmed above", "contradicted below"], claims))
    parts += [HOW, error_rates_text(), *(f"- {claim.statement} {claim_details(claim)}" for claim in report.claims)]
    parts += ["## What the tables show", *report.remarks] if report.remarks else []
    parts += ["## Where we differ, and why", *report.differences]
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
    lower, upper = claim.bounds
    return [
        f"**{claim.verdict}**",
        f"{claim.statement} ({claim.source})",
        f"{estimate_text(claim.pooled)} {claim.unit}",
        number_text(upper),
        number_text(lower),
    ]


def claim_bounds_text(claim: Claim) -> str:
    """What would decide the claim."""
    lower, upper = claim.bounds
    return f"confirmed above {number_text(upper)}, contradicted below {number_text(lower)}"


def claim_details(claim: Claim) -> str:
    """What the paper says, what was measured, and what the verdict rests on, in sentences."""
    excepted = {name: " (excepted by the paper)" for name in claim.excepts}
    parts = "; ".join(f"{name}{excepted.get(name, '')} {estimate_text(part)}" for name, part in claim.parts.items())
    sentences = [
        f'The paper: "{claim.quote}".' if claim.quote else "",
        f"Measured: {claim.measured}; a difference of {number_text(claim.margin)} matters.",
        f"{parts}." if parts else "",
        f"Trained models: {claim.trainings}.",
        f"Exceptions: {'; '.join(claim.exceptions)}." if claim.exceptions else "",
        f"Left out, for they have not learnt their task: {'; '.join(claim.left_out)}." if claim.left_out else "",
        f"By itself it would be {claim.unadjusted}." if claim.unadjusted != claim.verdict else "",
        "If there is a difference, it is surely too small to matter." if _is_negligible(claim) else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _is_negligible(claim: Claim) -> bool:
    """Whether an effect is claimed and the number surely lies between the bounds."""
    lower, upper = claim.bounds
    return claim.verdict == "not confirmed" and lower < claim.pooled.low <= claim.pooled.high < upper


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
