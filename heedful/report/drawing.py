"""What the figures have in common: colors, step histograms, box plots, one panel per run."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from heedful.formatting import format_interval, format_number
from heedful.report.texts import Texts

# Axes that show their data: where they start and end, and in what unit their numbers are written.

Ends = tuple[float, float]
"""Where an axis starts and where it ends."""
FILLED = 0.2
"""An axis is limited to the values if they would fill less than this share of it."""
SMALL = 1e-3
"""If no number along an axis reaches this, the unit is a power of ten."""


def axis_ends(values: Sequence[float], limits: Ends | None = None) -> Ends:
    """The limits of the measure; where the values fill too little of them, 0 and the values; or else the values alone.

    Args:
        values: finite, and at least one.
        limits: what the values can be at least and at most; None: anything.

    >>> axis_ends([0.1, 0.9], (0.0, 1.0)), axis_ends([0.012, 0.031], (0.0, 1.0)), axis_ends([0.983, 1.0], (0.0, 1.0))
    ((0.0, 1.0), (0.0, 0.035), (0.982, 1.0))
    """
    low, high = min(values), max(values)
    whole = (min(low, 0.0), max(high, 0.0))
    if limits is not None and high - low >= FILLED * (limits[1] - limits[0]):
        return min(low, limits[0]), max(high, limits[1])
    if low == high:
        return limits or (whole if low else (0.0, 1.0))
    start, end = _rounded(*whole) if high - low >= FILLED * (whole[1] - whole[0]) else _rounded(low, high)
    # Rounding may pass what the measure can be; the values never do, except for their last digit.
    return (start, end) if limits is None else (max(start, min(low, limits[0])), min(end, max(high, limits[1])))


def x_axis(field: str, title: str, ends: Ends, ticks: int = 6) -> alt.X:
    """The field along the horizontal, from end to end."""
    return alt.X(f"{field}:Q", **_between(title, ends, ticks))


def y_axis(field: str, title: str, ends: Ends, ticks: int = 5) -> alt.Y:
    """The field along the vertical, from end to end."""
    return alt.Y(f"{field}:Q", **_between(title, ends, ticks))


def _between(title: str, ends: Ends, ticks: int) -> dict[str, Any]:
    """Title, scale and numbers of an axis; if no number reaches SMALL, in a unit that is a power of ten.

    Numbers are at round places, with at most this number of steps: by default, the drawing crowds them.
    """
    low, high = ends
    step, decimals = _round_step((high - low) / ticks)
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    values = [round(place * step, decimals) for place in places]
    largest = max(map(abs, ends))
    axis = alt.Axis(values=values, format=f".{decimals}f", labelOverlap=True, labelSeparation=4)
    if 0 < largest < SMALL:
        power = math.floor(math.log10(largest))
        title = f"{title} (× 1e{power})".strip()
        axis = alt.Axis(values=values, labelExpr=f"format(datum.value * 1e{-power}, '~g')")
    return {"title": title, "scale": alt.Scale(domain=list(ends), nice=False), "axis": axis}


def _rounded(low: float, high: float) -> Ends:
    """The ends moved outwards to a round number, by a tenth of their distance or so."""
    step, decimals = _round_step((high - low) / 10)
    return round(math.floor(low / step + 1e-9) * step, decimals), round(math.ceil(high / step - 1e-9) * step, decimals)


def _round_step(least: float) -> tuple[float, int]:
    """The smallest 1, 2 or 5 times a power of ten that is not less, and the decimals that it has."""
    power = math.floor(math.log10(least))
    step = min(size * 10.0**power for size in (1, 2, 5, 10) if size * 10.0**power >= least * (1 - 1e-9))
    return step, max(0, -math.floor(math.log10(step) + 1e-9))


WIDTH = 350
"""A figure's width where nothing scales it: on a phone 390 pixels wide its labels are still 9 pixels high."""
PLOT = 280
"""The width of a plot whose axis on the left has a title and short numbers."""
LABEL, MOST_LABEL = 5.8, 130
"""The width of a character of a label, on average, and of the longest label next to an axis."""
ALIKE = 0.005
"""Values that differ by less than this share of themselves are stated, not drawn."""

PAPER, STRONG, INK, GRID = "#ffffff", "#1f2933", "#4b5664", "#e4e7eb"
COLORS = ("#0a6aa8", "#c9580b", "#1b8469", "#8b559f", "#867009", "#68717d")
"""Distinguishable with any kind of color vision, and by their lightness where two meet; after Okabe and Ito."""
DARK_COLORS = ("#6db6ee", "#f3a45f", "#57c7a6", "#cd9fe0", "#d8c150", "#9da7b4")
DARK = {PAPER: "transparent", STRONG: "#e8ecf1", INK: "#b3bcc8", GRID: "#2c343f"}
DARK |= dict(zip(COLORS, DARK_COLORS, strict=True))
"""What each color becomes on a dark page, where the page's style sheet replaces it."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Fonts of one width: a label takes the room that was measured for it, whichever of them is there."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart


def color_scale(series: Sequence[str]) -> alt.Scale:
    """One color per series, always the same for the same place in the list."""
    return alt.Scale(domain=list(series), range=[COLORS[number % len(COLORS)] for number in range(len(series))])


def color_of(series: Sequence[str], field: str, symbol: str = "square") -> alt.Color:
    """Color by a field, with a legend above if there is more than one series."""
    legend = legend_of(series, symbol) if len(series) > 1 else None
    return alt.Color(f"{field}:N", scale=color_scale(series), legend=legend, sort=list(series))


def legend_of(series: Sequence[str], symbol: str | None = None) -> alt.Legend:
    """A legend above the chart, in as many columns as fit the width of a figure."""
    widest = max(map(len, series), default=1) * LABEL + 30
    columns = max(1, min(len(series), int(WIDTH / widest)))
    kind = alt.Undefined if symbol is None else symbol
    return alt.Legend(title=None, orient="top", columns=columns, labelLimit=WIDTH - 40, symbolType=kind)


def histogram(frame: pl.DataFrame, by: Sequence[str], low: float, high: float, bins: int) -> pl.DataFrame:
    """The share of each group's values in each of a number of equal bins, by the left edge of each.

    A last line repeats the last share at the right end, to close the drawing. Values outside count in the outer bins.
    """
    place = ((pl.col("value") - low) / (high - low) * bins).floor().clip(0, bins - 1).cast(pl.Int32)
    counts = frame.group_by([*by, place.alias("bin")]).len("count")
    groups = frame.group_by(by).len("total")
    edges = pl.DataFrame({"edge": range(bins + 1)}, schema={"edge": pl.Int32}).with_columns(
        bin=pl.col("edge").clip(0, bins - 1)
    )
    return (
        groups.join(edges, how="cross")
        .join(counts, on=[*by, "bin"], how="left")
        .with_columns(
            share=(pl.col("count").fill_null(0) / pl.col("total")).round(5),
            left=(low + pl.col("edge") * (high - low) / bins).round(_decimals(high - low)),
        )
        .sort([*by, "edge"])
        .select([*by, "left", "share"])
    )


def _decimals(span: float) -> int:
    """Decimals that keep six digits of numbers that lie so far apart."""
    return max(0, 6 - math.floor(math.log10(span)))


def steps(
    frame: pl.DataFrame, color: alt.Color | alt.ColorValue, axis: str, marks: Sequence[float] = ()
) -> alt.LayerChart:
    """Overlaid step histograms, with a thin line at each mark that lies on the axis."""
    edges = frame["left"].to_list()
    low, high = min(edges), max(edges)
    base = alt.Chart().encode(
        x=x_axis("left", axis, (low, high)),
        y=alt.Y("share:Q", title="share of texts", stack=None, axis=alt.Axis(format="%", tickCount=4)),
        color=color,
    )
    areas = base.mark_area(interpolate="step-after", opacity=0.14, aria=False)
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.6, aria=False)
    rules = [dashed_rule().encode(x=alt.datum(mark)) for mark in marks if low <= mark <= high]
    return alt.LayerChart(data=frame, layer=[*rules, areas, lines]).properties(width=PLOT)


def dashed_rule() -> alt.Chart:
    """A thin line; it has separate data of one row, so that it is not drawn for each row of its chart."""
    return alt.Chart(pl.DataFrame({"line": [0]})).mark_rule(strokeDash=[3, 3], color=INK, aria=False)


def five_numbers(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What a box plot draws of each group: quartiles, and the last values within 1.5 interquartile ranges of them."""
    value, q1, q3 = pl.col("value"), pl.col("value").quantile(0.25, "linear"), pl.col("value").quantile(0.75, "linear")
    reach = 1.5 * (q3 - q1)
    return (
        frame.group_by(by)
        .agg(
            low=value.filter(value >= q1 - reach).min(),
            q1=q1,
            median=value.median(),
            q3=q3,
            high=value.filter(value <= q3 + reach).max(),
            mean=value.mean(),
            texts=pl.len(),
        )
        # Significant digits, not decimals: some divergences are small, and all that there is to see.
        .with_columns(pl.col("low", "q1", "median", "q3", "high", "mean").round_sig_figs(5))
        .sort(by)
    )


def whisker_ends(frame: pl.DataFrame) -> Ends:
    """The smallest and the largest value that box plots of these numbers draw."""
    return min(frame["low"]), max(frame["high"])


def boxes(
    frame: pl.DataFrame,
    rows: tuple[str, Sequence[str], str],
    series: tuple[str, Sequence[str]],
    axis: str,
    limits: Ends | None = None,
) -> alt.LayerChart:
    """Horizontal box plots: one row per category, with one box per series.

    Args:
        rows: the field of the categories, their order, and the title of their axis.
        series: the field of the series, and their order.
        limits: what the values can be at least and at most.
    """
    (field, order, title), (by, names) = rows, series
    base = alt.Chart().encode(
        y=alt.Y(f"{field}:N", sort=list(order), title=title, scale=alt.Scale(domain=list(order), paddingInner=0.25)),
        yOffset=alt.YOffset(f"{by}:N", sort=list(names), scale=alt.Scale(domain=list(names))),
    )
    whiskers = base.mark_rule(strokeWidth=1.2, aria=False).encode(
        x=x_axis("low", axis, axis_ends(whisker_ends(frame), limits)),
        x2="high:Q",
        color=color_of(names, by),
    )
    middles = base.mark_bar(size=11, opacity=0.75, cornerRadius=1, aria=False).encode(
        x="q1:Q", x2="q3:Q", color=color_of(names, by)
    )
    # Where all values are the same the box has no width: a broad tick shows its color, a dark one its place.
    kinds = base.mark_tick(thickness=6, size=11, aria=False).encode(x="median:Q", color=color_of(names, by))
    medians = base.mark_tick(thickness=2, size=16, color=STRONG, aria=False).encode(x="median:Q")
    room = min(MOST_LABEL, max(map(len, order)) * LABEL) + (20 if title else 0)
    return alt.LayerChart(data=frame, layer=[whiskers, kinds, middles, medians]).properties(
        width=round(WIDTH - 30 - room), height=len(order) * (17 * len(names) + 11)
    )


MANY_PANELS = 5
"""Number of panels under each other that is longer than a screen."""


def panels(chart: alt.LayerChart, texts: Texts, width: int | None = None, height: int | None = None) -> Chart:
    """The chart, one panel per run, under each other; two side by side if there are many.

    Args:
        width, height: size of one panel; None: unchanged.
    """
    sized = chart if width is None else chart.properties(width=width)
    sized = sized if height is None else sized.properties(height=height)
    if len(texts.runs) == 1:
        return sized
    header = header_of(labelOrient="top", labelAnchor="start")
    if width is None or len(texts.runs) < MANY_PANELS:
        return sized.facet(row=alt.Row("run:N", sort=list(texts.runs), header=header), spacing=18)
    halves = sized.properties(width=(width - 30) // 2)
    return halves.facet(facet=alt.Facet("run:N", sort=list(texts.runs), header=header), columns=2, spacing=18)


def header_of(title: str | None = None, **more: Any) -> alt.Header:
    """The names of panels, in bold, and above them a title in the style of an axis."""
    styled_title = {"titleColor": INK, "titleFontSize": 11, "titleFontWeight": "normal"} if title else {}
    return alt.Header(title=title, labelFontWeight=600, labelColor=STRONG, **styled_title, **more)


def stacked(charts: Mapping[str, alt.FacetChart] | Mapping[str, alt.Chart | alt.LayerChart]) -> Chart:
    """Rows of panels, one per run, each under the name of its run if there are several."""
    if len(charts) == 1:
        return next(iter(charts.values()))
    return alt.vconcat(*(chart.properties(title=run) for run, chart in charts.items()), spacing=22)


def side_by_side(chart: alt.LayerChart | alt.Chart, field: str, order: Sequence[str], height: int) -> alt.FacetChart:
    """The chart in one panel for each value of the field, together as wide as a figure."""
    width = round((PLOT - 22 * (len(order) - 1)) / len(order))
    column = alt.Column(f"{field}:N", sort=list(order), header=header_of())
    return chart.properties(width=width, height=height).facet(column=column, spacing=14)


def drawn_or_said(chart: Chart, values: Sequence[float], quantity: str, noun: str, drawn: Ends | None = None) -> Chart:
    """The chart; or a sentence, if all its values are about the same.

    Args:
        noun: what the values are of, in the plural.
        drawn: the smallest and the largest value that the chart draws; None: of all.
    """
    low, high = drawn or (min(values), max(values))
    if high - low > ALIKE * max(abs(low), abs(high)):
        return chart
    near = sum(low <= value <= high for value in values)
    shown = format_number(low) if format_number(low) == format_number(high) else f"{low:.4g} to {high:.4g}"
    if len(values) == 1:
        return statement(f"{quantity}: {shown}, a single value.")
    if near == len(values):
        return statement(f"{quantity}: {shown} in all {near:,} {noun}.")
    rest = format_interval(min(values), max(values))
    return statement(f"{quantity}: {shown} in {near:,} of {len(values):,} {noun}; {rest} in all of them.")


def statement(sentence: str) -> alt.Chart:
    """A sentence instead of a chart that would show a single point."""
    lines = textwrap.wrap(sentence, 52)
    text = alt.Chart(pl.DataFrame({"sentence": ["\n".join(lines)]}))
    mark = text.mark_text(align="left", baseline="top", lineBreak="\n", fontSize=12.5, lineHeight=18, fill=STRONG)
    placed = mark.encode(x=alt.value(0), y=alt.value(0), text="sentence:N")
    return placed.properties(width=WIDTH - 20, height=18 * len(lines))


def styled(chart: Chart) -> Chart:
    """The chart in the one style of all figures."""
    styled = chart.copy(deep=False)
    styled.config = STYLE
    return styled


STYLE = alt.Config(
    background=PAPER,
    font=FONT,
    padding=6,
    view={"stroke": None},
    axis={
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": GRID,
        "domainColor": GRID,
        "tickColor": GRID,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelLimit": MOST_LABEL,
        "ticks": False,
        "labelPadding": 6,
        "labelFlush": False,
    },
    legend={"labelColor": INK, "labelFontSize": 11, "symbolSize": 70, "symbolOpacity": 1, "offset": 8},
    header={"labelFontSize": 12, "labelLimit": WIDTH - 40},
    title={"anchor": "start", "color": STRONG, "fontSize": 12, "fontWeight": 600, "limit": WIDTH - 20},
)
