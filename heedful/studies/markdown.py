"""A study as Markdown: a main page that opens with the finding, and a page for each long table."""

import re
from collections.abc import Mapping, Sequence

from heedful.studies.claim_text import (
    HOW,
    claim_details,
    claim_number,
    claim_parts,
    claim_unit,
    error_rates_text,
    summary_sentence,
)
from heedful.studies.render import StudyReport, is_long, ran_cells, table_cells, table_file
from heedful.studies.study import Claim, Table

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
    parts += ["## Where we differ, and why", *report.differences, "## What was run", _facts(report.facts)]
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


def _facts(facts: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {fact}" for name, fact in facts.items())


def _shortened(text: str) -> str:
    """The text up to the last part that fits, if it is too long to be read aloud."""
    if len(text) <= LONGEST_ALT:
        return text
    return re.split(r"[,;] (?!.*[,;] )", text[:LONGEST_ALT])[0] + "; and so on."


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
