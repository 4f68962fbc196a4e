"""Figures of trained adversaries: how far their answers moved, against how far their attention did."""

import math

import altair as alt
import polars as pl

from heedful.report.drawing import INK, PLOT, axis_ends, color_of, drawn_or_said, legend_of, x_axis
from heedful.report.figure import Figure
from heedful.report.texts import Texts

GROUP = "attefa"
SOURCE = "Amini & Kosseim, Figure {}".format
KINDS = {"constant": "always says the same", "rescaled": "rescales", "frozen": "attention alone moves"}
TRAINED = "trained"
LN2 = math.log(2)


def adversaries_plane(texts: Texts) -> Figure | None:
    """Every member of the AtteFa family in the plane of JSD and TVD."""
    if not texts.has("adversarial_models.tvd_1", "attefa.cap"):
        return None
    points = _members(texts)
    listed = "; ".join(f"{run}, {kind} {tvd:.2f} at {js:.2f}" for run, kind, tvd, js, _ in points.rows())
    kinds = [TRAINED, *KINDS.values()]
    base = alt.Chart(points).encode(
        x=alt.X("js:Q", title="JSD of attention (nats)", scale=alt.Scale(domain=[0, round(LN2, 3)])),
        y=alt.Y("tvd:Q", title="TVD of predictions", scale=alt.Scale(domainMin=0)),
        color=color_of(texts.runs, "run"),
        shape=alt.Shape("kind:N", sort=kinds, scale=alt.Scale(domain=kinds), legend=legend_of(kinds)),
    )
    slope = pl.DataFrame({"js": [0.0, LN2], "tvd": [0.0, 0.5]})
    line = alt.Chart(slope).mark_line(strokeDash=[3, 3], color=INK, aria=False).encode(x="js:Q", y="tvd:Q")
    return Figure(
        name="adversaries_plane",
        group=GROUP,
        title="Adversaries: moved answers against moved attention",
        caption="Down and to the right the adversary wins. On the broken line AtteFa is .5; below it, less.",
        source=SOURCE(2),
        alt=f"Mean TVD at mean JSD. {listed}.",
        chart=alt.layer(line, base.mark_point(size=70, filled=True, opacity=0.9, aria=False)).properties(
            width=PLOT, height=220
        ),
        columns=3,
    )


def adversaries_seeds(texts: Texts) -> Figure | None:
    """AtteFa of each trained adversary, one a seed."""
    if not texts.has("adversarial_models.tvd_1"):
        return None
    points = _members(texts).filter(pl.col("kind") == TRAINED)
    listed = "; ".join(f"{run}: {value:.2f}" for run, value in points.select("run", "attefa").rows())
    values = points["attefa"].to_list()
    base = alt.Chart(points).encode(
        y=alt.Y("run:N", sort=list(texts.runs), title=None, axis=alt.Axis(labels=False)),
        x=x_axis("attefa", "AtteFa", axis_ends(values, (0.0, 1.0))),
    )
    dots = base.mark_circle(size=60, opacity=0.75, aria=False).encode(color=color_of(texts.runs, "run"))
    means = base.mark_tick(thickness=2, size=22, color=INK, aria=False).encode(x="mean(attefa):Q")
    chart = alt.layer(dots, means).properties(width=PLOT + 40, height=50 + 40 * len(texts.runs))
    return Figure(
        name="adversaries_seeds",
        group=GROUP,
        title="AtteFa over the adversaries' seeds",
        caption="Each point an adversary, the tick their mean. Values in two heaps: some adversaries gave up.",
        source=SOURCE(1),
        alt=f"AtteFa of each adversary. {listed}.",
        chart=drawn_or_said(chart, values, "AtteFa", "adversaries"),
        columns=3,
    )


def _members(texts: Texts) -> pl.DataFrame:
    """run, kind, and the means tvd, js and attefa of each member of the family, for each seed of the model."""
    frame = texts.frame
    numbers = sorted(int(name.split("_")[-1]) for name in frame.columns if name.startswith("adversarial_models.tvd_"))
    pairs = [(TRAINED, f"adversarial_models.tvd_{n}", f"adversarial_models.js_{n}") for n in numbers]
    cap = "attefa.type_cap" if "attefa.type_cap" in frame.columns else "attefa.cap"
    pairs += [
        (name, f"attefa.{kind}_tvd", "attefa.frozen_js" if kind == "frozen" else cap) for kind, name in KINDS.items()
    ]
    rows = []
    for run, seed in frame.select("run", "seed").unique(maintain_order=True).rows():
        own = frame.filter((pl.col("run") == run) & (pl.col("seed") == seed))
        for kind, tvd, js in pairs:
            if tvd not in own.columns or own[tvd].null_count() == len(own):
                continue
            moved, gone = own[tvd].mean(), own[js].fill_null(own["attefa.cap"]).mean()
            if isinstance(moved, float) and isinstance(gone, float) and gone > 0:
                rows.append((run, kind, moved, gone, min(moved * LN2 / gone, 1.0)))
    return pl.DataFrame(rows, schema=["run", "kind", "tvd", "js", "attefa"], orient="row")


FIGURES = (adversaries_plane, adversaries_seeds)
