"""Figures of other attention: shuffled at random, and as different as the same answer allows."""

import math
from collections.abc import Sequence

import polars as pl

from heedful.formatting import format_number
from heedful.report.drawing import (
    Chart,
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
from heedful.report.figure import Figure
from heedful.report.texts import Texts

SHUFFLED, ADVERSARIAL = "permutation", "adversarial_attention"
"""The questions that the figures belong to."""
QUARTERS = ("below .25", ".25 to .5", ".5 to .75", ".75 and above")
LARGEST = "prediction.max_attention"
BINS = 35
DIVERGENCE = (0.0, math.log(2))
"""What a Jensen-Shannon divergence can be."""
KINDS = {
    "adversarial_attention.js": "same answer",
    "adversarial_attention.cap": "any answer (cap)",
    "adversarial_attention.js_search": "same answer, found by search",
}


def permutation(texts: Texts) -> Figure | None:
    """Median change of the answer over permutations, against the largest attention weight."""
    column = "permutation.median_tvd"
    if not texts.has(column, LARGEST):
        return None
    summary = by_largest(texts, column)
    return Figure(
        name="permutation",
        group=SHUFFLED,
        title="Shuffled attention",
        caption=(
            "How much the answer changes (median over shuffles of the weights) where the top weight is small or large: "
            "boxes far to the right mean that the place of the weight matters. "
            "Box: the middle half of the texts; whiskers: 1.5 times its width; points beyond are not drawn."
            + texts.left_out(column)
        ),
        source="Jain & Wallace 2019, Figure 6",
        alt="Box plots of the median change in output, by largest attention weight. " + medians(summary),
        chart=boxes_by_largest(summary, texts, column, ("median change (TVD)", (0.0, 1.0))),
        columns=6,
    )


def adversarial_attention(texts: Texts) -> Figure | None:
    """The largest divergence that keeps the answer, its cap, and what a search finds where it was run."""
    if not texts.has("adversarial_attention.js"):
        return None
    shown = {column: name for column, name in KINDS.items() if texts.has(column)}
    values = pl.concat([texts.values(column).with_columns(kind=pl.lit(name)) for column, name in shown.items()])
    drawn = values["value"].to_list()
    low, high = axis_ends(drawn, (0.0, 0.7))
    bars = histogram(values, ["run", "kind"], low, high, BINS)
    chart = steps(bars, color_of(list(shown.values()), "kind"), "Jensen-Shannon divergence", marks=DIVERGENCE[1:])
    dashed = " (dashed)" if low < DIVERGENCE[1] < high else ""
    means = values.group_by("run", "kind", maintain_order=True).agg(pl.col("value").mean().round(2)).rows()
    return Figure(
        name="adversarial_attention",
        group=ADVERSARIAL,
        title="The most different attention",
        caption=(
            "How far attention can move from the model's own without changing the answer; 0 is not at all, "
            f"ln 2 = {math.log(2):.3f}{dashed} is all weight on other words. The cap is how far it could move at all. "
            "With three classes or more, or a head that is not linear, attention can move at least so far."
            + texts.left_out("adversarial_attention.js")
        ),
        source="Jain & Wallace 2019, Figure 7",
        alt="Histograms of Jensen-Shannon divergence. Means: "
        + ", ".join(f"{mean} {kind} ({run})" for run, kind, mean in means)
        + ".",
        chart=drawn_or_said(panels(chart, texts, height=160), drawn, "Jensen-Shannon divergence", "values"),
    )


def adversarial_attention_by_largest(texts: Texts) -> Figure | None:
    """The largest divergence that keeps the answer, against the largest attention weight."""
    column = "adversarial_attention.js"
    if not texts.has(column, LARGEST):
        return None
    summary = by_largest(texts, column)
    return Figure(
        name="adversarial_attention_by_max_attention",
        group=ADVERSARIAL,
        title="By the largest weight",
        caption=(
            "The same divergence in texts with a small or large top weight: where one word has most of the "
            "weight and the boxes still reach far to the right, that word was not needed." + texts.left_out(column)
        ),
        source="Jain & Wallace 2019, Figure 8",
        alt="Box plots of the largest divergence that keeps the answer, by largest attention weight. "
        + medians(summary),
        chart=boxes_by_largest(summary, texts, column, ("Jensen-Shannon divergence", DIVERGENCE)),
    )


def boxes_by_largest(summary: pl.DataFrame, texts: Texts, column: str, measure: tuple[str, Ends]) -> Chart:
    """Box plots of a measure by quarter of the largest weight and predicted class, one panel a run.

    Args:
        measure: its name along the axis, and what it can be at least and at most.
    """
    rows = ("quarter", present(summary), "largest weight")
    chart = panels(boxes(summary, rows, ("class", texts.classes), *measure), texts)
    return drawn_or_said(chart, texts.values(column)["value"].to_list(), measure[0], texts.noun, whisker_ends(summary))


def by_largest(texts: Texts, column: str) -> pl.DataFrame:
    """Five numbers of a measure by run, quarter of the largest weight, and predicted class."""
    quarter = (pl.col(LARGEST) * len(QUARTERS)).floor().clip(0, len(QUARTERS) - 1).cast(pl.Int32)
    frame = texts.frame.filter(pl.col(column).is_finite() & pl.col(LARGEST).is_finite()).select(
        "run",
        "class",
        pl.col(column).alias("value"),
        quarter.replace_strict(range(len(QUARTERS)), QUARTERS, return_dtype=pl.String).alias("quarter"),
    )
    return five_numbers(frame, ["run", "quarter", "class"])


def present(summary: pl.DataFrame) -> Sequence[str]:
    """The quarters that some text is in."""
    return [name for name in QUARTERS if name in summary["quarter"]]


def medians(summary: pl.DataFrame) -> str:
    """The medians in words, for those who cannot see them."""
    named = summary.select("median", "quarter", "class", "run").rows()
    return (
        "Medians: "
        + ", ".join(f"{format_number(median)} at {quarter} for {name} ({run})" for median, quarter, name, run in named)
        + "."
    )


FIGURES = (permutation, adversarial_attention, adversarial_attention_by_largest)
