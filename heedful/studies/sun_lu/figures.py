"""The figures of Sun and Lu (2020), from the scores that runs recorded and the weights that audits found."""

from collections.abc import Sequence
from functools import partial

import polars as pl

from heedful.report.figure import Figure
from heedful.studies.charts import box_plots, curves
from heedful.studies.figures import measures_figure, study_figure
from heedful.studies.study import Cell, Results
from heedful.studies.sun_lu.token_history import model_curves, score_frame, trajectories

DP, AD, KEPT_SMALL = "dp", "ad", "dp, V.W kept small"
TINY, MODERATE, LARGE, HUGE = 0.001, 10.0, 100.0, 10_000.0
PLANTED = ("planted", "planted-noisy")
RATIOS = ("planted", "planted-1:2", "planted-1:5", "planted-2:1", "planted-2:5")
SOURCE = "Sun & Lu 2020, {}".format


def named(model: str, scaling: float) -> str:
    """What the model with that scaling factor is called.

    >>> named("dp", 0.001), named("ad", 10_000.0)
    ('dp, lambda 0.001', 'ad, lambda 10000')
    """
    return f"{model}, lambda {scaling:g}"


def figures(results: Results) -> list[Figure]:
    """Figures 2 to 5, and the synthetic trajectories of the supplement."""
    moderate, large = named(DP, MODERATE), [named(DP, LARGE), named(KEPT_SMALL, LARGE)]
    scores = partial(_scores, results)
    return [
        *scores("polarity", [moderate], "polarity", "Polarity scores, moderate scaling", "Figure 2"),
        *scores("attention", [moderate], "attention", "Attention scores, moderate scaling", "Figures 2 and 3c"),
        *scores("polarity_large", large, "polarity", "Polarity scores, large scaling", "Figure 3a"),
        *scores("attention_large", large, "attention", "Attention scores, large scaling", "Figure 3b, supplement 5"),
        *scores("additive", [named(AD, MODERATE)], "attention", "Attention scores, additive attention", "Figure 4"),
        *_weights(results),
        *(figure for source in PLANTED for figure in _trajectories(results, source)),
        *_products(results),
        *_alignment(results),
    ]


def _scores(results: Results, name: str, models: Sequence[str], measure: str, title: str, source: str) -> list[Figure]:
    cells = [one for one in results.cells.values() if one.model in models and one.tokens]
    frame = score_frame([one for one in cells if not one.data.startswith("planted")], measure)
    if frame.is_empty():
        return []
    kinds = [*(kind for kind in dict.fromkeys(frame["class"]) if kind != "neutral"), "neutral"]
    medians = frame.group_by("data", "model", "class", maintain_order=True).agg(pl.col("value").median().round(2))
    said = "; ".join(f"{data}, {model}, {kind}: {median}" for data, model, kind, median in medians.rows())
    return [
        study_figure(
            name=name,
            title=title,
            source=SOURCE(source),
            caption=f"Boxes: the {measure} score of every word, by the label that the word speaks for.",
            alt=f"Box plots of {measure} scores. Medians: {said}.",
            chart=box_plots(frame, ("class", kinds, "")),
        )
    ]


def _weights(results: Results) -> list[Figure]:
    columns = {f"token_scores.weight[{label}]": label for label in ("negative", "positive")}
    columns["token_scores.weight_neutral"] = "neutral"
    shown = {(named(DP, MODERATE)), (named(DP, LARGE)), named(AD, MODERATE)}
    kept = {place: one for place, one in results.cells.items() if place[0] == "sst2" and place[1] in shown}
    return measures_figure(
        Results(results.scale, kept, {}),
        columns,
        "mean attention weight of the words of a text, in even shares",
        name="weights",
        title="Attention weights by kind of word",
        source=SOURCE("Figure 5"),
    )


def _planted(results: Results, source: str) -> Cell | None:
    cell = results.cells.get((source, named(DP, MODERATE)))
    return cell if cell is not None and cell.tokens else None


def _trajectories(results: Results, source: str) -> list[Figure]:
    cell = _planted(results, source)
    if cell is None:
        return []
    # A figure each: attention scores are so much smaller that one axis would hide them.
    return [
        figure
        for measure in ("polarity", "attention")
        for figure in _curves(
            trajectories(cell, {measure: f"{measure} score"}),
            ["positive", "negative", "neutral"],
            name=f"{source.replace('-', '_')}_{measure}",
            title=f"{measure.capitalize()} scores along training, {source}",
            source="supplement, Figures 3 and 4",
            caption="Means over the words of each kind, after so many epochs.",
        )
    ]


def _products(results: Results) -> list[Figure]:
    cell = _planted(results, "planted")
    if cell is None:
        return []
    kinds = ("negative", "positive", "(neutral)")
    pairs = [(one, other) for place, one in enumerate(kinds) for other in kinds[place:]]
    measures = {f"product[{one},{other}]": f"{one} and {other}" for one, other in pairs}
    frame = model_curves({"planted": cell}, measures)
    return _curves(
        frame.with_columns(series=pl.col("data"), data=pl.lit("planted")),
        list(measures.values()),
        name="products",
        title="Dot products of embeddings along training",
        source="supplement, Figures 1, 2 and 6",
        caption="Mean dot product of two different words, by the kinds of the two.",
    )


def _alignment(results: Results) -> list[Figure]:
    cells = {source: cell for source in RATIOS if (cell := _planted(results, source)) is not None}
    if not cells:
        return []
    return _curves(
        model_curves(cells, {"V.W": "V.W"}),
        list(cells),
        name="alignment",
        title="V.W along training, by the ratio of the classes",
        source="supplement, Figure 7",
        caption="Mean over seeds; the ratios are positive : negative, and 1 : 1 for planted.",
    )


def _curves(
    frame: pl.DataFrame, series: Sequence[str], *, name: str, title: str, source: str, caption: str
) -> list[Figure]:
    last = frame.sort("x").group_by("data", "series", maintain_order=True).last()
    said = "; ".join(f"{data}, {kind}: {y:.2f} after {x} epochs" for data, kind, x, y in last.rows())
    return [
        study_figure(
            name=name,
            title=title,
            source=SOURCE(source),
            caption=caption,
            alt=f"Curves over epochs. {said}.",
            chart=curves(frame, "epoch", "", series),
        )
    ]
