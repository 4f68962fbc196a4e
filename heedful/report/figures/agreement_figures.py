"""Figures of agreement: attention, gradient and leave-one-out, ranked against each other."""

import polars as pl

from heedful.report.drawing import axis_ends, color_of, drawn_or_said, histogram, panels, steps
from heedful.report.figure import Figure, worded
from heedful.report.texts import Texts

BINS = 40
GRADIENT, LEAVE_ONE_OUT = "gradient_agreement.tau", "leave_one_out_agreement.tau"
EACH_OTHER = "leave_one_out_agreement.tau_gradient"


def tau_gradient(texts: Texts) -> Figure | None:
    """Kendall's tau of attention and input gradient, by predicted class."""
    return _taus(texts, "gradient_agreement", GRADIENT)


def tau_leave_one_out(texts: Texts) -> Figure | None:
    """Kendall's tau of attention and leave-one-out importance, by predicted class."""
    return _taus(texts, "leave_one_out_agreement", LEAVE_ONE_OUT)


def tau_gradient_leave_one_out(texts: Texts) -> Figure | None:
    """Kendall's tau of input gradient and leave-one-out importance: the yardstick of the other two."""
    return _taus(texts, "leave_one_out_agreement_tau_gradient", EACH_OTHER)


def _taus(texts: Texts, name: str, column: str) -> Figure | None:
    """Histograms of a tau; the axes of all three are the same, since one is the yardstick of the others."""
    if not texts.has(column):
        return None
    taus = texts.values(column)
    shown = [tau for tau in (GRADIENT, LEAVE_ONE_OUT, EACH_OTHER) if texts.has(tau)]
    every = [value for tau in shown for value in texts.values(tau)["value"]]
    bars = histogram(taus, ["run", "class"], *axis_ends(every, (-1.0, 1.0)), BINS)
    chart = panels(steps(bars, color_of(texts.classes, "class"), "Kendall's tau", marks=[0.0]), texts, height=150)
    table = _table(texts, column)
    named = table.select("mean", "predicted", "run").rows()
    return worded(
        name,
        drawn_or_said(chart, taus["value"].to_list(), "Kendall's tau", texts.noun),
        "Histograms of Kendall's tau from -1 to 1, by predicted class. Means: "
        f"{', '.join(f'{mean} for {predicted} ({run})' for mean, predicted, run in named)}.",
        table=table,
        more=texts.left_out(column),
    )


def _table(texts: Texts, column: str) -> pl.DataFrame:
    """Mean, standard deviation and share significant at 0.05, by run and class (Jain and Wallace, Table 2)."""
    p = f"{column.removesuffix('.tau')}.p"
    has_p = texts.has(p)
    value = pl.col(column)
    table = (
        texts.frame.filter(value.is_finite())
        .group_by("run", pl.col("class").alias("predicted"))
        .agg(
            mean=pl.format("{}", value.mean().round(2)),
            sd=pl.format("{}", value.std().fill_null(0).round(2)),
            significant=(pl.col(p) < 0.05).mean() if has_p else pl.lit(None, pl.Float64),
            texts=pl.len(),
        )
        .sort(pl.col("run").replace_strict(list(texts.runs), range(len(texts.runs))), "predicted")
    )
    if not has_p:
        return table.drop("significant")
    share = pl.format("{}%", (100 * pl.col("significant")).round(0).cast(pl.Int32))
    return table.with_columns(share.alias("significant")).rename({"significant": "significant at 0.05"})


FIGURES = (tau_gradient, tau_leave_one_out, tau_gradient_leave_one_out)
