"""A study's files: one self-contained HTML page, Markdown pages with their figures, and JSON."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from heedful import __version__
from heedful.formatting import UNDEFINED, format_estimate, format_number, format_seconds
from heedful.measures import Estimate
from heedful.papers.claim_rule import (
    DECIMALS,
    HOW,
    cell_has_learnt,
    claim_bounds_text,
    claim_details,
    claim_number,
    claim_parts,
    claim_unit,
    decide,
    error_rates_text,
    summary_sentence,
    verdict_counts,
)
from heedful.papers.reproduction import Cell, Claim, Entry, Results, Study, Table
from heedful.report.figure import Figure, inline_svg
from heedful.report.page import templates
from heedful.settings import Run, key_of

# A study's results as text: numbers with their intervals, claims as sentences, tables as cells.

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
        facts=_report_facts(study, results, workers),
        errors=results.errors,
    )


def study_notes(study: Study) -> tuple[str, tuple[str, ...]]:
    """What `notes.md` says about the study: the paper's claims, and the paragraphs on where we differ and why."""
    file = resources.files("heedful.papers") / study.folder / "notes.md"
    _, about, differences = file.read_text(encoding="utf-8").split("## ")
    paragraphs = [" ".join(paragraph.split()) for paragraph in differences.split("\n\n")[1:]]
    return " ".join(about.split("\n\n", 1)[1].split()), tuple(paragraph for paragraph in paragraphs if paragraph)


def _not_learnt(results: Results) -> list[str]:
    names = [f"{cell.data}, {cell.model}" for cell in results.cells if not cell_has_learnt(cell)]
    return [f"Not surely better than a constant answer: {'; '.join(names)}."] if names else []


def _report_facts(study: Study, results: Results, workers: int) -> dict[str, str]:
    runs = {key_of(file.run): file for cell in results.cells for file in (*cell.runs, *cell.comparison_models)}
    seconds = sum((each.seconds for each in (*runs.values(), *results.cells)), 0.0)
    versions = results.cells[0].runs[0].versions if results.cells else {}
    time = f"{format_seconds(seconds)} of one core; with {workers} workers about {format_seconds(seconds / workers)}"
    return {
        "Scale": f"{results.scale}: {study.scales[results.scale]}",
        "Trained models": str(len(runs)),
        "Computing time": time,
        **({"Not done yet, and not in these numbers": "; ".join(results.missing)} if results.missing else {}),
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
        "training": format_seconds(sum(file.seconds for file in (*cell.runs, *cell.comparison_models))),
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


# A study as Markdown: a main page that opens with the finding, and a page for each long table.

RAN = "what_was_run.md"
LONGEST_ALT = 200
"""Characters of a figure's description on the page; the drawing itself has all of it."""


def markdown_pages(report: StudyReport) -> dict[str, str]:
    """The main page NAME.md and the pages NAME/TABLE.md of what is too long for it, by their paths."""
    name = report.study.name
    pages = {f"{name}.md": _main_page(report)}
    for table in filter(is_long, report.tables):
        content = markdown_table(*table_cells(table))
        pages[f"{name}/{table_file(table)}"] = _own_page(report, f"{table.name}: {table.title}", table.note, content)
    if report.ran:
        content = markdown_table(*ran_cells(report))
        pages[f"{name}/{RAN}"] = _own_page(report, "What was run", f"Made by `{report.command}`.", content)
    return pages


def _main_page(report: StudyReport) -> str:
    study = report.study
    parts = [f"# {study.title}, reproduced", f"**{summary_sentence(report.claims)}**"]
    parts.append(f"{study.paper}. Made by `{report.command}`.")
    parts += ["## What we find", *(block for claim in report.claims for block in _claim_blocks(claim))]
    parts += ["## What the paper claims", report.about, "## How the verdicts are made", HOW, error_rates_text()]
    parts += ["## What the tables show", *report.remarks] if report.remarks else []
    parts += ["## The paper's tables beside ours"] if report.tables else []
    parts += [block for table in report.tables for block in _table_blocks(report, table)]
    parts += ["## The paper's figures, redrawn from our rows"] if report.figures else []
    for figure in report.figures:
        drawing = f"![{_shortened(figure.alt)}]({study.name}/{figure.name}.svg)"
        parts += [f"### {figure.title} ({figure.source})", drawing, figure.caption]
    facts = "\n".join(f"- {name}: {fact}" for name, fact in report.facts.items())
    parts += ["## Where we differ, and why", *report.differences, "## What was run", facts]
    parts += [f"[Each model and its audit]({study.name}/{RAN})"] if report.ran else []
    parts += [f"Failed: {key}: {error}" for key, error in report.errors.items()]
    return "\n\n".join(parts) + "\n"


def _own_page(report: StudyReport, title: str, note: str, content: str) -> str:
    study = report.study
    parts = [f"# {title}", note, content, f"Part of [{study.title}, reproduced](../{study.name}.md)."]
    return "\n\n".join(parts) + "\n"


def _claim_blocks(claim: Claim) -> list[str]:
    """Verdict, claim and number; what they rest on is folded."""
    parts = claim_parts(claim)
    each = [markdown_table(["data set", claim_unit(claim)], parts)] if parts else []
    return [
        f"**{claim.verdict}**: {claim.statement}<br>{claim_number(claim)}",
        "<details><summary>What this rests on</summary>",
        claim_details(claim),
        *each,
        "</details>",
    ]


def _table_blocks(report: StudyReport, table: Table) -> list[str]:
    """The table; of a long one, where it is."""
    title = f"### {table.name}: {table.title}"
    if is_long(table):
        return [title, f"[{len(table.rows)} rows in a page of their own]({report.study.name}/{table_file(table)})"]
    return [title, table.note, markdown_table(*table_cells(table))]


def _shortened(text: str) -> str:
    """The text up to the last part that fits, if it is too long to be read aloud."""
    if len(text) <= LONGEST_ALT:
        return text
    return re.split(r"[,;] (?!.*[,;] )", text[:LONGEST_ALT])[0] + "; and so on."


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


HERE = Path(__file__).parent
MARKS = ((re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"), (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"))
WRITTEN = ("*.svg", "*.md")
"""What a study's folder may hold of it."""


def render_study(report: StudyReport) -> str:
    """The whole HTML page; every word in it is escaped, and it requests nothing from any network."""
    environment = templates(HERE)
    environment.filters |= {
        "bounds": claim_bounds_text,
        "details": claim_details,
        "emphasized": _emphasized,
        "number": claim_number,
        "parts": claim_parts,
        "unit": claim_unit,
    }
    return environment.get_template("study.html").render(
        report=report,
        summary=summary_sentence(report.claims),
        facts=[("Scale", report.scale), ("Trained models", report.facts["Trained models"])],
        ran=ran_cells(report),
        how=f"{HOW} {error_rates_text()}",
        tables=[(table, *table_cells(table), is_long(table)) for table in report.tables],
        figures=[(figure, inline_svg(figure)) for figure in report.figures],
    )


def _emphasized(text: str) -> Markup:
    """Text with Markdown's two kinds of emphasis."""
    html = str(escape(text))
    for mark, element in MARKS:
        html = mark.sub(element, html)
    return Markup(html)


def write_study(report: StudyReport, folder: Path) -> Path:
    """The path of the HTML page: NAME.html, NAME.md, NAME.json and what belongs to NAME.md are written into the folder.

    That is, in NAME/, the figures and the pages of long tables; those that the study no longer has are removed.
    """
    name = report.study.name
    content = json.dumps(as_json(report), indent=2, allow_nan=False)
    texts = {f"{name}/{figure.name}.svg": str(inline_svg(figure)) for figure in report.figures}
    texts |= {**markdown_pages(report), f"{name}.json": f"{content}\n", f"{name}.html": render_study(report)}
    (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        (folder / path).write_text(text, encoding="utf-8")
    written = {folder / path for path in texts}
    for path in [path for pattern in WRITTEN for path in (folder / name).glob(pattern)]:
        if path not in written:
            path.unlink()
    return folder / f"{name}.html"
