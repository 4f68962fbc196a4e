"""Figures of trained adversaries, kinds of words, rankings, heads and training methods."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from heedful.formatting import format_estimate, format_number
from heedful.report.audits import printable
from heedful.report.drawing import (
    COLORS,
    INK,
    PLOT,
    STRONG,
    Ends,
    axis_ends,
    boxes,
    color_of,
    color_scale,
    dashed_rule,
    drawn_or_said,
    five_numbers,
    legend_of,
    panels,
    stacked,
    whisker_ends,
    x_axis,
    y_axis,
)
from heedful.report.figure import Figure, worded, words_of
from heedful.report.texts import Texts
from heedful.schema import Heads

if TYPE_CHECKING:
    from heedful.jobs.improving import MethodScores

# Trained adversaries: how far their predictions moved, against how far their attention did.

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
    dots = base.mark_point(size=70, filled=True, opacity=0.9, aria=False)
    chart = alt.layer(line, dots).properties(width=PLOT, height=220)
    return worded("adversaries_plane", chart, f"Mean TVD at mean JSD. {listed}.")


def adversaries_seeds(texts: Texts) -> Figure | None:
    """AtteFa of each trained adversary, one per seed."""
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
    drawn = drawn_or_said(chart, values, "AtteFa", "adversaries")
    return worded("adversaries_seeds", drawn, f"AtteFa of each adversary. {listed}.")


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
    for (run, _), own in frame.group_by("run", "seed", maintain_order=True):
        for kind, tvd, js in pairs:
            if tvd not in own.columns or own[tvd].null_count() == len(own):
                continue
            moved, gone = own[tvd].mean(), own[js].fill_null(own["attefa.cap"]).mean()
            if isinstance(moved, float) and isinstance(gone, float) and gone > 0:
                rows.append((run, kind, moved, gone, min(moved * LN2 / gone, 1.0)))
    return pl.DataFrame(rows, schema=["run", "kind", "tvd", "js", "attefa"], orient="row")


# The words that attention looks at: their weights by the answer that each supports.

POLAR, NEUTRAL = "token_scores.weight_polar", "token_scores.weight_neutral"


def token_weights(texts: Texts) -> Figure | None:
    """Mean weight of the words that support each answer, and of neutral ones."""
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
    return worded(
        "token_weights",
        drawn_or_said(chart, values["value"].to_list(), "Relative weight", "values", whisker_ends(summary)),
        f"Box plots of attention weights relative to uniform. Medians: {medians}.",
        more=texts.left_out(POLAR),
    )


# Every ranking by how faithful it is to the model and how plausible to people.

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left")
LONGEST = 24
"""Characters of a ranking's name in the drawing."""


def faithful_and_plausible(texts: Texts) -> Figure | None:
    """A point per ranking: to the right the more faithful, upwards the more plausible."""
    points = ranking_points(texts)
    if points.is_empty():
        return None
    listed = ", ".join(
        f"{title} {format_number(faithful)} and {format_number(plausible)}"
        for title, faithful, plausible in points.select("title", "faithful", "plausible").rows()
    )
    return worded(
        "faithful_and_plausible",
        panels(_scatter(points), texts, PLOT, 230),
        f"Scatter plot of {len(points)} rankings; faithful and plausible: {listed}.",
        table=_table(texts),
    )


def ranking_points(texts: Texts) -> pl.DataFrame:
    """run, title, and both scores with their ends, of each ranking that has both."""
    fields = [f"{axis}{end}" for axis in ("faithful", "plausible") for end in ("", "_low", "_high")]
    rows = [
        {"run": run, "title": _short(ranking.title or ranking.name)}
        | {field: getattr(ranking, field) for field in fields}
        for run, rankings in zip(texts.runs, texts.rankings, strict=False)
        for ranking in rankings
        if ranking.faithful is not None and ranking.plausible is not None
    ]
    return pl.DataFrame(rows)


def _table(texts: Texts) -> pl.DataFrame:
    """What was measured of every ranking."""
    fields = ("faithful", "plausible", "erased", "comprehensiveness", "sufficiency", "average_precision", "token_f1")
    rows = [
        {"run": run, "ranking": printable(ranking.title or ranking.name)}
        | {field: format_number(getattr(ranking, field), percent=field == "erased") for field in fields}
        | {"tau with attention": format_number(ranking.agreement.get("attention")), "texts": ranking.texts}
        for run, rankings in zip(texts.runs, texts.rankings, strict=False)
        for ranking in rankings
    ]
    return pl.DataFrame(rows).rename({"average_precision": "average precision", "token_f1": "token F1"})


def _short(title: str) -> str:
    title = printable(title)
    return title if len(title) <= LONGEST else f"{title[: LONGEST - 1]}…"


def _scatter(points: pl.DataFrame) -> alt.LayerChart:
    titles = list(dict.fromkeys(points["title"]))
    legend = legend_of(titles) if len(titles) > 1 else None
    base = alt.Chart().encode(
        x=x_axis("faithful", "faithful to the model", _ends(points, "faithful", [0.0, 1.0])),
        y=y_axis("plausible", "plausible to people", _ends(points, "plausible", [0.0])),
        color=alt.Color("title:N", scale=color_scale(titles), sort=titles, legend=legend),
    )
    line = base.mark_rule(opacity=0.6, aria=False)
    lines = [
        line.encode(x=alt.X("faithful_low:Q"), x2="faithful_high:Q"),
        line.encode(y=alt.Y("plausible_low:Q"), y2="plausible_high:Q"),
    ]
    # Colors repeat after six, shapes after seven: together they tell any number of rankings apart.
    shapes = alt.Scale(domain=titles, range=[SHAPES[number % len(SHAPES)] for number in range(len(titles))])
    shape = alt.Shape("title:N", scale=shapes, sort=titles, legend=legend)
    dots = base.mark_point(filled=True, size=90, opacity=1, aria=False).encode(shape=shape)
    zero = [dashed_rule().encode(x=alt.datum(0)), dashed_rule().encode(y=alt.datum(0))]
    return alt.LayerChart(data=points, layer=[*zero, *lines, dots])


def _ends(points: pl.DataFrame, axis: str, whole: list[float]) -> Ends:
    """Where the axis starts and ends: at all of these values, and at those of every ranking."""
    known = [value for end in ("", "_low", "_high") for value in points[f"{axis}{end}"] if value is not None]
    return axis_ends([*whole, *known])


# All heads of a transformer at a glance: what each shows, and what it does.

MOST_LABELED = 12
"""Heads in a layer up to which their numbers are written into the cells."""
CELL = 18


def heads_agreement(texts: Texts) -> Figure | None:
    """How each head's weights agree with leave-one-out."""
    return _heads(texts, "agreement")


def heads_deletion(texts: Texts) -> Figure | None:
    """What deleting each head's top word does."""
    return _heads(texts, "deletion_moves")


def heads_uniform(texts: Texts) -> Figure | None:
    """What making each head uniform does."""
    return _heads(texts, "uniform_moves")


def _heads(texts: Texts, measure: str) -> Figure | None:
    cells = {name: _cells(heads, measure) for name, heads in texts.heads.items() if measure in heads.measures}
    if not cells:
        return None
    figure = f"heads_{measure}"
    largest = max(float(frame["value"].max() or 0.0) for frame in cells.values())  # pyright: ignore[reportArgumentType]
    described = []
    for name, frame in cells.items():
        best = frame.sort("value", descending=True).head(3).select("value", "layer", "head").rows()
        shown = ", ".join(f"{value:.2f} in head {layer}.{head}" for value, layer, head in best)
        title = words_of(figure)["title"]
        described.append(f"{title}, {name}: a grid of layers and heads. The largest: {shown}.")
    return worded(figure, stacked({name: _grid(frame, largest) for name, frame in cells.items()}), " ".join(described))


def _cells(heads: Heads, measure: str) -> pl.DataFrame:
    """layer, head and value of each head that has one."""
    rows = [
        (layer, head, value, f"{value:.2f}")
        for layer, values in enumerate(heads.measures[measure])
        for head, value in enumerate(values)
        if value is not None
    ]
    schema = {"layer": pl.Int64(), "head": pl.Int64(), "value": pl.Float64(), "label": pl.String()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _grid(cells: pl.DataFrame, largest: float) -> alt.LayerChart:
    layers, heads = (sorted(cells[name].unique().to_list()) for name in ("layer", "head"))
    base = alt.Chart(cells).encode(
        x=alt.X("head:O", sort=heads, title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", sort=layers[::-1], title="layer"),
    )
    scale = alt.Scale(domain=[0.0, largest or 1.0], range=[0.04, 0.85], clamp=True)
    drawn = [base.mark_rect(color=COLORS[0]).encode(opacity=alt.Opacity("value:Q", scale=scale, legend=None))]
    if len(heads) <= MOST_LABELED:
        drawn.append(base.mark_text(fontSize=8, color=STRONG).encode(text="label:N"))
    return alt.LayerChart(layer=drawn).properties(width=PLOT, height=CELL * max(1, len(layers)))


# Every training method that was tried, by accuracy and by how often its attention points.

WAYS = ("as it is", "tried", "chosen")


def frontier_figure(
    own_way: "MethodScores",
    others: Sequence["MethodScores"],
    chosen: "MethodScores",
    best: Sequence["MethodScores"],
    max_accuracy_drop: float,
) -> Figure:
    """Accuracy on dev texts to the right, the share of texts upward; the chosen method among all.

    Args:
        best: those that no other beats, which a line joins.
    """
    ways = (own_way, *others)
    kinds = [WAYS[2] if way.name == chosen.name else WAYS[0] if way.name == own_way.name else WAYS[1] for way in ways]
    table = {
        "training method": [way.name for way in ways],
        "": kinds,
        "accuracy": [format_number(way.accuracy) for way in ways],
        "attention points": [format_estimate(way.points, way.points_low, way.points_high) for way in ways],
    }
    points = _places(ways).with_columns(kind=pl.Series(kinds))
    listed = ", ".join(f"{way.name}: {format_number(way.accuracy)} and {format_number(way.points)}" for way in ways)
    least = own_way.accuracy - max_accuracy_drop
    x = x_axis("accuracy", "accuracy on dev", axis_ends([*points["accuracy"], least]))
    y = y_axis("points", "share of texts in which attention points", axis_ends(points["points"].to_list()))
    base = alt.Chart(points).encode(x=x, y=y)
    line = alt.Chart(_places(best)).mark_line(color=INK, opacity=0.5, interpolate="step-before", aria=False)
    color = color_of([kind for kind in WAYS if kind in kinds], "kind", "circle")
    dots = base.mark_point(filled=True, size=90, opacity=1, aria=False).encode(color=color)
    # The bound has the axis of the points: a datum would add a separate axis, which begins at 0.
    bound = alt.Chart(pl.DataFrame({"accuracy": [least]})).mark_rule(strokeDash=[3, 3], color=INK, aria=False)
    layers = [bound.encode(x=x), line.encode(x=x, y=y), dots]
    return worded(
        "frontier",
        alt.LayerChart(layer=layers).properties(width=PLOT, height=230),
        f"Scatter plot of {len(ways)} training methods; accuracy and share of texts: {listed}.",
        table=pl.DataFrame(table),
    )


def _places(ways: Sequence["MethodScores"]) -> pl.DataFrame:
    return pl.DataFrame([{"accuracy": way.accuracy, "points": way.points} for way in ways])


ADVERSARIES = (adversaries_plane, adversaries_seeds)
OF_VERDICTS = (faithful_and_plausible, heads_agreement, heads_deletion, heads_uniform)
"""Figures that draw what verdicts contain, not rows."""
