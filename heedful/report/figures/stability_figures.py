"""Figures of stability, of the top words, and of what is certified."""

import math

import altair as alt
import polars as pl

from heedful.report.drawing import Ends, axis_ends, color_of, legend_of, side_by_side, stacked, y_axis
from heedful.report.figure import Figure, worded
from heedful.report.figures.perturbation_figures import DIVERGENCE, DIVERGENCES, by_largest
from heedful.report.texts import Texts

RANKINGS = {"attention": "attention", "random": "random words", "leave_one_out": "leave-one-out"}
KINDS = {"comprehensiveness": "without them", "sufficiency": "with them alone"}
NORMS = {"l1": ("l1", 2.0), "l2": ("l2", math.sqrt(2)), "linf": ("l∞", 1.0)}
"""Norms as the reader calls them, and how far apart two distributions can be in each."""
KEPT = {"simplex": "weights stay a distribution", "zero_sum": "they still sum to 1", "free": "they may be anything"}
"""What perturbed weights may be, by the suffix of the measure's name; the first is what attention can be."""
CERTIFICATE = "certificate.linf_simplex"
POINTS = 60


def seeds_by_largest(texts: Texts) -> Figure | None:
    """The farthest that attention of another seed lies, against the largest attention weight."""
    return _moved(texts, "seeds.max_js")


def noise_by_largest(texts: Texts) -> Figure | None:
    """What noise on one embedding does to attention, against the largest attention weight."""
    return _moved(texts, "embedding_noise.js")


def substitution_by_largest(texts: Texts) -> Figure | None:
    """What a similar word does to attention, against the largest attention weight."""
    return _moved(texts, "word_substitution.js")


def _moved(texts: Texts, column: str) -> Figure | None:
    name, divergence = column.replace(".", "_"), "the divergence of attention"
    return by_largest(texts, name, column, divergence, DIVERGENCE, DIVERGENCES)


def top_word_curves(texts: Texts) -> Figure | None:
    """Drop of the probability without the top words and with them alone, by the number of top words."""
    means = top_word_means(texts)
    if means is None:
        return None
    listed = ", ".join(
        f"{value:.2f} {kind} by {ranking}, {size} ({run})"
        for run, kind, ranking, size, value, _ in means.filter(pl.col("size") == means["size"][-1]).rows()
    )
    ends = axis_ends(means["value"].to_list())
    return worded(
        "comprehensiveness_sufficiency",
        stacked({run: _curves(means.filter(pl.col("run") == run), ends) for run in texts.runs}),
        f"Lines by number of top words. At the largest: {listed}.",
        table=means.with_columns(value=pl.format("{}", pl.col("value").round(3))).rename({"texts": texts.noun}),
    )


def top_word_means(texts: Texts) -> pl.DataFrame | None:
    """run, kind, ranking, size, value (the mean over texts) and texts, in the order of the figure."""
    parts = []
    for measure, kind in KINDS.items():
        for ranking, name in RANKINGS.items():
            start = f"comprehensiveness_sufficiency.{measure}_{ranking}_"
            columns = [column for column in texts.frame.columns if column.startswith(start) and texts.has(column)]
            for column in sorted(columns, key=lambda column: _place(column.removeprefix(start))):
                size = pl.lit(column.removeprefix(start)).alias("size")
                mean = texts.values(column).group_by("run", maintain_order=True)
                counted = mean.agg(value=pl.col("value").mean(), texts=pl.len())
                parts.append(
                    counted.select(
                        "run", pl.lit(kind).alias("kind"), pl.lit(name).alias("ranking"), size, "value", "texts"
                    )
                )
    return pl.concat(parts) if parts else None


def certified_share(texts: Texts) -> Figure | None:
    """The share of texts whose prediction no perturbation of the weights up to a radius changes."""
    if not texts.has(CERTIFICATE):
        return None
    curves = certified_curves(texts)
    known = texts.values(CERTIFICATE)
    halves = known.group_by("run", maintain_order=True).agg(pl.col("value").median())
    listed = ", ".join(f"{value:.2f} ({run})" for run, value in halves.rows())
    return worded(
        "certified_share",
        stacked({run: _falling(curves.filter(pl.col("run") == run)) for run in texts.runs}),
        f"Falling curves for three norms. Median radius by the largest single weight, on the simplex: {listed}.",
        more=texts.left_out(CERTIFICATE),
    )


def certified_curves(texts: Texts) -> pl.DataFrame:
    """run, norm, kind, radius and share: of the texts with a certificate, those with at least that radius."""
    parts = []
    for norm, (name, most) in NORMS.items():
        radii = {kind: texts.values(f"certificate.{norm}_{kind}") for kind in KEPT}
        _, reach = axis_ends([0.0, *(radius for frame in radii.values() for radius in frame["value"])], (0.0, most))
        steps = [step * reach / POINTS for step in range(POINTS + 1)]
        shares = [(pl.col("value") >= radius).mean().alias(f"{radius:.4g}") for radius in steps]
        for kind, values in radii.items():
            parts.append(
                values.group_by("run", maintain_order=True)
                .agg(*shares)
                .unpivot(index="run", variable_name="radius", value_name="share")
                .select(
                    "run",
                    pl.lit(name).alias("norm"),
                    pl.lit(KEPT[kind]).alias("kind"),
                    pl.col("radius").cast(pl.Float64),
                    pl.col("share").round(4),
                )
            )
    return pl.concat(parts)


def _curves(means: pl.DataFrame, ends: Ends) -> alt.FacetChart:
    """Lines of one run, a panel for each kind."""
    sizes, names = list(dict.fromkeys(means["size"])), list(RANKINGS.values())
    base = alt.Chart().encode(
        x=alt.X("size:N", sort=sizes, title="words", axis=alt.Axis(labelAngle=0)),
        y=y_axis("value", "probability drops by", ends),
        color=color_of(names, "ranking", "stroke"),
    )
    # Where rankings agree their lines coincide: the one below shows through the gaps of the other.
    dashes = alt.Scale(domain=names, range=[[1, 0], [1, 0], [4, 4]])
    dash = alt.StrokeDash("ranking:N", sort=names, scale=dashes, legend=legend_of(names, "stroke"))
    lines = base.mark_line(strokeWidth=1.8, aria=False).encode(strokeDash=dash)
    points = base.mark_circle(size=26, opacity=1, aria=False)
    chart = alt.LayerChart(data=means.with_columns(pl.col("value").round_sig_figs(4)), layer=[lines, points])
    return side_by_side(chart, "kind", list(dict.fromkeys(means["kind"])), 150)


def _falling(curves: pl.DataFrame) -> alt.FacetChart:
    """Curves of one run, a panel for each norm."""
    percent = alt.Axis(format="%", tickCount=4)
    lines = (
        alt.Chart(curves)
        .mark_line(strokeWidth=1.6, aria=False)
        .encode(
            x=alt.X("radius:Q", title="radius", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=2)),
            y=alt.Y("share:Q", title="share of texts", scale=alt.Scale(domain=[0, 1]), axis=percent),
            color=color_of(list(KEPT.values()), "kind", "stroke"),
        )
    )
    return side_by_side(lines, "norm", [name for name, _ in NORMS.values()], 130).resolve_scale(x="independent")


def _place(size: str) -> tuple[bool, float]:
    """Counts of words in their order, then shares of the text."""
    return size.endswith("%"), float(size.rstrip("%"))


FIGURES = (seeds_by_largest, noise_by_largest, substitution_by_largest, top_word_curves, certified_share)
