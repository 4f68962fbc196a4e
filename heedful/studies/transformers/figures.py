"""Rankings compared, other attention in three scopes, and all heads at a glance."""

from collections.abc import Callable, Mapping, Sequence

import altair as alt
import polars as pl

from heedful.measures import Estimate
from heedful.report.drawing import Chart
from heedful.report.figure import Figure
from heedful.studies.claims import estimate
from heedful.studies.figures import Heading, study_figure
from heedful.studies.interval_charts import interval_limits, intervals
from heedful.studies.study import Cell, Claim, Results
from heedful.studies.transformers.columns import (
    AGREES,
    ALL_LAYERS,
    CONSISTENT,
    CORRECT,
    PLACE_NAMES,
    RANKINGS,
    changed_correct,
)

OURS = "this study"
CHANGED = {"uniform": "uniform attention to words", "blind": "no attention to words"}
"""The changes that are drawn."""
HEADS = "heads."
CELL = 22
"""Pixels of a head's square."""
PANELS = 4
"""Data sets side by side."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """How rankings agree with deleting words, whether they know its sign, what other attention costs, every head."""
    cells = results.select(CORRECT)
    if not cells:
        return []
    return [
        _ranking_figure(
            cells,
            AGREES,
            Heading("agreement", "Agreement with deleting words", OURS),
            "Kendall's tau-b with leave-one-out",
            0.0,
        ),
        _ranking_figure(
            cells,
            CONSISTENT,
            Heading("polarity", "Does the top word speak as its sign says?", OURS),
            "share of texts",
            0.5,
        ),
        *(_accuracy_figure(cells, change) for change in CHANGED),
        *_heads_figure(cells),
    ]


def _ranking_figure(
    cells: Sequence[Cell], column: Callable[[str], str], heading: Heading, axis: str, mark: float
) -> Figure:
    estimates = {
        (cell.data, name): estimate(cell.columns[column(ranking)])
        for cell in cells
        for ranking, name in RANKINGS.items()
        if ranking != ALL_LAYERS and column(ranking) in cell.columns
    }
    return _interval_figure(estimates, axis, heading, mark, f"The dashed line is at {mark:g}.")


def _accuracy_figure(cells: Sequence[Cell], change: str) -> Figure:
    estimates = {}
    for cell in cells:
        estimates[cell.data, "as it is"] = estimate(cell.columns[CORRECT])
        for place, where in PLACE_NAMES.items():
            column = changed_correct(place, change)
            if column in cell.columns:
                estimates[cell.data, where] = estimate(cell.columns[column])
    heading = Heading(f"accuracy_{change}", f"Accuracy with {CHANGED[change]}, in three scopes", OURS)
    return _interval_figure(estimates, "accuracy", heading, 0.5, "The dashed line is at one half.")


def _interval_figure(
    estimates: Mapping[tuple[str, str], Estimate], axis: str, heading: Heading, mark: float, note: str
) -> Figure:
    described = "; ".join(f"{data}, {name}: {part.value:.2g}" for (data, name), part in estimates.items())
    return study_figure(
        heading,
        intervals(estimates, axis, interval_limits(estimates, mark), mark),
        caption=f"Means over texts and seeds, with their 95 % intervals. {note}",
        alt=f"{heading.title}. {described}.",
    )


def _heads_figure(cells: Sequence[Cell]) -> list[Figure]:
    rows = [
        (cell.data, *map(int, column.removeprefix(HEADS).split("_")), round(values.nanmean().item(), 3))
        for cell in cells
        for column, values in cell.columns.items()
        if column.startswith(HEADS)
    ]
    if not rows:
        return []
    schema = {"data": pl.String, "layer": pl.Int64, "head": pl.Int64, "value": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").filter(pl.col("value").is_finite())
    best = frame.sort("value", descending=True).group_by("data", maintain_order=True).first()
    described = "; ".join(f"{data}: {layer}.{head}, {value:.2f}" for data, layer, head, value in best.rows())
    return [
        study_figure(
            Heading("heads", "Each head's agreement with deleting words", OURS),
            _squares(frame),
            caption=(
                "Mean Kendall's tau-b of the weights of [CLS] in each head with leave-one-out, over texts and seeds; "
                "layers from the first (0) to the last."
            ),
            alt=f"A square for each head. The highest of each data set: {described}.",
        )
    ]


def _squares(frame: pl.DataFrame) -> Chart:
    """A square for each layer and head, a panel for each data set; darker is more."""
    sets = list(dict.fromkeys(frame["data"]))
    heads, layers = frame["head"].n_unique(), frame["layer"].n_unique()
    most = max(abs(value) for value in frame["value"]) or 1.0
    wide = min(CELL, 900 // (min(len(sets), PANELS) * heads))
    colour = alt.Color(
        "value:Q",
        title="tau-b",
        scale=alt.Scale(scheme="purpleorange", domain=[-most, most], reverse=True),
        legend=alt.Legend(gradientLength=90, format=".1f"),
    )
    squares = (
        alt.Chart(frame)
        .mark_rect(aria=False)
        .encode(
            x=alt.X("head:O", title="head", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("layer:O", title="layer", sort="descending"),
            color=colour,
        )
        .properties(width=wide * heads, height=CELL * layers)
    )
    return squares.facet(
        facet=alt.Facet("data:N", sort=sets, header=alt.Header(title=None, labelFontWeight=600)),
        columns=min(len(sets), PANELS),
    )
