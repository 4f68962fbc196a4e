"""The words that attention looks at: their weights by the answer that each speaks for."""

import polars as pl

from heedful.report.drawing import boxes, drawn_or_said, five_numbers, panels, whisker_ends
from heedful.report.figure import Figure
from heedful.report.texts import Texts

GROUP = "token_scores"
POLAR, NEUTRAL = "token_scores.weight_polar", "token_scores.weight_neutral"


def token_weights(texts: Texts) -> Figure | None:
    """Mean weight of the words that speak for each answer, and of neutral ones."""
    if not texts.has(POLAR, NEUTRAL):
        return None
    columns = [name for name in texts.frame.columns if name.startswith("token_scores.weight[") and texts.has(name)]
    kinds = {name: name.partition("[")[2].removesuffix("]") for name in columns} or {POLAR: "some answer"}
    named = {name: f"for {kind}" for name, kind in kinds.items()} | {NEUTRAL: "neutral"}
    values = pl.concat([texts.values(column).with_columns(kind=pl.lit(kind)) for column, kind in named.items()])
    summary = five_numbers(values, ["run", "kind"]).with_columns(series=pl.lit("all"))
    rows = ("kind", list(named.values()), "words")
    chart = panels(boxes(summary, rows, ("series", ["all"]), "weight relative to uniform"), texts)
    medians = ", ".join(f"{m:.2f} {kind} ({run})" for run, kind, m in summary.select("run", "kind", "median").rows())
    return Figure(
        name="token_weights",
        group=GROUP,
        title="Weights by kind of word",
        caption=(
            "The mean attention weight, relative to uniform, of the words of a text that speak for each answer, by the "
            "label under which they mostly occur, and of those that speak for none: 1 is what each word would get were "
            "all alike. Box: the middle half of the texts; whiskers: 1.5 times its width; points beyond are not drawn."
            + texts.left_out(POLAR)
        ),
        source="Sun & Lu 2020, Figure 5",
        alt=f"Box plots of attention weights relative to uniform. Medians: {medians}.",
        chart=drawn_or_said(chart, values["value"].to_list(), "Relative weight", "values", whisker_ends(summary)),
        columns=6,
    )


FIGURES = (token_weights,)
