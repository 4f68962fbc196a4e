"""The frontier: every way to train that was tried, by its accuracy and its mean score."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from heedful.formatting import format_number
from heedful.improving.choosing import frontier
from heedful.improving.method_scores import Point
from heedful.report.axis import axis_ends, x_axis, y_axis
from heedful.report.drawing import INK, PLOT, colour_of
from heedful.report.figure import Figure

KINDS = ("as it is", "tried", "chosen")
GROUP = "What does faithful attention cost?"


def frontier_figure(own_way: Point, points: Sequence[Point], chosen: Point, most_lost: float) -> Figure:
    """Accuracy on dev to the right, the mean score upwards; the chosen way among all."""
    ways = (own_way, *points)
    table = pl.DataFrame([_row(way, _kind(way, own_way, chosen)) for way in ways])
    listed = ", ".join(f"{way.name}: {format_number(way.accuracy)} and {format_number(way.mean)}" for way in ways)
    return Figure(
        name="frontier",
        group=GROUP,
        title="Accuracy and mean score of every way to train",
        caption=(
            "Each point is a way to train, on dev texts and over its seeds; the line joins those than which none has "
            "both more accuracy and a higher mean score (0 the floor of the questions, 1 the best possible). Left of "
            "the dashed line more accuracy is lost than was allowed."
        ),
        source="Ours",
        alt=f"Scatter plot of {len(ways)} ways to train; accuracy and mean score: {listed}.",
        chart=_chart(ways, own_way, chosen, own_way.accuracy - most_lost),
        table=table,
    )


def _kind(way: Point, own_way: Point, chosen: Point) -> str:
    return KINDS[2] if way.name == chosen.name else KINDS[0] if way.name == own_way.name else KINDS[1]


def _row(way: Point, kind: str) -> dict[str, str]:
    scores = {name.replace("_", " "): format_number(score) for name, score in way.scores.items()}
    shape = {"sharpness": format_number(way.sharpness), "evenness": format_number(way.evenness)}
    return {"way to train": way.name, "": kind, "accuracy": format_number(way.accuracy), **scores, **shape}


def _chart(ways: Sequence[Point], own_way: Point, chosen: Point, least: float) -> alt.LayerChart:
    rows = [{"accuracy": way.accuracy, "mean": way.mean, "kind": _kind(way, own_way, chosen)} for way in ways]
    points = pl.DataFrame(rows)
    x = x_axis("accuracy", "accuracy on dev", axis_ends([*points["accuracy"], least]))
    y = y_axis("mean", "mean score", axis_ends(points["mean"].to_list()))
    kinds = [kind for kind in KINDS if kind in set(points["kind"])]
    base = alt.Chart(points).encode(x=x, y=y)
    best = pl.DataFrame([{"accuracy": way.accuracy, "mean": way.mean} for way in frontier(ways)])
    line = alt.Chart(best).mark_line(color=INK, opacity=0.5, interpolate="step-before", aria=False).encode(x=x, y=y)
    dots = base.mark_point(filled=True, size=90, opacity=1, aria=False).encode(color=colour_of(kinds, "kind", "circle"))
    # The bound has the axis of the points: a datum would bring an axis of its own, which begins at 0.
    bound = alt.Chart(pl.DataFrame({"accuracy": [least]})).mark_rule(strokeDash=[3, 3], color=INK, aria=False)
    return alt.LayerChart(layer=[bound.encode(x=x), line, dots]).properties(width=PLOT, height=230)
