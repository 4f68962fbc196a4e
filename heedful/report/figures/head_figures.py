"""All heads of a transformer at a glance: what each shows, and what it does."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from heedful.report.drawing import COLORS, PLOT, STRONG, stacked
from heedful.report.figure import Figure
from heedful.report.texts import Texts
from heedful.schema import Heads

GROUP = "heads"
PICTURES = {
    "agreement": (
        "Agreement with leaving words out",
        "Kendall's tau of a head's weights, in the row that the classifier reads, with leave-one-out; below 0 is drawn "
        "as 0.",
    ),
    "deletion_moves": (
        "What the head's top word does",
        "How far the prediction moves when the head's most attended word is deleted from the text.",
    ),
    "uniform_moves": (
        "What the head does",
        "How far the prediction moves when this head alone weighs all words alike.",
    ),
}
"""What is drawn: title and caption by measure."""
MOST_LABELLED = 12
"""Heads in a layer up to which their numbers are written into the cells."""
CELL = 18


def heads_agreement(texts: Texts) -> Figure | None:
    """How each head's weights agree with leave-one-out."""
    return _figure(texts, "agreement")


def heads_deletion(texts: Texts) -> Figure | None:
    """What deleting each head's top word does."""
    return _figure(texts, "deletion_moves")


def heads_uniform(texts: Texts) -> Figure | None:
    """What making each head uniform does."""
    return _figure(texts, "uniform_moves")


def _figure(texts: Texts, measure: str) -> Figure | None:
    known = {name: heads for name, heads in texts.heads.items() if measure in heads.measures}
    if not known:
        return None
    title, caption = PICTURES[measure]
    cells = {name: _cells(heads, measure) for name, heads in known.items()}
    largest = max(float(frame["value"].max() or 0.0) for frame in cells.values())  # pyright: ignore[reportArgumentType]
    charts = {name: _grid(frame, largest) for name, frame in cells.items()}
    return Figure(
        name=f"heads_{measure}",
        group=GROUP,
        title=title,
        caption=f"{caption} Layers and heads are counted from 0; the darker, the more.",
        source="BERTology since Clark et al. 2019; Kovaleva et al. 2019",
        alt=" ".join(_in_words(name, frame, title) for name, frame in cells.items()),
        chart=stacked(charts),
        columns=2,
    )


def _cells(heads: Heads, measure: str) -> pl.DataFrame:
    """layer, head and value of each head that has one."""
    rows = [
        {"layer": layer, "head": head, "value": value, "label": f"{value:.2f}"}
        for layer, values in enumerate(heads.measures[measure])
        for head, value in enumerate(values)
        if value is not None
    ]
    schema = {"layer": pl.Int64(), "head": pl.Int64(), "value": pl.Float64(), "label": pl.String()}
    return pl.DataFrame(rows, schema=schema)


def _grid(cells: pl.DataFrame, largest: float) -> alt.LayerChart:
    layers, heads = (sorted(cells[name].unique().to_list()) for name in ("layer", "head"))
    height = CELL * max(1, len(layers))
    base = alt.Chart(cells).encode(
        x=alt.X("head:O", sort=heads, title="head", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("layer:O", sort=layers[::-1], title="layer"),
    )
    scale = alt.Scale(domain=[0.0, largest or 1.0], range=[0.04, 0.85], clamp=True)
    drawn = base.mark_rect(color=COLORS[0]).encode(opacity=alt.Opacity("value:Q", scale=scale, legend=None))
    if len(heads) > MOST_LABELLED:
        return alt.LayerChart(layer=[drawn]).properties(width=PLOT, height=height)
    numbers = base.mark_text(fontSize=8, color=STRONG).encode(text="label:N")
    return alt.LayerChart(layer=[drawn, numbers]).properties(width=PLOT, height=height)


def _in_words(name: str, cells: pl.DataFrame, title: str) -> str:
    best: Sequence[dict[str, float]] = cells.sort("value", descending=True).head(3).to_dicts()
    shown = ", ".join(f"{cell['value']:.2f} in head {cell['layer']}.{cell['head']}" for cell in best)
    return f"{title}, {name}: a grid of layers and heads. The largest: {shown}."


FIGURES = (heads_agreement, heads_deletion, heads_uniform)
