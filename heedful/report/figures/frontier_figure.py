"""The frontier: every training method that was tried, by accuracy and by how often its attention points."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from heedful.formatting import format_estimate, format_number
from heedful.jobs.improving import MethodScores, frontier
from heedful.report.drawing import INK, PLOT, axis_ends, color_of, x_axis, y_axis
from heedful.report.figure import Figure, worded

KINDS = ("as it is", "tried", "chosen")


def frontier_figure(
    own_way: MethodScores, others: Sequence[MethodScores], chosen: MethodScores, max_accuracy_drop: float
) -> Figure:
    """Accuracy on dev texts to the right, the share of texts upward; the chosen method among all."""
    ways = (own_way, *others)
    table = pl.DataFrame([_row(way, _kind(way, own_way, chosen)) for way in ways])
    listed = ", ".join(f"{way.name}: {format_number(way.accuracy)} and {format_number(way.points)}" for way in ways)
    return worded(
        "frontier",
        _chart(ways, own_way, chosen, own_way.accuracy - max_accuracy_drop),
        f"Scatter plot of {len(ways)} ways to train; accuracy and share of texts: {listed}.",
        table=table,
    )


def _kind(way: MethodScores, own_way: MethodScores, chosen: MethodScores) -> str:
    return KINDS[2] if way.name == chosen.name else KINDS[0] if way.name == own_way.name else KINDS[1]


def _row(way: MethodScores, kind: str) -> dict[str, str]:
    share = format_estimate(way.points, way.points_low, way.points_high)
    shown = {"accuracy": format_number(way.accuracy), "attention points": share}
    return {"training method": way.name, "": kind, **shown}


def _chart(ways: Sequence[MethodScores], own_way: MethodScores, chosen: MethodScores, least: float) -> alt.LayerChart:
    rows = [{"accuracy": way.accuracy, "points": way.points, "kind": _kind(way, own_way, chosen)} for way in ways]
    points = pl.DataFrame(rows)
    x = x_axis("accuracy", "accuracy on dev", axis_ends([*points["accuracy"], least]))
    y = y_axis("points", "share of texts in which attention points", axis_ends(points["points"].to_list()))
    kinds = [kind for kind in KINDS if kind in set(points["kind"])]
    base = alt.Chart(points).encode(x=x, y=y)
    best = pl.DataFrame([{"accuracy": way.accuracy, "points": way.points} for way in frontier(ways)])
    line = alt.Chart(best).mark_line(color=INK, opacity=0.5, interpolate="step-before", aria=False).encode(x=x, y=y)
    dots = base.mark_point(filled=True, size=90, opacity=1, aria=False).encode(color=color_of(kinds, "kind", "circle"))
    # The bound has the axis of the points: a datum would bring an axis of its own, which begins at 0.
    bound = alt.Chart(pl.DataFrame({"accuracy": [least]})).mark_rule(strokeDash=[3, 3], color=INK, aria=False)
    return alt.LayerChart(layer=[bound.encode(x=x), line, dots]).properties(width=PLOT, height=230)
