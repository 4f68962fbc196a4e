"""The kinds of figures that the papers draw, as grids: a row per data set, a column per model."""

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from heedful.measures import Estimate
from heedful.report.drawing import (
    COLOURS,
    INK,
    STRONG,
    Chart,
    boxes,
    colour_of,
    colour_scale,
    five_numbers,
    histogram,
    steps,
)

BINS = 25
SMALL = 1e-3
"""Below it, numbers along an axis are written with an exponent."""
MOST_POINTS = 150
"""Points drawn in one panel of a scatter plot."""


def histograms(frame: pl.DataFrame, low: float, high: float, axis: str) -> Chart:
    """Step histograms of `value` for each data set and model, one per predicted class."""
    classes = sorted(frame["class"].unique())
    bars = histogram(frame, ["data", "model", "class"], low, high, BINS)
    chart = steps(bars, colour_of(classes, "class"), axis).properties(width=165, height=85)
    return _grid(chart, frame)


def box_plots(frame: pl.DataFrame, rows: tuple[str, Sequence[str], str]) -> Chart:
    """Horizontal box plots of `value` for each data set and model, one for each category of the field `rows[0]`.

    The caption must say what the value is: there is no room for it under each of many small panels.
    """
    numbers = five_numbers(frame, ["data", "model", rows[0]]).with_columns(series=pl.lit("all"))
    return _grid(boxes(numbers, rows, ("series", ["all"]), "").properties(width=165), frame)


def scatter(frame: pl.DataFrame, x: str, y: str) -> Chart:
    """Points (`x`, `y`) of each data set and model; at most MOST_POINTS per panel, taken evenly over x."""
    every = (pl.len().over("data", "model") / MOST_POINTS).ceil().cast(pl.Int64)
    ranked = frame.sort("x").with_columns(place=pl.int_range(pl.len()).over("data", "model"), every=every)
    points = ranked.filter(pl.col("place") % pl.col("every") == 0).select("data", "model", pl.col("x", "y").round(4))
    marks = (
        alt.Chart()
        .mark_circle(size=9, opacity=0.45, color=COLOURS[0], aria=False)
        .encode(
            x=alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4)), y=alt.Y("y:Q", title=y, axis=alt.Axis(tickCount=4))
        )
    )
    return _grid(alt.LayerChart(data=points, layer=[marks]).properties(width=165, height=110), points)


def _grid(chart: alt.LayerChart, frame: pl.DataFrame) -> Chart:
    """The chart once for each data set and model that the frame holds, in its order."""
    datasets, models = (list(dict.fromkeys(frame[name])) for name in ("data", "model"))
    header = alt.Header(title=None, labelFontWeight=600, labelColor=STRONG)
    row_header = alt.Header(title=None, labelFontWeight=600, labelColor=STRONG, labelAngle=0, labelAlign="left")
    return chart.facet(
        row=alt.Row("data:N", sort=datasets, header=row_header),
        column=alt.Column("model:N", sort=models, header=header),
    )


def intervals(estimates: Mapping[tuple[str, str], Estimate], axis: str, mark: float = 0.0) -> Chart:
    """A point and its interval for each (row, series), with a line at the mark."""
    rows, series = (list(dict.fromkeys(names)) for names in zip(*estimates, strict=True))
    frame = _interval_frame(estimates)
    base = alt.Chart().encode(
        y=alt.Y("row:N", sort=rows, title=None),
        yOffset=alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series)),
        color=alt.Color("series:N", scale=colour_scale(series), sort=series, legend=_whole_names(series)),
    )
    small = max(abs(end) for part in ("low", "high") for end in frame[part]) < SMALL
    ticks = alt.Axis(tickCount=5, format="~e") if small else alt.Axis()
    reach = base.mark_rule(strokeWidth=1.6, aria=False).encode(x=alt.X("low:Q", title=axis, axis=ticks), x2="high:Q")
    points = base.mark_circle(size=46, opacity=1, aria=False).encode(x="value:Q")
    rule = alt.Chart().mark_rule(strokeDash=[3, 3], color=INK, aria=False).encode(x=alt.datum(mark))
    height = len(rows) * (15 * len(series) + 12)
    return alt.LayerChart(data=frame, layer=[rule, reach, points]).properties(width=430, height=height)


def _interval_frame(estimates: Mapping[tuple[str, str], Estimate]) -> pl.DataFrame:
    """row, series, value, low and high; rounded to significant digits, since some differences are small but certain."""
    rows = [
        (row, series, *(float(f"{end:.4g}") for end in (estimate.value, estimate.low, estimate.high)))
        for (row, series), estimate in estimates.items()
    ]
    return pl.DataFrame(rows, schema=["row", "series", "value", "low", "high"], orient="row")


def _whole_names(series: Sequence[str]) -> alt.Legend | None:
    """A legend of long names, one below the other; None where there is one series only."""
    return alt.Legend(title=None, orient="top", columns=1, labelLimit=0) if len(series) > 1 else None


def curves(
    frame: pl.DataFrame,
    x: str,
    y: str,
    series: Sequence[str],
    *,
    columns: int | None = None,
    dots: bool = True,
) -> Chart:
    """Lines (`x`, `y`), one per `series`, in a panel for each data set.

    Args:
        columns: how many panels stand side by side; None: all.
    """
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=False)),
        color=colour_of(series, "series"),
    )
    marks = [base.mark_line(strokeWidth=1.6, aria=False)]
    marks += [base.mark_circle(size=30, opacity=1, aria=False)] if dots else []
    header = alt.Header(title=None, labelFontWeight=600, labelColor=STRONG)
    panels = list(dict.fromkeys(frame["data"]))
    panel = alt.LayerChart(data=frame, layer=marks).properties(width=240, height=160)
    return panel.facet(facet=alt.Facet("data:N", sort=panels, header=header), columns=columns or len(panels))


def heat_maps(frame: pl.DataFrame, rows: Sequence[str]) -> Chart:
    """A text as each model reads it: each `word` at its `place`, on a background as dark as its `weight`.

    A panel for each model, a row for each way the text is `read`; words that were `perturbed` are underlined.
    """
    models = list(dict.fromkeys(frame["model"]))
    base = alt.Chart().encode(
        x=alt.X("place:O", axis=None), y=alt.Y("read:N", sort=list(rows), title=None, axis=alt.Axis(ticks=False))
    )
    background = base.mark_rect(color=COLOURS[1], aria=False).encode(
        opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.6], clamp=True), legend=None)
    )
    words = base.mark_text(color=STRONG, fontSize=10.5, limit=66, aria=False).encode(text="word:N")
    line = (
        alt.Chart()
        .transform_filter("datum.perturbed")
        .mark_rule(color=COLOURS[0], strokeWidth=2, yOffset=8, aria=False)
    )
    under = line.encode(
        x=alt.X("place:O", axis=None, bandPosition=0.1), x2=alt.X2("place:O", bandPosition=0.9), y=base.encoding.y
    )
    width = 68 * frame["place"].n_unique()
    panel = alt.LayerChart(data=frame, layer=[background, words, under]).properties(width=width, height=22 * len(rows))
    header = alt.Header(title=None, labelFontWeight=600, labelColor=STRONG, labelAnchor="start")
    return panel.facet(facet=alt.Facet("model:N", sort=models, header=header), columns=1)


def planes(
    frame: pl.DataFrame, lines: pl.DataFrame, x: str, y: str, series: Sequence[str], *, columns: int = 4
) -> Chart:
    """Points (`x`, `y`) coloured by `series`, and lines beside them, in a panel for each data set."""
    both = pl.concat([frame.with_columns(kind=pl.lit("point")), lines.with_columns(kind=pl.lit("line"))])
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4)),
        y=alt.Y("y:Q", title=y, axis=alt.Axis(tickCount=4)),
        color=colour_of(series, "series"),
    )
    joined = base.transform_filter("datum.kind == 'line'").mark_line(strokeWidth=1.4, opacity=0.8, aria=False)
    dots = base.transform_filter("datum.kind == 'point'").mark_circle(size=46, opacity=0.8, aria=False)
    header = alt.Header(title=None, labelFontWeight=600, labelColor=STRONG)
    panel = alt.LayerChart(data=both, layer=[joined, dots]).properties(width=150, height=120)
    return panel.facet(
        facet=alt.Facet("data:N", sort=list(dict.fromkeys(frame["data"])), header=header), columns=columns
    )


def strips(frame: pl.DataFrame, x: str, series: Sequence[str]) -> Chart:
    """The points `x` of each data set in a row, coloured by `series`, with a tick at their mean."""
    base = alt.Chart(frame).encode(
        y=alt.Y("data:N", sort=list(dict.fromkeys(frame["data"])), title=None),
        yOffset=alt.YOffset("series:N", sort=list(series), scale=alt.Scale(domain=list(series))),
        x=alt.X("x:Q", title=x),
        color=colour_of(series, "series"),
    )
    dots = base.mark_circle(size=40, opacity=0.75, aria=False)
    means = base.mark_tick(thickness=2, size=13, aria=False).encode(x="mean(x):Q")
    rows = frame["data"].n_unique()
    return alt.layer(dots, means).properties(width=430, height=rows * (14 * len(series) + 12))
