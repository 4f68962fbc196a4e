"""A study's files: one self-contained HTML page, a Markdown page with its figures, and JSON."""

import json
import re
from pathlib import Path

from markupsafe import Markup, escape

from heedful.report.figure import inline_svg
from heedful.report.page import templates
from heedful.studies.render import (
    HOW,
    StudyReport,
    as_json,
    claim_details,
    error_rates_text,
    estimate_text,
    markdown,
    number_text,
    table_cells,
)

HERE = Path(__file__).parent
MARKS = ((re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"), (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"))


def render_study(report: StudyReport) -> str:
    """The whole HTML page; every word in it is escaped, and it requests nothing from any network."""
    environment = templates(HERE)
    environment.filters |= {
        "estimate": estimate_text,
        "number": number_text,
        "emphasized": _emphasized,
        "details": claim_details,
    }
    return environment.get_template("study.html").render(
        report=report,
        facts=report.facts.items(),
        how=f"{HOW} {error_rates_text()}",
        tables=[(table, *table_cells(table)) for table in report.tables],
        figures=[(figure, inline_svg(figure)) for figure in report.figures],
    )


def _emphasized(text: str) -> Markup:
    """Text with Markdown's two kinds of emphasis."""
    html = str(escape(text))
    for mark, element in MARKS:
        html = mark.sub(element, html)
    return Markup(html)


def write_study(report: StudyReport, folder: Path) -> Path:
    """The path of the HTML page: NAME.html, NAME.md, NAME.json and the figures NAME/*.svg are written into the folder.

    Drawings in NAME/ of figures that the study no longer draws are removed.
    """
    name = report.study.name
    drawings = _write_figures(report, folder / name)
    paths = {figure: f"{name}/{path.name}" for figure, path in drawings.items()}
    content = json.dumps(as_json(report), indent=2, allow_nan=False)
    (folder / f"{name}.md").write_text(markdown(report, paths), encoding="utf-8")
    (folder / f"{name}.json").write_text(content + "\n", encoding="utf-8")
    page = folder / f"{name}.html"
    page.write_text(render_study(report), encoding="utf-8")
    return page


def _write_figures(report: StudyReport, folder: Path) -> dict[str, Path]:
    """The file of each figure, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {figure.name: folder / f"{figure.name}.svg" for figure in report.figures}
    for figure in report.figures:
        paths[figure.name].write_text(inline_svg(figure), encoding="utf-8")
    for path in set(folder.glob("*.svg")) - set(paths.values()):
        path.unlink()
    return paths
