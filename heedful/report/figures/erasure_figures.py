"""Figures of erased weights: one at a time, and one after the other until the prediction changes."""

from statistics import median

import altair as alt
import polars as pl

from heedful.formatting import format_number
from heedful.report.audits import printable
from heedful.report.drawing import (
    COLORS,
    GRID,
    PLOT,
    STRONG,
    axis_ends,
    boxes,
    dashed_rule,
    drawn_or_said,
    five_numbers,
    histogram,
    panels,
    side_by_side,
    stacked,
    steps,
    whisker_ends,
    x_axis,
    y_axis,
)
from heedful.report.figure import Figure, worded, words_of
from heedful.report.texts import Texts
from heedful.schema.rankings import ranking_title, rankings_in

MORE, LEAD = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
"""How much more erasing the top item changes than erasing another, and how much more attention it has."""
MOST_POINTS = 2000
USUAL = ("attention", "weight_gradient", "attention_x_gradient", "gradient_x_input", "leave_one_out")
RANKINGS = {"random": "random order"} | {name: ranking_title(name) for name in USUAL} | {"minimal": "smallest set"}
"""Rankings by the name of their measure, as the reader calls them, in the order of the figures."""
CELLS = {
    ("yes", "yes"): "both",
    ("yes", "no"): "only the top word",
    ("no", "yes"): "only the other word",
    ("no", "no"): "neither",
}
"""Labels by whether erasing the top word flips the prediction, and whether erasing another word does."""


def erase_one(texts: Texts) -> Figure | None:
    """What erasing the top item changes beyond erasing another, against what attention says of the two."""
    if not texts.has(MORE, LEAD):
        return None
    points = _top_against_other(texts).with_columns(pl.col("x", "y").round_sig_figs(4))
    negative, noun = len(points.filter(pl.col("y") < 0)), texts.noun
    # Those below 0 are drawn last, so that no others hide them.
    thin = _thinned(points).sort("y", descending=True, maintain_order=True)
    counted = f" {negative:,} of {len(points):,} {noun} lie there." if negative else " No text lies there."
    counted += f" The figure shows {len(thin):,} of the {noun}, evenly chosen." if len(thin) < len(points) else ""
    return worded(
        "erase_one",
        panels(_scatter(thin), texts, PLOT, 190),
        f"Scatter plot of {len(thin):,} {noun}; "
        f"in {negative:,} of {len(points):,} the difference in effect is negative.",
        more=counted + texts.left_out(MORE),
    )


def erase_one_negative(texts: Texts) -> Figure | None:
    """How far ahead the top item was, in texts where erasing the other one changed the answer more."""
    if not texts.has(MORE, LEAD):
        return None
    known = _top_against_other(texts)
    negative = known.filter(pl.col("y") < 0).rename({"x": "value"})
    if negative.is_empty():
        return None
    leads, axis = negative["value"].to_list(), "difference in attention"
    bars = histogram(negative, ["run"], *axis_ends(leads, (0.0, 1.0)), 25)
    chart = panels(steps(bars, alt.ColorValue(COLORS[1]), axis), texts, height=160)
    return worded(
        "erase_one_negative",
        drawn_or_said(chart, leads, "Difference in attention", texts.noun),
        f"Histogram of the {axis} for {len(negative):,} {texts.noun}; "
        f"median {format_number(median(leads))}, largest {format_number(max(leads))}.",
        negative=len(negative),
        known=len(known),
        noun=texts.noun,
    )


def _top_against_other(texts: Texts) -> pl.DataFrame:
    """run, x (the lead in attention of the top item over another) and y (its lead in effect) of each text."""
    points = texts.frame.select("run", pl.col(LEAD).alias("x"), pl.col(MORE).alias("y"))
    return points.filter(pl.col("x").is_finite() & pl.col("y").is_finite())


def erase_one_flips(texts: Texts) -> Figure | None:
    """In how many texts erasing the top item, and erasing another, flips the prediction: a table of two by two."""
    cells = flip_cells(texts)
    if cells is None:
        return None
    table = cells.with_columns(pl.format("{}%", pl.col("percent").round(1))).pivot(
        "cell", index=["run", "ranking", "texts"], values="percent"
    )
    top = cells.filter(pl.col("cell") == "only the top word").select("percent", "ranking", "run").rows()
    return worded(
        "erase_one_flips",
        stacked({run: _flip_chart(cells.filter(pl.col("run") == run)) for run in texts.runs}),
        "Two by two tables. Only the top word flips: "
        f"{', '.join(f'{percent:.1f}% by {ranking} ({run})' for percent, ranking, run in top)}.",
        table=table.rename({"texts": texts.noun}),
    )


def flip_cells(texts: Texts) -> pl.DataFrame | None:
    """The two by two table of each run and ranking, in percent: run, ranking, top, other, cell, percent, texts.

    With f = 1 where erasing the top item flips, and e the share of the other items that flip, yes/yes is the mean of
    f e, yes/no of f (1 - e), no/yes of (1 - f) e: the expectation over the other item, with nothing drawn.
    """
    parts = []
    for ranking in ("attention", "weight_gradient", "attention_x_gradient"):
        flips, others = f"erase_one.flips_{ranking}", f"erase_one.other_flips_{ranking}"
        if not texts.has(flips, others):
            continue
        f, e = pl.col(flips), pl.col(others)
        known = texts.frame.filter(f.is_finite() & e.is_finite()).group_by("run", maintain_order=True)
        for (top, other), cell in CELLS.items():
            share = (f if top == "yes" else 1 - f) * (e if other == "yes" else 1 - e)
            named = {"ranking": RANKINGS[ranking], "top": top, "other": other, "cell": cell}
            literals = [pl.lit(value).alias(name) for name, value in named.items()]
            parts.append(known.agg(*literals, percent=100 * share.mean(), texts=pl.len()))
    return pl.concat(parts) if parts else None


def fraction_erased(texts: Texts) -> Figure | None:
    """The fraction of items that each ranking erases before the prediction changes."""
    return _erased(texts, "fraction")


def mass_erased(texts: Texts) -> Figure | None:
    """The attention mass that each ranking erases before the prediction changes."""
    return _erased(texts, "mass")


def _erased(texts: Texts, measure: str) -> Figure | None:
    columns = {f"erase_until_flip.{measure}_{name}": ranking for name, ranking in _shown_rankings(texts).items()}
    shown = {column: ranking for column, ranking in columns.items() if texts.has(column)}
    if not shown:
        return None
    values = pl.concat([texts.values(column).with_columns(ranking=pl.lit(name)) for column, name in shown.items()])
    summary = five_numbers(values, ["run", "ranking"])
    order = list(shown.values())
    table = summary.sort(
        pl.col("run").replace_strict(list(texts.runs), range(len(texts.runs))),
        pl.col("ranking").replace_strict(order, range(len(order))),
    ).select(
        "run", "ranking", *(pl.format("{}", pl.col(name).round(3)).alias(name) for name in ("mean", "median")), "texts"
    )
    means = ", ".join(
        f"{mean} by {ranking} ({run})" for run, ranking, mean in table.select("run", "ranking", "mean").rows()
    )
    name = f"{measure}_erased"
    axis = f"{words_of(name)['title']} before the flip"
    chart = boxes(summary, ("ranking", order, ""), ("run", texts.runs), axis.lower(), (0.0, 1.0))
    drawn, noun = values["value"].to_list(), "pairs of text and ranking"
    return worded(
        name,
        drawn_or_said(chart, drawn, axis, noun, whisker_ends(summary)),
        f"Box plots by ranking. Means: {means}.",
        table=table.rename({"texts": texts.noun}),
        more=texts.left_out(next(iter(shown))),
    )


def _shown_rankings(texts: Texts) -> dict[str, str]:
    """Title of every tested ranking: requested ones come before the smallest set."""
    others = {name: printable(ranking_title(name)) for name in rankings_in(texts.frame.columns)}
    last = {"minimal": RANKINGS["minimal"]}
    return {**{name: title for name, title in {**others, **RANKINGS}.items() if name not in last}, **last}


def _thinned(points: pl.DataFrame) -> pl.DataFrame:
    """At most MOST_POINTS points, the same ones each time: evenly spaced in the order of the texts."""
    if len(points) <= MOST_POINTS:
        return points
    return points.gather([round(place * (len(points) - 1) / (MOST_POINTS - 1)) for place in range(MOST_POINTS)])


def _scatter(points: pl.DataFrame) -> alt.LayerChart:
    # The sign is drawn by color as well as by place; orange is the finding.
    color = alt.condition(alt.datum.y < 0, alt.value(COLORS[1]), alt.value(COLORS[0]))
    dots = (
        alt.Chart()
        .mark_circle(size=11, opacity=0.45, aria=False)
        .encode(
            x=x_axis("x", "difference in attention", axis_ends(points["x"].to_list(), (0.0, 1.0))),
            y=y_axis("y", "difference in effect (JS)", axis_ends([0.0, *points["y"]])),
            color=color,
        )
    )
    return alt.LayerChart(data=points, layer=[dashed_rule().encode(y=alt.datum(0)), dots])


def _flip_chart(cells: pl.DataFrame) -> alt.FacetChart:
    base = alt.Chart().encode(
        x=alt.X("other:N", sort=["yes", "no"], title="other word flips", axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("top:N", sort=["yes", "no"], title="top word flips"),
    )
    tiles = base.mark_rect(fill=COLORS[0], stroke=GRID, aria=False).encode(
        fillOpacity=alt.FillOpacity("percent:Q", scale=alt.Scale(domain=[0, 100], range=[0.03, 0.5]), legend=None)
    )
    numbers = base.mark_text(fontSize=12, fill=STRONG, aria=False).encode(text=alt.Text("percent:Q", format=".1f"))
    table = alt.LayerChart(data=cells.with_columns(pl.col("percent").round(2)), layer=[tiles, numbers])
    return side_by_side(table, "ranking", list(dict.fromkeys(cells["ranking"])), 72)


FIGURES = (erase_one, erase_one_negative, erase_one_flips, fraction_erased, mass_erased)
