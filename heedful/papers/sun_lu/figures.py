"""The figures of Sun and Lu (2020), from the scores that runs recorded and the weights that audits found."""

from collections.abc import Mapping, Sequence

import polars as pl

from heedful.papers.charts import box_plots, curves
from heedful.papers.reproduction import Claim, Results
from heedful.papers.study_figures import BOXES, Heading, measures_figure, study_figure
from heedful.papers.sun_lu.columns import (
    AD_MODERATE,
    DP_KEPT_SMALL,
    DP_LARGE,
    DP_MODERATE,
    DP_PLANTED,
    RATIOS,
    ScaledModel,
)
from heedful.papers.sun_lu.token_history import model_curves, score_frame, trajectories
from heedful.report.figure import Figure

PAPER = "Sun & Lu 2020, {}".format
TRAJECTORIES = {"planted": "planted", "planted-noisy": "planted_noisy"}
"""The synthetic sets whose trajectories are drawn, and what their figures' names begin with."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 2 to 5, and the synthetic trajectories of the supplement."""
    return [
        *_score_figures(results),
        *_weights(results),
        *(figure for data in TRAJECTORIES for figure in _trajectories(results, data)),
        *_products(results),
        *_alignment(results),
    ]


def _score_figures(results: Results) -> list[Figure]:
    moderate, large, additive = (DP_MODERATE,), (DP_KEPT_SMALL, DP_LARGE), (AD_MODERATE,)
    drawn = [
        (moderate, "polarity", Heading("polarity", "Polarity scores, moderate scaling", PAPER("Figure 2"))),
        (moderate, "attention", Heading("attention", "Attention scores, moderate scaling", PAPER("Figures 2 and 3c"))),
        (large, "polarity", Heading("polarity_large", "Polarity scores, large scaling", PAPER("Figure 3a"))),
        (
            large,
            "attention",
            Heading("attention_large", "Attention scores, large scaling", PAPER("Figure 3b, supplement 5")),
        ),
        (additive, "attention", Heading("additive", "Attention scores, additive attention", PAPER("Figure 4"))),
    ]
    return [figure for models, measure, heading in drawn for figure in _scores(results, models, measure, heading)]


def _scores(results: Results, models: Sequence[ScaledModel], measure: str, heading: Heading) -> list[Figure]:
    by_model = [model.recorded(results) for model in models]
    cells = [cells[data] for data in results.datasets for cells in by_model if data in cells]
    frame = score_frame(cells, measure)
    if frame.is_empty():
        return []
    kinds = [*(kind for kind in dict.fromkeys(frame["class"]) if kind != "neutral"), "neutral"]
    medians = frame.group_by("data", "model", "class", maintain_order=True).agg(pl.col("value").median().round(2))
    described = "; ".join(f"{data}, {model}, {kind}: {median}" for data, model, kind, median in medians.rows())
    return [
        study_figure(
            heading,
            box_plots(frame, ("class", kinds, "label that the word indicates"), f"{measure} score of a word"),
            caption=f"The {measure} score of every word, by the label that the word indicates. {BOXES}",
            alt=f"Box plots of {measure} scores. Medians: {described}.",
        )
    ]


def _weights(results: Results) -> list[Figure]:
    columns = {f"token_scores.weight[{label}]": label for label in ("negative", "positive")}
    columns["token_scores.weight_neutral"] = "neutral"
    by_model = [model.measured(results).get("sst2") for model in (DP_MODERATE, DP_LARGE, AD_MODERATE)]
    return measures_figure(
        [cell for cell in by_model if cell is not None],
        columns,
        "mean attention weight of the words of a text, relative to uniform",
        Heading("weights", "Attention weights by kind of word", PAPER("Figure 5")),
        rows="kind of word",
    )


def _trajectories(results: Results, data: str) -> list[Figure]:
    cell = DP_PLANTED.recorded(results).get(data)
    if cell is None:
        return []
    # A figure each: attention scores are so much smaller that one axis would hide them.
    return [
        _curves(
            trajectories(cell, {measure: measure}).with_columns(data=pl.lit(data)),
            f"mean {measure} score",
            ["positive", "negative", "neutral"],
            Heading(
                f"{TRAJECTORIES[data]}_{measure}",
                f"{measure.capitalize()} scores during training, {data}",
                PAPER("supplement, Figures 3 and 4"),
            ),
            "Means over the words of each kind, by epoch.",
        )
        for measure in ("polarity", "attention")
    ]


def _products(results: Results) -> list[Figure]:
    cell = DP_PLANTED.recorded(results).get("planted")
    if cell is None:
        return []
    kinds = ("negative", "positive", "(neutral)")
    pairs = [(kind, other) for place, kind in enumerate(kinds) for other in kinds[place:]]
    measures = {f"product[{kind},{other}]": f"{kind} and {other}" for kind, other in pairs}
    frame = model_curves({"planted": cell}, measures)
    title = "Dot products of embeddings during training"
    return [
        _curves(
            frame.with_columns(series=pl.col("data"), data=pl.lit("planted")),
            "mean dot product",
            list(measures.values()),
            Heading("products", title, PAPER("supplement, Figures 1, 2 and 6")),
            "Mean dot product of two different words, by the kinds of the two.",
        )
    ]


def _alignment(results: Results) -> list[Figure]:
    planted = DP_PLANTED.recorded(results)
    cells = {data: planted[data] for data in RATIOS if data in planted}
    if not cells:
        return []
    title = "V.W during training, by the ratio of the classes"
    return [
        _curves(
            model_curves(cells, {"V.W": "planted sets"}),
            "V.W",
            list(cells),
            Heading("alignment", title, PAPER("supplement, Figure 7")),
            "Mean over seeds; the ratios are positive : negative, and 1 : 1 for planted.",
        )
    ]


def _curves(frame: pl.DataFrame, axis: str, series: Sequence[str], heading: Heading, caption: str) -> Figure:
    last = frame.sort("x").group_by("data", "series", maintain_order=True).last()
    described = "; ".join(f"{data}, {kind}: {y:.2f} after {x} epochs" for data, kind, x, y in last.rows())
    return study_figure(
        heading, curves(frame, "epoch", axis, series), caption=caption, alt=f"Curves over epochs. {described}."
    )
