"""Figures that several studies draw from their rows."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.studies.charts import box_plots, histograms, intervals
from heedful.studies.pipeline import text_frame
from heedful.studies.study import Claim, Results

LARGEST = "prediction.max_attention"
BINS = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")

MOST_SAID = 24
"""Panels whose means are all told to those who can not see the figure."""

study_figure = partial(Figure, group="Figures", columns=6)


def histogram_figure(
    results: Results, column: str, axis: str, low: float, high: float, *, name: str, title: str, source: str
) -> list[Figure]:
    """How a measure is distributed over texts, by predicted class; empty where it was not measured."""
    frame = _defined(text_frame(results, {column: "value"}))
    if frame.is_empty():
        return []
    return [
        study_figure(
            name=name,
            title=title,
            source=source,
            caption=f"Each panel: the share of texts by {axis}; colours tell predicted classes apart.",
            alt=f"Histograms of {axis}. {_means(frame)}",
            chart=histograms(frame, low, high, axis),
        )
    ]


def by_largest_figure(results: Results, column: str, axis: str, *, name: str, title: str, source: str) -> list[Figure]:
    """A measure by the largest attention weight of the text; empty where it was not measured."""
    frame = _defined(text_frame(results, {column: "value", LARGEST: "largest"}))
    if frame.is_empty():
        return []
    place = (pl.col("largest") * len(BINS)).floor().clip(0, len(BINS) - 1).cast(pl.Int32)
    frame = frame.with_columns(bin=place.replace_strict(range(len(BINS)), BINS, return_dtype=pl.String))
    medians = frame.group_by("bin").agg(pl.col("value").median().round(3)).sort("bin").rows()
    said = "; ".join(f"{place}: median {median}" for place, median in medians)
    return [
        study_figure(
            name=name,
            title=title,
            source=source,
            caption=f"Boxes: {axis}, by the largest attention weight of the text.",
            alt=f"Box plots of {axis} by bins of the largest weight. Over all models: {said}.",
            chart=box_plots(frame, ("bin", BINS, "largest weight")),
        )
    ]


def measures_figure(
    results: Results, columns: Mapping[str, str], axis: str, *, name: str, title: str, source: str
) -> list[Figure]:
    """Several measures beside each other, each a box: `columns` says what each is called."""
    wide = text_frame(results, columns)
    if wide.is_empty():
        return []
    names = list(columns.values())
    frame = wide.unpivot(names, index=["data", "model", "class"], variable_name="measure")
    frame = _defined(frame)
    return [
        study_figure(
            name=name,
            title=title,
            source=source,
            caption=f"Boxes: {axis}. Whiskers reach the last value within 1.5 interquartile ranges.",
            alt=f"Box plots of {axis}. {_means(frame, 'measure')}",
            chart=box_plots(frame, ("measure", names, "")),
        )
    ]


def claims_figure(claims: Sequence[Claim], axis: str, *, name: str, title: str, source: str) -> list[Figure]:
    """What was measured for some claims, data set by data set, with intervals."""
    lines: dict[tuple[str, str], Estimate] = {
        (part, claim.measured): one for claim in claims for part, one in claim.parts.items()
    }
    if not lines:
        return []
    said = "; ".join(f"{part}: {one.value:.2g}" for (part, _), one in lines.items())
    return [
        study_figure(
            name=name,
            title=title,
            source=source,
            caption="Means over texts, with their 95 % intervals.",
            alt=f"{title}. {said}.",
            chart=intervals(lines, axis),
        )
    ]


def _defined(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts that have a value."""
    return frame if frame.is_empty() else frame.filter(pl.col("value").is_finite())


def _means(frame: pl.DataFrame, *more: str) -> str:
    """The mean of every panel, or where these are many the smallest and the largest of each measure."""
    means = frame.group_by("data", "model", *more, maintain_order=True).agg(pl.col("value").mean())
    if len(means) <= MOST_SAID:
        return "Means: " + "; ".join(f"{', '.join(names)}: {mean:.2g}" for *names, mean in means.rows()) + "."
    parts = []
    for (*names,), group in means.group_by(more, maintain_order=True) if more else [((), means)]:
        (*least, low), (*most, high) = group.sort("value").select("data", "model", "value").rows()[:: len(group) - 1]
        of = f"{', '.join(map(str, names))}: " if names else ""
        parts.append(f"{of}from {low:.2g} ({', '.join(least)}) to {high:.2g} ({', '.join(most)})")
    return "Means: " + "; ".join(parts) + "."
