"""The figure of plausibility: every ranking by how faithful it is to the model and how plausible to people."""

import altair as alt
import polars as pl

from heedful.formatting import format_number
from heedful.report.audits import printable
from heedful.report.drawing import PLOT, Ends, axis_ends, color_scale, dashed_rule, legend_of, panels, x_axis, y_axis
from heedful.report.figure import Figure
from heedful.report.texts import Texts

GROUP = "plausibility"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left")
LONGEST = 24
"""Characters of a ranking's name in the drawing."""


def faithful_and_plausible(texts: Texts) -> Figure | None:
    """A point a ranking: to the right the more faithful, upwards the more plausible."""
    points = ranking_points(texts)
    if points.is_empty():
        return None
    listed = ", ".join(
        f"{title} {format_number(faithful)} and {format_number(plausible)}"
        for title, faithful, plausible in points.select("title", "faithful", "plausible").rows()
    )
    return Figure(
        name="faithful_and_plausible",
        group=GROUP,
        title="Faithful is one thing, plausible another",
        caption=(
            "Each point is a ranking of words, with its 95 % intervals. To the right: it finds sooner what the "
            "decision rests on (0 is a random order, 1 the smallest set that changes the decision). Upwards: it agrees "
            "better with what people marked (0 is the best ranking that knows nothing of the model, 1 the marks "
            "themselves). Only the first says anything of how the model decides."
        ),
        source="Ours; plausibility and faithfulness as distinguished by Jacovi & Goldberg 2020",
        alt=f"Scatter plot of {len(points)} rankings; faithful and plausible: {listed}.",
        chart=panels(_scatter(points), texts, PLOT, 230),
        table=_table(texts),
    )


def ranking_points(texts: Texts) -> pl.DataFrame:
    """run, title, and both scores with their ends, of each ranking that has both."""
    rows = [
        {
            "run": run,
            "title": _short(ranking.title or ranking.name),
            **{
                f"{axis}{end}": getattr(ranking, f"{axis}{end}")
                for axis in ("faithful", "plausible")
                for end in ("", "_low", "_high")
            },
        }
        for run, rankings in zip(texts.runs, texts.rankings, strict=False)
        for ranking in rankings
        if ranking.faithful is not None and ranking.plausible is not None
    ]
    return pl.DataFrame(rows)


def _table(texts: Texts) -> pl.DataFrame:
    """What was measured of every ranking."""
    rows = [
        {
            "run": run,
            "ranking": printable(ranking.title or ranking.name),
            "faithful": format_number(ranking.faithful),
            "plausible": format_number(ranking.plausible),
            "erased": format_number(ranking.erased, percent=True),
            "comprehensiveness": format_number(ranking.comprehensiveness),
            "sufficiency": format_number(ranking.sufficiency),
            "average precision": format_number(ranking.average_precision),
            "token F1": format_number(ranking.token_f1),
            "tau with attention": format_number(ranking.agreement.get("attention")),
            "texts": ranking.texts,
        }
        for run, rankings in zip(texts.runs, texts.rankings, strict=False)
        for ranking in rankings
    ]
    return pl.DataFrame(rows)


def _short(title: str) -> str:
    title = printable(title)
    return title if len(title) <= LONGEST else f"{title[: LONGEST - 1]}…"


def _scatter(points: pl.DataFrame) -> alt.LayerChart:
    titles = list(dict.fromkeys(points["title"]))
    x = x_axis("faithful", "faithful to the model", _ends(points, "faithful", [0.0, 1.0]))
    y = y_axis("plausible", "plausible to people", _ends(points, "plausible", [0.0]))
    legend = legend_of(titles) if len(titles) > 1 else None
    base = alt.Chart().encode(
        x=x, y=y, color=alt.Color("title:N", scale=color_scale(titles), sort=titles, legend=legend)
    )
    lines = [
        base.mark_rule(opacity=0.6, aria=False).encode(x=alt.X("faithful_low:Q"), x2="faithful_high:Q"),
        base.mark_rule(opacity=0.6, aria=False).encode(y=alt.Y("plausible_low:Q"), y2="plausible_high:Q"),
    ]
    # Colors repeat after six, shapes after seven: together they tell any number of rankings apart.
    shapes = alt.Scale(domain=titles, range=[SHAPES[number % len(SHAPES)] for number in range(len(titles))])
    shape = alt.Shape("title:N", scale=shapes, sort=titles, legend=legend)
    dots = base.mark_point(filled=True, size=90, opacity=1, aria=False).encode(shape=shape)
    zero = [dashed_rule().encode(x=alt.datum(0)), dashed_rule().encode(y=alt.datum(0))]
    return alt.LayerChart(data=points, layer=[*zero, *lines, dots])


def _ends(points: pl.DataFrame, axis: str, whole: list[float]) -> Ends:
    """Where the axis starts and ends: at all of these values, and at those of every ranking."""
    known = [value for end in ("", "_low", "_high") for value in points[f"{axis}{end}"] if value is not None]
    return axis_ends([*whole, *known])


FIGURES = (faithful_and_plausible,)
