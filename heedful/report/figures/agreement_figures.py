"""Figures of agreement: attention, gradient and leave-one-out, ranked against each other."""

import polars as pl

from heedful.report.drawing import axis_ends, color_of, drawn_or_said, histogram, panels, steps
from heedful.report.figure import Figure
from heedful.report.texts import Texts

GROUP = "gradient_agreement"
BINS = 40
TAUS = ("gradient_agreement.tau", "leave_one_out_agreement.tau", "leave_one_out_agreement.tau_gradient")
"""What the figures show; their axes are the same, since one is the yardstick of the others."""


def tau_gradient(texts: Texts) -> Figure | None:
    """Kendall's tau of attention and input gradient, by predicted class."""
    return _taus(
        texts,
        "gradient_agreement",
        "tau",
        "Attention and gradient",
        "Jain & Wallace 2019, Figure 2",
        "How alike attention and the input gradient rank the words of a text: 1 is the same order, 0 no relation.",
    )


def tau_leave_one_out(texts: Texts) -> Figure | None:
    """Kendall's tau of attention and leave-one-out importance, by predicted class."""
    return _taus(
        texts,
        "leave_one_out_agreement",
        "tau",
        "Attention and leaving words out",
        "Jain & Wallace 2019, Figures 3 and 5 (which show its mean)",
        "The same for attention and the change in the answer when each word is left out.",
    )


def tau_gradient_leave_one_out(texts: Texts) -> Figure | None:
    """Kendall's tau of input gradient and leave-one-out importance: the yardstick of the other two."""
    return _taus(
        texts,
        "leave_one_out_agreement",
        "tau_gradient",
        "Gradient and leaving words out",
        "Jain & Wallace 2019, Figures 3 and 4 (which compare the means)",
        "The yardstick: how well two measures that both ask the model agree. Attention should lie as far to the right; "
        "it can lie farther, and its score is then above 1.",
    )


def _taus(texts: Texts, test: str, measure: str, title: str, source: str, caption: str) -> Figure | None:
    column = f"{test}.{measure}"
    if not texts.has(column):
        return None
    taus = texts.values(column)
    every = [tau for name in TAUS if texts.has(name) for tau in texts.values(name)["value"]]
    bars = histogram(taus, ["run", "class"], *axis_ends(every, (-1.0, 1.0)), BINS)
    chart = steps(bars, color_of(texts.classes, "class"), "Kendall's tau", marks=[0.0])
    table = _table(texts, test, measure)
    means = ", ".join(
        f"{mean} for {name} ({run})" for run, name, mean in table.select("run", "predicted", "mean").rows()
    )
    return Figure(
        name=f"{test}_{measure}" if measure != "tau" else test,
        group=GROUP,
        title=title,
        caption=caption + texts.left_out(column),
        source=source,
        alt=f"Histograms of Kendall's tau from -1 to 1, by predicted class. Means: {means}.",
        chart=drawn_or_said(panels(chart, texts, height=150), taus["value"].to_list(), "Kendall's tau", texts.noun),
        table=table,
        columns=2,
    )


def _table(texts: Texts, test: str, measure: str) -> pl.DataFrame:
    """Mean, standard deviation and share significant at .05, by run and predicted class (Jain and Wallace, Table 2)."""
    wanted = {"value": pl.col(f"{test}.{measure}")}
    has_p = measure == "tau" and texts.has(f"{test}.p")
    frame = texts.frame.with_columns(**wanted).filter(pl.col("value").is_finite())
    table = (
        frame.group_by("run", pl.col("class").alias("predicted"))
        .agg(
            mean=pl.format("{}", pl.col("value").mean().round(2)),
            sd=pl.format("{}", pl.col("value").std().fill_null(0).round(2)),
            significant=(pl.col(f"{test}.p") < 0.05).mean() if has_p else pl.lit(None, pl.Float64),
            texts=pl.len(),
        )
        .sort(pl.col("run").replace_strict(list(texts.runs), range(len(texts.runs))), "predicted")
    )
    if not has_p:
        return table.drop("significant")
    share = pl.format("{} %", (100 * pl.col("significant")).round(0).cast(pl.Int32))
    return table.with_columns(share.alias("significant")).rename({"significant": "significant at .05"})


FIGURES = (tau_gradient, tau_leave_one_out, tau_gradient_leave_one_out)
