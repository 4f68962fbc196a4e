"""What the figures have in common: colours, step histograms, box plots, one panel a run."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from heedful.report.texts import Texts

PAPER, STRONG, INK, GRID = "#ffffff", "#1f2933", "#4b5664", "#e4e7eb"
COLOURS = ("#0a6aa8", "#c9580b", "#1b8469", "#8b559f", "#867009", "#68717d")
"""Distinguishable with any kind of colour vision, and by their lightness where two meet; after Okabe and Ito."""
DARK = dict(
    zip(
        (PAPER, STRONG, INK, GRID, *COLOURS),
        (
            "transparent",
            "#e8ecf1",
            "#b3bcc8",
            "#2c343f",
            "#6db6ee",
            "#f3a45f",
            "#57c7a6",
            "#cd9fe0",
            "#d8c150",
            "#9da7b4",
        ),
        strict=True,
    )
)
"""What each colour becomes on a dark page, where the page's style sheet replaces it."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Fonts of one width: a label takes the room that was measured for it, whichever of them is there."""

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart


def colour_scale(series: Sequence[str]) -> alt.Scale:
    """One colour a series, always the same for the same place in the list."""
    return alt.Scale(domain=list(series), range=[COLOURS[number % len(COLOURS)] for number in range(len(series))])


def colour_of(series: Sequence[str], field: str) -> alt.Color:
    """Colour by a field, with a legend above where there is more than one series."""
    legend = alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1) if len(series) > 1 else None
    return alt.Color(f"{field}:N", scale=colour_scale(series), legend=legend, sort=list(series))


def histogram(frame: pl.DataFrame, by: Sequence[str], low: float, high: float, bins: int) -> pl.DataFrame:
    """The share of each group's values in each of so many equal bins, by the left edge of each.

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
            left=(low + pl.col("edge") * (high - low) / bins).round(6),
        )
        .sort([*by, "edge"])
        .select([*by, "left", "share"])
    )


def steps(
    frame: pl.DataFrame, colour: alt.Color | alt.ColorValue, axis: str, marks: Sequence[float] = ()
) -> alt.LayerChart:
    """Overlaid step histograms, with a thin line at each mark."""
    edges = frame["left"].to_list()
    base = alt.Chart().encode(
        x=alt.X(
            "left:Q",
            title=axis,
            scale=alt.Scale(domain=[min(edges), max(edges)], nice=False),
            axis=alt.Axis(tickCount=5),
        ),
        y=alt.Y("share:Q", title="share of texts", stack=None, axis=alt.Axis(format="%", tickCount=4)),
        color=colour,
    )
    areas = base.mark_area(interpolate="step-after", opacity=0.14, aria=False)
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.6, aria=False)
    rules = [
        alt.Chart().mark_rule(strokeDash=[3, 3], color=INK, aria=False).encode(x=alt.datum(mark)) for mark in marks
    ]
    return alt.LayerChart(data=frame, layer=[*rules, areas, lines])


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
        .with_columns(pl.col("low", "q1", "median", "q3", "high", "mean").round(5))
        .sort(by)
    )


def boxes(
    frame: pl.DataFrame, rows: tuple[str, Sequence[str], str], series: tuple[str, Sequence[str]], axis: str
) -> alt.LayerChart:
    """Lying box plots: one row a category, in it one box a series.

    Args:
        rows: the field of the categories, their order, and the title of their axis.
        series: the field of the series, and their order.
    """
    (field, order, title), (by, names) = rows, series
    base = alt.Chart().encode(
        y=alt.Y(f"{field}:N", sort=list(order), title=title, scale=alt.Scale(domain=list(order), paddingInner=0.25)),
        yOffset=alt.YOffset(f"{by}:N", sort=list(names), scale=alt.Scale(domain=list(names))),
    )
    whiskers = base.mark_rule(strokeWidth=1.2, aria=False).encode(
        x=alt.X("low:Q", title=axis, axis=alt.Axis(tickCount=5)), x2="high:Q", color=colour_of(names, by)
    )
    middles = base.mark_bar(size=11, opacity=0.75, cornerRadius=1, aria=False).encode(
        x="q1:Q", x2="q3:Q", color=colour_of(names, by)
    )
    # Where all values are the same the box has no width: a broad tick shows its colour, a dark one its place.
    kinds = base.mark_tick(thickness=6, size=11, aria=False).encode(x="median:Q", color=colour_of(names, by))
    medians = base.mark_tick(thickness=2, size=16, color=STRONG, aria=False).encode(x="median:Q")
    return alt.LayerChart(data=frame, layer=[whiskers, kinds, middles, medians]).properties(
        height=len(order) * (17 * len(names) + 11)
    )


def panels(chart: alt.LayerChart, texts: Texts, width: int, height: int | None = None) -> Chart:
    """The chart, one panel a run under the other where there are several."""
    sized = chart.properties(width=width) if height is None else chart.properties(width=width, height=height)
    if len(texts.runs) == 1:
        return sized
    header = alt.Header(title=None, labelOrient="top", labelAnchor="start", labelFontWeight=600, labelColor=STRONG)
    return sized.facet(row=alt.Row("run:N", sort=list(texts.runs), header=header), spacing=18)


def styled(chart: Chart) -> Chart:
    """The chart in the one style of all figures."""
    return (
        chart.configure(background=PAPER, font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            gridColor=GRID,
            domainColor=GRID,
            tickColor=GRID,
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            titlePadding=8,
            labelLimit=190,
            ticks=False,
            labelPadding=6,
            labelFlush=False,
        )
        .configure_legend(labelColor=INK, labelFontSize=11, labelLimit=150, columns=3, symbolSize=70, offset=8)
        .configure_header(labelFontSize=12)
    )
