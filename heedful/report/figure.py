"""One figure of the report: a chart, how to read it, its source, and a description with numbers."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from markupsafe import Markup

from heedful.formatting import printable
from heedful.report.drawing import Chart, styled

VERSION = "_".join(alt.SCHEMA_VERSION.split(".")[:2])
"""Of Vega-Lite, as altair writes it."""
PLACES = re.compile(r' (?:transform|d|x2|y2)="[^"]*"')
LONG_NUMBER = re.compile(r"(\d\.\d\d)\d+")


@dataclass(frozen=True)
class Figure:
    """A chart and its words.

    Args:
        name: file name without its ending.
        group: the name of the question that it belongs to.
        caption: one sentence on how to read it, and what was left out.
        source: the paper and figure that it repeats.
        alt: a description with numbers.
        table: the numbers behind it, where they are few.
        columns: how many of the six columns of the page it takes.
    """

    name: str
    group: str
    title: str
    caption: str
    source: str
    alt: str
    chart: Chart
    table: pl.DataFrame | None = None
    columns: int = 3


def worded(
    name: str, chart: Chart, alt: str, *, table: pl.DataFrame | None = None, more: str = "", **values: object
) -> Figure:
    """The figure of that name in `figures/words.toml`, which has its title, caption and source.

    Args:
        more: sentences to follow the caption.
        values: what the braces in the caption stand for.
    """
    words = words_of(name)
    caption = words.pop("caption").format(**values) + more
    return Figure(name=name, chart=chart, alt=alt, table=table, caption=caption, **words)


def words_of(name: str) -> dict[str, Any]:
    """The fields of a figure that are the same whatever was audited."""
    return dict(_words()[name])


@cache
def _words() -> dict[str, dict[str, Any]]:
    return tomllib.loads((resources.files("heedful.report") / "figures" / "words.toml").read_text(encoding="utf-8"))


def to_svg(figure: Figure) -> str:
    """The figure as an SVG file."""
    return vl_convert.vegalite_to_svg(_specification(figure), vl_version=VERSION)


def to_png(figure: Figure, scale: float = 2.0) -> bytes:
    """The figure as a PNG file, with `scale` pixels per unit."""
    return vl_convert.vegalite_to_png(_specification(figure), vl_version=VERSION, scale=scale)


def _specification(figure: Figure) -> dict[str, Any]:
    """The chart as it is drawn: every label safe to draw."""
    # Thirty runs have more bins than altair's limit on rows, which is there for charts that ship their data.
    with alt.data_transformers.enable("default", max_rows=None):
        return _drawable(styled(figure.chart).to_dict(validate=False))


def _drawable(part: Any) -> Any:
    """The same without control characters, which end the process that draws them.

    Vega reads an escape in a title as what it stands for: a backslash becomes the one of full width.
    """
    if isinstance(part, dict):
        return {name: _drawable(inner) for name, inner in part.items()}
    if isinstance(part, list):
        return [_drawable(inner) for inner in part]
    return printable(part).replace("\\", "\N{FULLWIDTH REVERSE SOLIDUS}") if isinstance(part, str) else part


def inline_svg(figure: Figure) -> Markup:
    """The figure as an element of a page: numbers with two decimals, and its description."""
    drawn = PLACES.sub(lambda place: LONG_NUMBER.sub(r"\1", place[0]), to_svg(figure))
    described = Markup('<svg role="img" aria-label="{}" focusable="false" ').format(figure.alt)
    # The drawing is markup by vl-convert, which escapes every word of the data in it.
    return described + Markup(drawn[len("<svg ") :])
