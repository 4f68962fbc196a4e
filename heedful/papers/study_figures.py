"""Figures that several studies draw from their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from heedful.formatting import format_estimate
from heedful.measures import Estimate
from heedful.papers.charts import beyond, box_plots, histograms, interval_limits, intervals
from heedful.papers.reproduction import Cell
from heedful.report.drawing import Chart
from heedful.report.figure import Figure

BOXES = "Boxes: quartiles and median; whiskers: the last values within 1.5 interquartile ranges."
LARGEST = "prediction.max_attention"
BINS = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")

MOST_CLASSES = 3
"""Classes that a histogram distinguishes; texts of more classes are taken together, as the papers do."""
MOST_MEANS = 24
"""Panels whose means all appear in the figure's description for those who cannot see it."""


@dataclass(frozen=True)
class Heading:
    """What a figure is called: the name of its file, its title, and the figure of the paper that it redraws."""

    name: str
    title: str
    source: str


def study_figure(heading: Heading, chart: Chart, *, caption: str, alt: str) -> Figure:
    """A figure that takes the whole width of a study's page."""
    return Figure(
        name=heading.name,
        group="Figures",
        title=heading.title,
        caption=caption,
        source=heading.source,
        alt=alt,
        chart=chart,
        columns=6,
    )


def text_frame(cells: Sequence[Cell], columns: Mapping[str, str]) -> pl.DataFrame:
    """data, model, class (as predicted), and these columns under their new names: a row per text and seed.

    Cells in which one of the columns was not measured are left out.
    """
    parts = []
    for cell in cells:
        if any(column not in cell.columns for column in columns):
            continue
        predicted = cell.columns.get("prediction.predicted")
        values = {new: cell.columns[column].flatten().numpy() for column, new in columns.items()}
        length = len(next(iter(values.values())))
        classes = ["all"] * length if predicted is None else [f"class {int(label)}" for label in predicted.flatten()]
        parts.append(
            pl.DataFrame(values).with_columns(
                pl.lit(cell.data).alias("data"), pl.lit(cell.model).alias("model"), pl.Series("class", classes)
            )
        )
    return pl.concat(parts) if parts else pl.DataFrame()


def histogram_figure(
    cells: Sequence[Cell],
    column: str,
    axis: str,
    limits: tuple[float, float],
    heading: Heading,
    printed: Mapping[tuple[str, str, str], float] = {},
) -> list[Figure]:
    """How a measure is distributed over texts, by predicted class; empty where it was not measured.

    Args:
        printed: the paper's mean for a dataset, model and class ("class 0", or "all").
    """
    frame = _defined(text_frame(cells, {column: "value"}))
    if frame.is_empty():
        return []
    caption = f"Share of texts by {axis}, for each predicted class where there are at most {MOST_CLASSES}."
    caption += " Dashed: the paper's means." if printed else ""
    chart = histograms(_few_classes(frame), *limits, axis, printed)
    return [study_figure(heading, chart, caption=caption, alt=f"Histograms of {axis}. {_means(frame)}")]


def by_largest_figure(cells: Sequence[Cell], column: str, axis: str, heading: Heading) -> list[Figure]:
    """A measure by the largest attention weight of the text and by class; empty where it was not measured."""
    frame = _defined(text_frame(cells, {column: "value", LARGEST: "largest"}))
    if frame.is_empty():
        return []
    place = (pl.col("largest") * len(BINS)).floor().clip(0, len(BINS) - 1).cast(pl.Int32)
    frame = frame.with_columns(bin=place.replace_strict(range(len(BINS)), BINS, return_dtype=pl.String))
    medians = dict(frame.group_by("bin").agg(pl.col("value").median().round(3)).rows())
    described = "; ".join(f"{weights}: median {medians[weights]}" for weights in BINS if weights in medians)
    return [
        study_figure(
            heading,
            box_plots(_few_classes(frame), ("bin", BINS, "largest weight of the text"), axis, by_class=True),
            caption=f"{_capital(axis)}, by the largest attention weight of the text and its predicted class. {BOXES}",
            alt=f"Box plots of {axis} by bins of the largest weight. Over all models: {described}.",
        )
    ]


def measures_figure(
    cells: Sequence[Cell], columns: Mapping[str, str], axis: str, heading: Heading, *, rows: str = ""
) -> list[Figure]:
    """Several measures, a box each: `columns` says what each is called, `rows` what distinguishes them."""
    wide = text_frame(cells, columns)
    if wide.is_empty():
        return []
    names = list(columns.values())
    frame = _defined(wide.unpivot(names, index=["data", "model", "class"], variable_name="measure"))
    return [
        study_figure(
            heading,
            box_plots(frame, ("measure", names, rows), axis),
            caption=f"{_capital(axis)}. {BOXES}",
            alt=f"Box plots of {axis}. {_means(frame, 'measure')}",
        )
    ]


def intervals_figure(
    estimates: Mapping[tuple[str, str], Estimate],
    axis: str,
    heading: Heading,
    printed: Mapping[tuple[str, str], float] = {},
) -> list[Figure]:
    """A number with its interval for each row (a dataset or model) and series; empty if there is none.

    Args:
        printed: the paper's number for some of them.
    """
    if not estimates:
        return []
    limits = interval_limits(estimates, *printed.values())
    parts: dict[str, list[str]] = {}
    for (row, series), part in estimates.items():
        parts.setdefault(series, []).append(_described(row, part, printed.get((row, series))))
    described = "; ".join(f"{series}: {', '.join(rows)}" for series, rows in parts.items())
    diamonds = " Open diamonds: the paper's numbers." if printed else ""
    return [
        study_figure(
            heading,
            intervals(estimates, axis, limits, printed),
            caption=f"Means and their 95% intervals.{diamonds}{_cut_off(beyond(estimates, limits))}",
            alt=f"{heading.title}. {described}.",
        )
    ]


def _described(row: str, part: Estimate, printed: float | None) -> str:
    return f"{row} {part.value:.2g}" + ("" if printed is None else f" (paper {printed:.2g})")


def _cut_off(outliers: Mapping[tuple[str, str], Estimate]) -> str:
    """What the arrows at the edge of a chart of intervals stand for."""
    named = (
        f"{row} ({series}): {format_estimate(part.value, part.low, part.high)}"
        for (row, series), part in outliers.items()
    )
    return f" Arrows: beyond the axis. {'; '.join(named)}." if outliers else ""


def _few_classes(frame: pl.DataFrame) -> pl.DataFrame:
    """The same texts; those of a data set with many classes as one class, `all`."""
    many = pl.col("class").n_unique().over("data") > MOST_CLASSES
    return frame.with_columns(pl.when(many).then(pl.lit("all")).otherwise("class").alias("class"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _defined(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts that have a value."""
    return frame if frame.is_empty() else frame.filter(pl.col("value").is_finite())


def _means(frame: pl.DataFrame, *more: str) -> str:
    """The mean of every panel; where there are many, the smallest and the largest of each measure."""
    means = frame.group_by("data", "model", *more, maintain_order=True).agg(pl.col("value").mean())
    if len(means) <= MOST_MEANS:
        return "Means: " + "; ".join(f"{', '.join(names)}: {mean:.2g}" for *names, mean in means.rows()) + "."
    parts = []
    for (*names,), group in means.group_by(more, maintain_order=True) if more else [((), means)]:
        (*least, low), (*most, high) = group.sort("value").select("data", "model", "value").rows()[:: len(group) - 1]
        of = f"{', '.join(map(str, names))}: " if names else ""
        parts.append(f"{of}from {low:.2g} ({', '.join(least)}) to {high:.2g} ({', '.join(most)})")
    return "Means: " + "; ".join(parts) + "."
