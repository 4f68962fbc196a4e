"""The kinds of figures that the papers draw: panels for data sets and models, at most WIDEST pixels wide together."""

import json
from collections.abc import Mapping, Sequence
from math import ceil, isfinite
from statistics import median, quantiles
from typing import Any, cast

import altair as alt
import polars as pl

from heedful.measures import Estimate
from heedful.report.drawing import (
    COLORS,
    STRONG,
    Chart,
    Ends,
    axis_ends,
    boxes,
    color_scale,
    dashed_rule,
    five_numbers,
    header_of,
    histogram,
    steps,
    x_axis,
)

WIDEST, WIDEST_LEGEND, WIDEST_SINGLE, WIDEST_PANEL = 1_000, 700, 420, 240
"""Pixels of a figure, of a line of its legend, of its only panel, and of one of several."""
SPACING = 20
"""Pixels between panels."""
LETTER, NUMBER = 7, 22
"""Pixels that a letter takes, about, and a number along an axis."""
MOST_COLUMNS = 4
"""Data sets side by side."""
LINES = "split(datum.label, ', ')"
"""A panel's name with each of its parts on a line of its own."""
LINEAR, LOGARITHMIC = 0.01, [-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0]
"""Up to where a symmetric logarithmic axis is linear, and the numbers along it."""
BINS = 25
PRINTED = "paper"
"""The field that holds a number of the paper, and what its mark is called."""
DASHED: dict[str, Any] = {"strokeDash": [4, 2], "strokeWidth": 2, "aria": False}
MOST_POINTS, MOST_DOTS = 150, 60
"""Points drawn in one panel of a scatter plot; of one class, where classes have colors."""


def histograms(
    frame: pl.DataFrame, low: float, high: float, axis: str, printed: Mapping[tuple[str, str, str], float] = {}
) -> Chart:
    """Step histograms of `value` for each data set and model, one per class.

    Args:
        printed: the paper's mean for a dataset, model and class: a dashed line.
    """
    classes = sorted(frame["class"].unique())
    bars = histogram(frame, ["data", "model", "class"], low, high, BINS)
    chart = steps(bars, color_by(classes, "class"), axis).properties(height=85)
    drawn = {place for place in frame.select("data", "model", "class").unique().iter_rows()}
    means = [(*place, mean) for place, mean in printed.items() if place in drawn]
    if means:
        paper = pl.DataFrame(means, schema=["data", "model", "class", PRINTED], orient="row")
        chart.data = pl.concat([bars, paper], how="diagonal")
        chart.layer = [layer.transform_filter(f"!isValid(datum.{PRINTED})") for layer in chart.layer]
        rule = alt.Chart().transform_filter(f"isValid(datum.{PRINTED})").mark_rule(**DASHED)
        chart.layer += [rule.encode(x=alt.X(f"{PRINTED}:Q", title=None), color=color_by(classes, "class"))]
    return _grid(chart, frame, ["100%"])


def box_plots(frame: pl.DataFrame, rows: tuple[str, Sequence[str], str], axis: str, *, by_class: bool = False) -> Chart:
    """Horizontal box plots of `value` for each data set and model.

    Args:
        rows: the field that has a box for each of its categories, their order, and what they are.
        by_class: whether each class has a box of its own.
    """
    field, order, _ = rows
    series = frame.with_columns(series="class" if by_class else pl.lit("all"))
    names = sorted(series["series"].unique())
    numbers = five_numbers(series, ["data", "model", field, "series"])
    chart = boxes(numbers, rows, ("series", names), axis)
    for layer in chart.layer if by_class else ():
        if layer.encoding["color"] is not alt.Undefined:
            layer.encoding["color"] = color_by(names, "series")
    return _grid(chart, frame, order)


def scatter(frame: pl.DataFrame, x: str, y: str) -> Chart:
    """Points (`x`, `y`) of each data set and model; at most MOST_POINTS per panel, taken evenly over x.

    The vertical axis is logarithmic beyond +-LINEAR: most of what the papers draw so is small, and some of it large.
    """
    every = (pl.len().over("data", "model") / MOST_POINTS).ceil().cast(pl.Int64)
    ranked = frame.sort("x").with_columns(place=pl.int_range(pl.len()).over("data", "model"), every=every)
    points = ranked.filter(pl.col("place") % pl.col("every") == 0).select("data", "model", pl.col("x", "y").round(4))
    marks = (
        alt.Chart()
        .mark_circle(size=9, opacity=0.45, color=COLORS[0], aria=False)
        .encode(
            x=alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4)),
            y=alt.Y(
                "y:Q",
                title=y,
                scale=alt.Scale(type="symlog", constant=LINEAR),
                axis=alt.Axis(values=LOGARITHMIC, format="~g"),
            ),
        )
    )
    return _grid(alt.LayerChart(data=points, layer=[marks]).properties(height=110), frame, ["−0.01"])


def _grid(chart: alt.LayerChart, frame: pl.DataFrame, labels: Sequence[str]) -> Chart:
    """The chart once for each data set and model that the frame holds, in its order; with one title for each axis.

    Models stand side by side; data sets do where there are more of them than of models, and yet few.

    Args:
        labels: of the vertical axis, for which there must be room.
    """
    names = {field: list(dict.fromkeys(frame[field])) for field in ("data", "model")}
    row, column = "data", "model"
    if len(names["model"]) < len(names["data"]) <= MOST_COLUMNS:
        row, column = column, row
    longest = max(len(line) for name in names[row] for line in name.split(", ")) + max(map(len, labels))
    width = min(WIDEST_PANEL, (WIDEST - LETTER * longest - 60) // len(names[column]) - SPACING)
    x, y = (_taken_title(chart, channel) for channel in ("x", "y"))
    _thin_out(chart, width)
    # Panels are sorted by their places, not by a list of names: where one of them is missing, Vega would put its gap
    # first and all others in the wrong place.
    data = cast(pl.DataFrame, chart.data)
    numbered = data.with_columns(
        pl.col(field).replace_strict(own, range(len(own)), return_dtype=pl.Int32).alias(f"{field}_place")
        for field, own in names.items()
    )
    return chart.properties(width=width, data=numbered).facet(
        row=alt.Row(
            f"{row}_place:O", header=header_of(y, labelExpr=_lines_at(names[row]), labelAngle=0, labelAlign="left")
        ),
        column=alt.Column(
            f"{column}_place:O",
            header=header_of(x, labelExpr=_lines_at(names[column]), titleOrient="bottom", labelOrient="top"),
        ),
        spacing=SPACING,
    )


def _taken_title(chart: alt.LayerChart, channel: str) -> str | None:
    """The title of an axis of the chart, which then has none."""
    title = None
    for layer in chart.layer:
        encoded = layer.encoding[channel]
        if encoded is not alt.Undefined:
            title = title or (encoded["title"] if isinstance(encoded["title"], str) else None)
            encoded["title"] = None
    return title


def _thin_out(chart: alt.LayerChart, width: int) -> None:
    """Leave out numbers along the horizontal axis for which there is no room: every second, or more."""
    for layer in chart.layer:
        encoded = layer.encoding["x"]
        axis: Any = encoded["axis"] if encoded is not alt.Undefined else alt.Undefined
        if axis is not alt.Undefined and axis["values"] is not alt.Undefined:
            axis["values"] = axis["values"][:: ceil(len(axis["values"]) * NUMBER / width)]
            # Left to itself, Vega would leave out more of them.
            axis["tickCount"] = len(axis["values"])


def _lines_at(names: Sequence[str]) -> str:
    """The name at a panel's place, with each of its parts on a line of its own."""
    return f"split({json.dumps(list(names))}[datum.value], ', ')"


def color_by(series: Sequence[str], field: str, symbol: str = "square") -> alt.Color:
    """Color by a field, with a legend above that shows every name in full where there is more than one series."""
    legend = alt.Legend(
        title=None,
        orient="top",
        symbolType=symbol,
        symbolOpacity=1,
        symbolStrokeWidth=2.5,
        labelLimit=0,
        columns=max(1, WIDEST_LEGEND // (LETTER * max(map(len, series), default=1) + 30)),
    )
    scale = color_scale(series)
    return alt.Color(f"{field}:N", scale=scale, legend=legend if len(series) > 1 else None, sort=list(series))


def curves(frame: pl.DataFrame, x: str, y: str, series: Sequence[str], *, dots: bool = True) -> Chart:
    """Lines (`x`, `y`), one per `series`, in a panel for each data set."""
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=False)),
        color=color_by(series, "series", "stroke"),
    )
    marks = [base.mark_line(strokeWidth=1.6, aria=False)]
    marks += [base.mark_circle(size=30, opacity=1, aria=False)] if dots else []
    return _wrapped(alt.LayerChart(data=frame, layer=marks).properties(height=160), frame)


def planes(frame: pl.DataFrame, lines: pl.DataFrame, x: str, y: str, series: Sequence[str]) -> Chart:
    """Points (`x`, `y`) colored by `series`, and lines beside them, in a panel for each data set."""
    both = pl.concat([frame.with_columns(kind=pl.lit("point")), lines.with_columns(kind=pl.lit("line"))])
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4)),
        y=alt.Y("y:Q", title=y, axis=alt.Axis(tickCount=4)),
        color=color_by(series, "series"),
    )
    joined = base.transform_filter("datum.kind == 'line'").mark_line(strokeWidth=1.4, opacity=0.8, aria=False)
    dots = base.transform_filter("datum.kind == 'point'").mark_circle(size=46, opacity=0.8, aria=False)
    return _wrapped(alt.LayerChart(data=both, layer=[joined, dots]).properties(height=120), frame)


def dots(frame: pl.DataFrame, x: str, y: str, series: Sequence[str]) -> Chart:
    """Points (`x`, `y`) colored by `series`, in a panel for each data set; MOST_DOTS of a series, evenly over x."""
    every = (pl.len().over("data", "series") / MOST_DOTS).ceil().cast(pl.Int64)
    points = frame.sort("x", maintain_order=True).filter(pl.int_range(pl.len()).over("data", "series") % every == 0)
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4)),
        y=alt.Y("y:Q", title=y, axis=alt.Axis(tickCount=4)),
        color=color_by(series, "series", "circle"),
    )
    marks = base.mark_circle(size=12, opacity=0.7, aria=False)
    chart = alt.LayerChart(data=points.with_columns(pl.col("y").round_sig_figs(4)), layer=[marks])
    return _wrapped(chart.properties(height=120), frame).resolve_scale(y="independent")


def _wrapped(chart: alt.LayerChart, frame: pl.DataFrame) -> Chart:
    """The chart once for each data set, in lines that are full if possible."""
    panels = list(dict.fromkeys(frame["data"]))
    full = [columns for columns in range(MOST_COLUMNS, 1, -1) if len(panels) % columns == 0]
    columns = full[0] if full else min(len(panels), MOST_COLUMNS - 1)
    width = WIDEST_SINGLE if len(panels) == 1 else min(WIDEST_PANEL, (WIDEST - 80) // columns - 2 * SPACING)
    facet = alt.Facet("data:N", sort=panels, header=header_of(labelExpr=LINES, labelOrient="top"))
    return chart.properties(width=width).facet(facet=facet, columns=columns)


def heat_maps(frame: pl.DataFrame, rows: Sequence[str], title: str | None = "perturbation") -> Chart:
    """A text as each model reads it: each `word` at its `place`, on a background as dark as its `weight`.

    A panel for each model, a row for each way the text is `read`; words that were `perturbed` are underlined.
    """
    models = list(dict.fromkeys(frame["model"]))
    base = alt.Chart().encode(x=alt.X("place:O", axis=None), y=alt.Y("read:N", sort=list(rows), title=title))
    background = base.mark_rect(color=COLORS[1], aria=False).encode(
        opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.6], clamp=True), legend=None)
    )
    words = base.mark_text(color=STRONG, fontSize=10.5, limit=66, aria=False).encode(text="word:N")
    line = (
        alt.Chart().transform_filter("datum.perturbed").mark_rule(color=COLORS[0], strokeWidth=2, yOffset=8, aria=False)
    )
    under = line.encode(
        x=alt.X("place:O", axis=None, bandPosition=0.1), x2=alt.X2("place:O", bandPosition=0.9), y=base.encoding.y
    )
    width = 68 * frame["place"].n_unique()
    panel = alt.LayerChart(data=frame, layer=[background, words, under]).properties(width=width, height=22 * len(rows))
    return panel.facet(facet=alt.Facet("model:N", sort=models, header=header_of(labelAnchor="start")), columns=1)


# Numbers with their intervals, and numbers seed by seed, one row per data set or model.

Estimates = Mapping[tuple[str, str], Estimate]
"""By row and series."""

FAR_OUT = 3.0
"""Interquartile ranges from the quartiles, beyond which the end of an interval is an outlier (Tukey)."""
MUCH_WIDER = 2.0
"""How much wider outliers must make the axis to be cut off."""
WIDTH, MARGIN = 430, 0.03


def interval_limits(estimates: Estimates, *marks: float) -> Ends:
    """The ends of an axis on which the intervals can be read: all but outliers that would squeeze the others.

    A series that lies elsewhere as a whole is no outlier: its points are shown, and so are the marks, 0 among them.
    """
    known = [end for part in estimates.values() for end in (part.value, part.low, part.high) if isfinite(end)]
    ends = [*known, *marks, 0.0]
    first, _, third = quantiles(ends, method="inclusive")
    low, high = first - FAR_OUT * (third - first), third + FAR_OUT * (third - first)
    usual = [*marks, 0.0, *(end for end in ends if low <= end <= high)]
    by_series: dict[str, list[float]] = {}
    for (_, series), part in estimates.items():
        if isfinite(part.value):
            by_series.setdefault(series, []).append(part.value)
    for points in by_series.values():
        usual += points if not low <= median(points) <= high else []
    shown = usual if max(usual) - min(usual) < (max(ends) - min(ends)) / MUCH_WIDER else ends
    return min(shown), max(shown)


def beyond(estimates: Estimates, limits: Ends) -> dict[tuple[str, str], Estimate]:
    """The estimates whose intervals reach beyond the limits."""
    low, high = limits
    return {name: part for name, part in estimates.items() if part.low < low or part.high > high}


def intervals(estimates: Estimates, axis: str, limits: Ends, printed: Mapping[tuple[str, str], float] = {}) -> Chart:
    """A point and its interval for each (row, series), with a line at 0.

    What lies beyond the limits is cut off, and an arrow at the edge says so.

    Args:
        printed: the paper's number for a row and series: an open diamond.
    """
    rows, series = (list(dict.fromkeys(names)) for names in zip(*estimates, strict=True))
    margin = MARGIN * (limits[1] - limits[0])
    left, right = limits[0] - margin, limits[1] + margin
    ends = x_axis("low", axis, (left, right), ticks=8)
    ends["scale"]["zero"] = False  # or the other layers would have the axis begin at 0
    base = alt.Chart().encode(
        y=_row_axis(rows),
        yOffset=alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series)),
        color=color_by(series, "series", "circle"),
    )
    layers = [
        dashed_rule().encode(x=alt.datum(0.0)),
        base.mark_rule(strokeWidth=1.6, aria=False).encode(x=ends, x2="high:Q"),
        base.transform_filter("!datum.outside").mark_circle(size=46, opacity=1, aria=False).encode(x="value:Q"),
        *(
            base.transform_filter(f"datum.{side}")
            .mark_point(shape=f"triangle-{side}", size=60, filled=True, opacity=1, aria=False)
            .encode(x=alt.datum(edge))
            for side, edge in (("left", left), ("right", right))
        ),
        base.transform_filter(f"isValid(datum.{PRINTED})")
        .mark_point(shape="diamond", size=80, strokeWidth=1.6, opacity=1, aria=False)
        .encode(x=f"{PRINTED}:Q"),
    ]
    height = len(rows) * (15 * len(series) + 12)
    marks = pl.Series(PRINTED, [printed.get(place) for place in estimates], dtype=pl.Float64)
    frame = _interval_frame(estimates, (left, right)).with_columns(marks.round_sig_figs(4))
    return alt.LayerChart(data=frame, layer=layers).properties(width=WIDTH, height=height)


def _row_axis(rows: Sequence[str]) -> alt.Y:
    """A row for each data set or model, with its whole name."""
    return alt.Y("row:N", sort=list(rows), title="data set", axis=alt.Axis(labelLimit=0))


def _interval_frame(estimates: Estimates, edges: Ends) -> pl.DataFrame:
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


def strips(frame: pl.DataFrame, x: str, series: Sequence[str], limits: Ends) -> Chart:
    """The points `x` of each `row`, colored by `series`, with a tick at their mean.

    Args:
        limits: what the points can be at least and at most.
    """
    base = alt.Chart(frame).encode(
        y=_row_axis(list(dict.fromkeys(frame["row"]))),
        yOffset=alt.YOffset("series:N", sort=list(series), scale=alt.Scale(domain=list(series))),
        x=x_axis("x", x, axis_ends(frame["x"].to_list(), limits)),
        color=color_by(series, "series", "circle"),
    )
    dots = base.mark_circle(size=40, opacity=0.75, aria=False)
    means = base.mark_tick(thickness=2, size=11, aria=False).encode(x="mean(x):Q")
    rows = frame["row"].n_unique()
    return alt.layer(dots, means).properties(width=WIDTH, height=rows * (6 * len(series) + 8))
