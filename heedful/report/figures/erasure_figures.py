"""Figures of erased weights: one at a time, and one after the other until the decision changes."""

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
from heedful.report.figure import Figure
from heedful.report.texts import Texts
from heedful.schema.rankings import ranking_title, rankings_in

SINGLE, PREFIXES = "erase_one", "erase_until_flip"
"""The questions that the figures belong to."""
MOST_POINTS = 2000
RANKINGS = {
    "random": "random order",
    "attention": "attention",
    "weight_gradient": "weight gradient",
    "attention_x_gradient": "attention × gradient",
    "gradient_x_input": "gradient × input",
    "leave_one_out": "leave-one-out",
    "minimal": "smallest set",
}
"""Rankings by the name of their measure, as the reader calls them, in the order of the figures."""


def erase_one(texts: Texts) -> Figure | None:
    """What erasing the top item changes beyond erasing another, against what attention says of the two."""
    more, weight = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
    if not texts.has(more, weight):
        return None
    points = texts.frame.filter(pl.col(more).is_finite() & pl.col(weight).is_finite()).select(
        "run", pl.col(weight).round_sig_figs(4).alias("x"), pl.col(more).round_sig_figs(4).alias("y")
    )
    negative = points.filter(pl.col("y") < 0)
    # Those below 0 are drawn last, so that no others hide them.
    thin = _thinned(points).sort("y", descending=True, maintain_order=True)
    noun = texts.noun
    counted = f" {len(negative):,} of {len(points):,} {noun} lie there." if len(negative) else " No text lies there."
    counted += f" Drawn are {len(thin):,} of the {noun}, evenly chosen." if len(thin) < len(points) else ""
    return Figure(
        name="erase_one",
        group=SINGLE,
        title="The top word against another",
        caption=(
            "Each point is a text: to the right the top word has more attention than another word drawn at random, "
            "upwards erasing it changes the answer more. "
            "Points below 0 (orange): the word with less attention mattered more." + counted + texts.left_out(more)
        ),
        source="Serrano & Smith 2019, Figure 3",
        alt=f"Scatter plot of {len(thin):,} {noun}; "
        f"in {len(negative):,} of {len(points):,} the difference in effect is negative.",
        chart=panels(_scatter(thin), texts, PLOT, 190),
        columns=2,
    )


def erase_one_negative(texts: Texts) -> Figure | None:
    """How far ahead the top item was, in texts where erasing the other one changed the answer more."""
    more, weight = "erase_one.delta_js_attention", "erase_one.delta_attention_attention"
    if not texts.has(more, weight):
        return None
    known = texts.frame.filter(pl.col(more).is_finite() & pl.col(weight).is_finite())
    negative = known.filter(pl.col(more) < 0).select("run", pl.col(weight).alias("value"))
    if negative.is_empty():
        return None
    leads = negative["value"].to_list()
    bars = histogram(negative, ["run"], *axis_ends(leads, (0.0, 1.0)), 25)
    chart = steps(bars, alt.ColorValue(COLORS[1]), "difference in attention")
    return Figure(
        name="erase_one_negative",
        group=SINGLE,
        title="Where the other word mattered more",
        caption=(
            f"The lead of the top word in the {len(negative):,} of {len(known):,} {texts.noun} where erasing the other "
            "word changed the answer more: near 0 the two were almost tied, far to the right attention misled."
        ),
        source="Serrano & Smith 2019, Figure 4",
        alt=f"Histogram of the difference in attention for {len(negative):,} {texts.noun}; "
        f"median {format_number(median(leads))}, largest {format_number(max(leads))}.",
        chart=drawn_or_said(panels(chart, texts, height=160), leads, "Difference in attention", texts.noun),
        columns=2,
    )


def erase_one_flips(texts: Texts) -> Figure | None:
    """In how many texts erasing the top item, and erasing another, flips the decision: a table of two by two."""
    cells = flip_cells(texts)
    if cells is None:
        return None
    table = cells.with_columns(pl.format("{} %", pl.col("percent").round(1))).pivot(
        "cell", index=["run", "ranking", "texts"], values="percent"
    )
    both = cells.filter(pl.col("cell") == "only the top word").select("percent", "ranking", "run").rows()
    return Figure(
        name="erase_one_flips",
        group=SINGLE,
        title="Which erasures flip the decision",
        caption=(
            "Percent of texts in which erasing the top word (rows) and another word (columns; the exact average over "
            "all others) flips the decision. A good ranking has much in “yes, no” and nothing in “no, yes”."
        ),
        source="Serrano & Smith 2019, Table 2 and Figures 9, 12 and 13",
        alt="Two by two tables. Only the top word flips: "
        + ", ".join(f"{percent:.1f} % by {ranking} ({run})" for percent, ranking, run in both)
        + ".",
        chart=stacked({run: _flip_chart(cells.filter(pl.col("run") == run)) for run in texts.runs}),
        table=table.rename({"texts": texts.noun}),
        columns=2,
    )


def flip_cells(texts: Texts) -> pl.DataFrame | None:
    """The two by two table of each run and ranking, in percent: run, ranking, top, other, cell, percent, texts.

    With f = 1 where erasing the top item flips, and e the share of the other items that flip, yes/yes is the mean of
    f e, yes/no of f (1 - e), no/yes of (1 - f) e: the expectation over the other item, with nothing drawn.
    """
    parts = []
    for ranking in ("attention", "weight_gradient", "attention_x_gradient"):
        top, other = f"erase_one.flips_{ranking}", f"erase_one.other_flips_{ranking}"
        if not texts.has(top, other):
            continue
        f, e = pl.col(top), pl.col(other)
        shares = {
            ("yes", "yes", "both"): f * e,
            ("yes", "no", "only the top word"): f * (1 - e),
            ("no", "yes", "only the other word"): (1 - f) * e,
            ("no", "no", "neither"): (1 - f) * (1 - e),
        }
        known = texts.frame.filter(f.is_finite() & e.is_finite())
        for (is_top, is_other, cell), share in shares.items():
            parts.append(
                known.group_by("run", maintain_order=True).agg(
                    ranking=pl.lit(RANKINGS[ranking]),
                    top=pl.lit(is_top),
                    other=pl.lit(is_other),
                    cell=pl.lit(cell),
                    percent=100 * share.mean(),
                    texts=pl.len(),
                )
            )
    return pl.concat(parts) if parts else None


def fraction_erased(texts: Texts) -> Figure | None:
    """The fraction of items that each ranking erases before the decision changes."""
    return _erased(
        texts,
        "fraction",
        "Fraction of words erased",
        "Serrano & Smith 2019, Figures 5, 6 and 10; the smallest set is ours",
        "The share of a text's words that must be erased, in the order of each ranking, before the decision changes: "
        "further left is better, and nothing can be left of the smallest set.",
    )


def mass_erased(texts: Texts) -> Figure | None:
    """The attention mass that each ranking erases before the decision changes."""
    return _erased(
        texts,
        "mass",
        "Attention erased",
        "Serrano & Smith 2019, Figure 11",
        "How much of the attention goes with those words. The smallest set has the fewest words, not the least mass.",
    )


def _erased(texts: Texts, measure: str, title: str, source: str, caption: str) -> Figure | None:
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
    chart = boxes(summary, ("ranking", order, ""), ("run", texts.runs), title.lower() + " before the flip", (0.0, 1.0))
    drawn, noun = values["value"].to_list(), "pairs of text and ranking"
    return Figure(
        name=f"{measure}_erased",
        group=PREFIXES,
        title=title,
        caption=caption + texts.left_out(next(iter(shown))),
        source=source,
        alt=f"Box plots by ranking. Means: {means}.",
        chart=drawn_or_said(chart, drawn, f"{title} before the flip", noun, whisker_ends(summary)),
        table=table.rename({"texts": texts.noun}),
    )


def _shown_rankings(texts: Texts) -> dict[str, str]:
    """Every ranking that was tested, as the reader calls it: those that somebody asked for before the smallest set."""
    others = {name: printable(ranking_title(name)) for name in rankings_in(texts.frame.columns)}
    last = {"minimal": RANKINGS["minimal"]}
    return {**{name: title for name, title in {**others, **RANKINGS}.items() if name not in last}, **last}


def _thinned(points: pl.DataFrame) -> pl.DataFrame:
    """At most so many points, the same ones each time: evenly spaced in the order of the texts."""
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
