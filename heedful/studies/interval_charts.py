"""Numbers with their intervals, and numbers seed by seed, one row per data set or model."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import median, quantiles

import altair as alt
import polars as pl

from heedful.measures import Estimate
from heedful.report.axis import axis_ends, x_axis
from heedful.report.drawing import Chart, dashed_rule
from heedful.studies.charts import colour_by

Limits = tuple[float, float]
Estimates = Mapping[tuple[str, str], Estimate]
"""By row and series."""

FAR_OUT = 3.0
"""Interquartile ranges from the quartiles, beyond which the end of an interval is an outlier (Tukey)."""
MUCH_WIDER = 2.0
"""How much wider outliers must make the axis to be cut off."""
WIDTH, MARGIN = 430, 0.03


def interval_limits(estimates: Estimates, mark: float = 0.0) -> Limits:
    """The ends of an axis on which the intervals can be read: all but outliers that would squeeze the others.

    A series that lies elsewhere as a whole is no outlier: its points are shown.
    """
    known = [end for part in estimates.values() for end in (part.value, part.low, part.high) if isfinite(end)]
    ends = [*known, mark]
    first, _, third = quantiles(ends, method="inclusive")
    low, high = first - FAR_OUT * (third - first), third + FAR_OUT * (third - first)
    usual = [mark, *(end for end in ends if low <= end <= high)]
    for points in _points_by_series(estimates).values():
        usual += points if not low <= median(points) <= high else []
    shown = usual if max(usual) - min(usual) < (max(ends) - min(ends)) / MUCH_WIDER else ends
    return min(shown), max(shown)


def _points_by_series(estimates: Estimates) -> dict[str, list[float]]:
    points: dict[str, list[float]] = {}
    for (_, series), part in estimates.items():
        if isfinite(part.value):
            points.setdefault(series, []).append(part.value)
    return points


def beyond(estimates: Estimates, limits: Limits) -> dict[tuple[str, str], Estimate]:
    """The estimates whose intervals reach beyond the limits."""
    low, high = limits
    return {name: part for name, part in estimates.items() if part.low < low or part.high > high}


def intervals(estimates: Estimates, axis: str, limits: Limits, mark: float = 0.0) -> Chart:
    """A point and its interval for each (row, series), with a line at the mark.

    What lies beyond the limits is cut off, and an arrow at the edge says so.
    """
    rows, series = (list(dict.fromkeys(names)) for names in zip(*estimates, strict=True))
    margin = MARGIN * (limits[1] - limits[0])
    left, right = limits[0] - margin, limits[1] + margin
    ends = x_axis("low", axis, (left, right), ticks=8)
    ends["scale"]["zero"] = False  # or the other layers would have the axis begin at 0
    base = alt.Chart().encode(
        y=_row_axis(rows),
        yOffset=alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series)),
        color=colour_by(series, "series", "circle"),
    )
    layers = [
        dashed_rule().encode(x=alt.datum(mark)),
        base.mark_rule(strokeWidth=1.6, aria=False).encode(x=ends, x2="high:Q"),
        base.transform_filter("!datum.outside").mark_circle(size=46, opacity=1, aria=False).encode(x="value:Q"),
        *(
            base.transform_filter(f"datum.{side}")
            .mark_point(shape=f"triangle-{side}", size=60, filled=True, opacity=1, aria=False)
            .encode(x=alt.datum(edge))
            for side, edge in (("left", left), ("right", right))
        ),
    ]
    height = len(rows) * (15 * len(series) + 12)
    frame = _interval_frame(estimates, (left, right))
    return alt.LayerChart(data=frame, layer=layers).properties(width=WIDTH, height=height)


def _row_axis(rows: Sequence[str]) -> alt.Y:
    """A row for each data set or model, with its whole name."""
    return alt.Y("row:N", sort=list(rows), title="data set", axis=alt.Axis(labelLimit=0))


def _interval_frame(estimates: Estimates, edges: Limits) -> pl.DataFrame:
    """row, series, value, low and high (cut at the edges), and where they were cut.

    Rounded to significant digits, since some differences are small but certain.
    """
    left, right = edges
    frame = pl.DataFrame(
        [(*name, part.value, part.low, part.high) for name, part in estimates.items()],
        schema=["row", "series", "value", "low", "high"],
        orient="row",
    )
    cut = frame.with_columns(
        left=pl.col("low") < left,
        right=pl.col("high") > right,
        outside=(pl.col("value") < left) | (pl.col("value") > right),
    )
    return cut.with_columns(
        pl.col("low", "high").clip(left, right).round_sig_figs(4), pl.col("value").round_sig_figs(4)
    )


def strips(frame: pl.DataFrame, x: str, series: Sequence[str], limits: Limits) -> Chart:
    """The points `x` of each `row`, coloured by `series`, with a tick at their mean.

    Args:
        limits: what the points can be at least and at most.
    """
    base = alt.Chart(frame).encode(
        y=_row_axis(list(dict.fromkeys(frame["row"]))),
        yOffset=alt.YOffset("series:N", sort=list(series), scale=alt.Scale(domain=list(series))),
        x=x_axis("x", x, axis_ends(frame["x"].to_list(), limits)),
        color=colour_by(series, "series", "circle"),
    )
    dots = base.mark_circle(size=40, opacity=0.75, aria=False)
    means = base.mark_tick(thickness=2, size=11, aria=False).encode(x="mean(x):Q")
    rows = frame["row"].n_unique()
    return alt.layer(dots, means).properties(width=WIDTH, height=rows * (6 * len(series) + 8))
