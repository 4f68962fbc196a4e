"""A study's files: one HTML page that needs nothing but itself, a Markdown page with its figures, and JSON."""

import json
import re
from pathlib import Path

from markupsafe import Markup, escape

from heedful.report.figure import inline_svg
from heedful.report.page import templates
from heedful.studies.render import HOW, Told, as_json, cells_of, markdown, said_estimate, said_number

HERE = Path(__file__).parent
MARKS = ((re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"), (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"))


def render_study(told: Told) -> str:
    """The whole HTML page; every word in it is escaped, and it asks for nothing from any network."""
    environment = templates(HERE)
    environment.filters |= {"estimate": said_estimate, "number": said_number, "marked": _marked}
    return environment.get_template("study.html").render(
        told=told,
        facts=told.facts.items(),
        how=HOW,
        tables=[(table, *cells_of(table)) for table in told.tables],
        figures=[(figure, inline_svg(figure)) for figure in told.figures],
    )


def _marked(text: str) -> Markup:
    """Text with Markdown's two kinds of emphasis."""
    html = str(escape(text))
    for mark, element in MARKS:
        html = mark.sub(element, html)
    return Markup(html)


def write_study(told: Told, folder: Path) -> Path:
    """Write NAME.html, NAME.md, NAME.json and the figures NAME/*.svg into a folder; the HTML page's path."""
    name = told.study.name
    (folder / name).mkdir(parents=True, exist_ok=True)
    for figure in told.figures:
        (folder / name / f"{figure.name}.svg").write_text(inline_svg(figure), encoding="utf-8")
    drawn = {figure.name: f"{name}/{figure.name}.svg" for figure in told.figures}
    (folder / f"{name}.md").write_text(markdown(told, drawn), encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(as_json(told), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    page = folder / f"{name}.html"
    page.write_text(render_study(told), encoding="utf-8")
    return page
