"""Figures of imposed attention: shuffled at random, and adversarial."""

import math

import polars as pl

from heedful.formatting import format_number
from heedful.report.drawing import (
    Ends,
    axis_ends,
    boxes,
    color_of,
    drawn_or_said,
    five_numbers,
    histogram,
    panels,
    steps,
    whisker_ends,
)
from heedful.report.figure import Figure, worded
from heedful.report.texts import Texts

QUARTERS = ("below 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 and above")
LARGEST = "prediction.max_attention"
BINS = 35
DIVERGENCE, DIVERGENCES = "Jensen-Shannon divergence", (0.0, math.log(2))
"""What a divergence is called, and what it can be."""
FOUND = "adversarial_attention.js"
KINDS = {
    FOUND: "same prediction",
    "adversarial_attention.cap": "any prediction (cap)",
    "adversarial_attention.js_search": "same prediction, found by search",
}


def permutation(texts: Texts) -> Figure | None:
    """Median change of the answer over permutations, against the largest attention weight."""
    column, change = "permutation.median_tvd", "the median change in output"
    return by_largest(texts, "permutation", column, change, "median change (TVD)", (0.0, 1.0))


def adversarial_attention(texts: Texts) -> Figure | None:
    """The largest divergence that keeps the prediction, its cap, and what a search finds where it was run."""
    if not texts.has(FOUND):
        return None
    shown = {column: name for column, name in KINDS.items() if texts.has(column)}
    values = pl.concat([texts.values(column).with_columns(kind=pl.lit(name)) for column, name in shown.items()])
    drawn = values["value"].to_list()
    low, high = axis_ends(drawn, (0.0, 0.7))
    bars = histogram(values, ["run", "kind"], low, high, BINS)
    chart = steps(bars, color_of(list(shown.values()), "kind"), DIVERGENCE, marks=DIVERGENCES[1:])
    means = values.group_by("run", "kind", maintain_order=True).agg(pl.col("value").mean().round(2)).rows()
    return worded(
        "adversarial_attention",
        drawn_or_said(panels(chart, texts, height=160), drawn, DIVERGENCE, "values"),
        f"Histograms of {DIVERGENCE}. Means: {', '.join(f'{mean} {kind} ({run})' for run, kind, mean in means)}.",
        more=texts.left_out(FOUND),
        dashed=" (dashed)" if low < DIVERGENCES[1] < high else "",
    )


def adversarial_attention_by_largest(texts: Texts) -> Figure | None:
    """The largest divergence that keeps the prediction, against the largest attention weight."""
    name, divergence = "adversarial_attention_by_max_attention", "the largest divergence that keeps the answer"
    return by_largest(texts, name, FOUND, divergence, DIVERGENCE, DIVERGENCES)


def by_largest(texts: Texts, name: str, column: str, measure: str, axis: str, limits: Ends) -> Figure | None:
    """Box plots of a measure by quarter of the largest weight and predicted class, one panel per run.

    Args:
        name: the name of the figure.
        measure, axis: what the column is, in a sentence and along the axis.
        limits: what it can be at least and at most.
    """
    if not texts.has(column, LARGEST):
        return None
    place = (pl.col(LARGEST) * len(QUARTERS)).floor().clip(0, len(QUARTERS) - 1).cast(pl.Int32)
    frame = texts.frame.filter(pl.col(column).is_finite() & pl.col(LARGEST).is_finite()).select(
        "run",
        "class",
        pl.col(column).alias("value"),
        place.replace_strict(range(len(QUARTERS)), QUARTERS, return_dtype=pl.String).alias("quarter"),
    )
    summary = five_numbers(frame, ["run", "quarter", "class"])
    rows = ("quarter", [quarter for quarter in QUARTERS if quarter in summary["quarter"]], "largest weight")
    chart = panels(boxes(summary, rows, ("class", texts.classes), axis, limits), texts)
    named = summary.select("median", "quarter", "class", "run").rows()
    medians = ", ".join(
        f"{format_number(median)} at {quarter} for {label} ({run})" for median, quarter, label, run in named
    )
    return worded(
        name,
        drawn_or_said(chart, texts.values(column)["value"].to_list(), axis, texts.noun, whisker_ends(summary)),
        f"Box plots of {measure}, by largest attention weight. Medians: {medians}.",
        more=texts.left_out(column),
    )


FIGURES = (permutation, adversarial_attention, adversarial_attention_by_largest)
