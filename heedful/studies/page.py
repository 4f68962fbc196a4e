"""A study's files: one self-contained HTML page, Markdown pages with their figures, and JSON."""

import json
import re
from pathlib import Path

from markupsafe import Markup, escape

from heedful.report.figure import inline_svg
from heedful.report.page import templates
from heedful.studies.claim_text import (
    HOW,
    claim_bounds_text,
    claim_details,
    claim_number,
    claim_parts,
    claim_unit,
    error_rates_text,
    summary_sentence,
)
from heedful.studies.markdown import markdown_pages
from heedful.studies.render import StudyReport, as_json, is_long, ran_cells, table_cells

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
