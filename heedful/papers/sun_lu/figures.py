"""The figures of the paper and of its supplement, from recorded scores and audited weights."""

from collections.abc import Mapping, Sequence

import polars as pl

from heedful.papers.charts import box_plots, curves, dots
from heedful.papers.reproduction import Cell, Results
from heedful.papers.study_figures import BOXES, Heading, study_figure
from heedful.papers.sun_lu import claims as paper
from heedful.papers.sun_lu.token_history import mean_weights, model_curves, named_classes, score_frame, trajectories
from heedful.report.figure import Figure

SCORES = {"polarity": "Polarity scores", "attention": "Attention scores"}
POINTS = "A point for a word, by how frequent it is (0: the most frequent): at most 60 of a kind, taken evenly."

Drawn = Sequence[tuple[str, paper.ScaledModel]]
"""Data sets and models, a panel each."""
Names = Mapping[str, str]


def figures(results: Results) -> list[Figure]:
    """Figures 2 to 5, those of the supplement, and two that go beyond the paper, in the paper's order."""
    return [*_real(results), *_weights(results), *_planted(results), *_more_models(results), *_beyond(results)]


def _heading(name: str, title: str, item: str) -> Heading:
    """Of a figure of the paper; of one of ours the item is empty."""
    return Heading(name, title, item and f"Sun & Lu 2020, {item}")


def _real(results: Results) -> list[Figure]:
    moderate = [(data, paper.DP_MODERATE) for data in paper.SETS[:3]]
    large, additive = [("sst2", paper.DP_LARGE)], [("sst2", paper.AD_MODERATE)]
    three = [(paper.SETS[3], paper.DP_MODERATE)]
    return [
        *_points(results, moderate, "polarity", "polarity", "moderate scaling", "Figure 2"),
        *_points(results, moderate, "attention", "attention", "moderate scaling", "Figure 2"),
        *_points(results, large, "polarity", "polarity_large", "large scaling", "Figure 3a"),
        *_points(results, large, "attention", "attention_large", "large scaling", "Figure 3b"),
        *_points(results, three, "attention", "attention_labels", "three labels", "Figure 3c"),
        *_points(results, additive, "polarity", "additive_polarity", "additive attention", "Figure 4"),
        *_points(results, additive, "attention", "additive", "additive attention", "Figure 4"),
    ]


def _more_models(results: Results) -> list[Figure]:
    lstm = ("sst2", paper.ScaledModel(paper.DP_L, paper.MODERATE))
    affine = {scaling: paper.ScaledModel(paper.DP_A, scaling) for scaling in (1.0, 10.0, 20.0, 50.0)}
    others = [("sst2", affine[20.0]), lstm, ("imdb", affine[10.0]), ("imdb", paper.AD_MODERATE)]
    drawn = {
        "Figures 14 to 20": ("others", "further models", others),
        "Figures 21 to 24": ("sports", "20 News I by lambda", [(paper.SETS[2], model) for model in affine.values()]),
        "Figures 25 to 28": ("three", "20 News II", [(paper.SETS[3], affine[10.0])]),
    }
    both = {"attention_local": "local", "attention": "global"}
    return [
        *_points(results, [lstm], "attention", "lstm", "in texts and alone", "supplement, Figure 13", both),
        *(
            figure
            for item, (name, what, panels) in drawn.items()
            for score in SCORES
            for figure in _points(results, panels, score, f"{score}_{name}", what, f"supplement, {item}")
        ),
    ]


def _points(
    results: Results, drawn: Drawn, score: str, name: str, what: str, item: str, measures: Names | None = None
) -> list[Figure]:
    """Scores of words by their frequency; empty where none were recorded."""
    cells = [cell for data, model in drawn if (cell := model.recorded(results).get(data))]
    frame = score_frame(cells, measures or {score: ""})
    if frame.is_empty():
        return []
    kinds = [*sorted({*frame["series"]} - {"neutral"}), "neutral"]
    medians = frame.group_by("data", "series", maintain_order=True).agg(pl.col("y").median().round(2))
    described = "; ".join(f"{panel}, {kind}: {median}" for panel, kind, median in medians.rows())
    return [
        study_figure(
            _heading(name, f"{SCORES[score]}, {what}", item),
            dots(frame, "token index", f"{score} score", kinds),
            caption=f"The {score} score of words, by the label that the word indicates. {POINTS}",
            alt=f"Points: {score} scores of words. Medians: {described}.",
        )
    ]


def _weights(results: Results) -> list[Figure]:
    cell = paper.DP_MODERATE.recorded(results).get("sst2")
    if cell is None or cell.shown.is_empty():
        return []
    weights = named_classes(mean_weights(cell.shown, cell.tokens[0]), cell)
    frame = weights.with_columns(data=pl.lit(cell.data), model=pl.lit(cell.model))
    medians = frame.group_by("class", maintain_order=True).agg(pl.col("value").median().round(3)).rows()
    axis = "mean attention weight of a word"
    return [
        study_figure(
            _heading("weights", "Attention weights by kind of word", "Figure 5"),
            box_plots(frame, ("class", ["label 1", "label 0", "neutral"], "label that the word indicates"), axis),
            caption=f"The mean weight of every word over the test texts in which it occurs. {BOXES}",
            alt=f"Box plots of the {axis}. Medians: {'; '.join(f'{kind}: {median}' for kind, median in medians)}.",
        )
    ]


def _planted(results: Results) -> list[Figure]:
    planted = paper.DP_PLANTED.recorded(results)
    regularized, affine, additive = (
        model.recorded(results).get("planted")
        for model in (paper.DP_PLANTED_KEPT_SMALL, paper.DP_A_PLANTED, paper.AD_PLANTED)
    )
    both = [(data, paper.DP_PLANTED) for data in paper.CLAIMED_ON]
    pure, noisy = (planted.get(data) for data in paper.CLAIMED_ON)
    three = paper.DP_PLANTED_THREE.recorded(results).get("planted-three")
    compared = {"without regularization": pure, "V.W kept small": regularized}
    ratios = {data: cell for data in paper.RATIOS if (cell := planted.get(data))}
    products = [model_curves(ratios, {"V.W": "planted sets"})] if ratios else []
    return [
        *_products("products", "Data I", pure, "Figure 1 (top)"),
        *_points(results, both, "polarity", "planted_polarity", "Data I and II", "supplement, Figure 3"),
        *_points(results, both, "attention", "planted_attention", "Data I and II", "supplement, Figure 4"),
        *_means("planted_regularized", compared, "attention", "Figure 5"),
        *_products("planted_noisy_products", "Data II", noisy, "Figure 6"),
        *_curves(products, "V.W", "alignment", "V.W, by the ratio of the classes", "supplement, Figure 7"),
        *_products("affine_products", "Data I, DP-A", affine, "Figure 8"),
        *(figure for score in SCORES for figure in _means(f"affine_{score}", {"DP-A": affine}, score, "Figure 9")),
        *(figure for score in SCORES for figure in _means(f"ad_{score}", {"AD": additive}, score, "Figure 10")),
        *_products("planted_three_products", "three labels", three, "Figure 11"),
        *_means("planted_three_attention", {"three labels": three}, "attention", "Figure 12"),
    ]


def _means(name: str, cells: Mapping[str, Cell | None], score: str, item: str) -> list[Figure]:
    """Mean scores of each kind of word during training."""
    frames = [
        trajectories(cell, {score: score}).with_columns(data=pl.lit(title)) for title, cell in cells.items() if cell
    ]
    title = f"{SCORES[score]} during training, {', '.join(cells)}"
    return _curves(frames, f"mean {score} score", name, title, item and f"supplement, {item}")


def _products(name: str, data: str, cell: Cell | None, item: str) -> list[Figure]:
    """Mean products of two words during training, by their kinds: of embeddings, and of affine states."""
    frames = []
    for product, states in {"product[": "embeddings", "product'[": "affine states"}.items():
        names = (
            [m for m in cell.tokens[0]["measure"].unique(maintain_order=True) if m.startswith(product)] if cell else []
        )
        if cell and names:
            frame = model_curves({data: cell}, {m: m[len(product) : -1].replace(",", " and ") for m in names})
            frames.append(frame.with_columns(series=pl.col("data"), data=pl.lit(f"{data}, {states}")))
    return _curves(frames, "mean dot product", name, f"Dot products during training, {data}", f"supplement, {item}")


def _beyond(results: Results) -> list[Figure]:
    """V.W kept small on real texts, training without dropout, and the terms of the flow."""
    pure = paper.DP_PLANTED.recorded(results).get("planted")
    plain = {**paper.DP_PLANTED_PLAIN.recorded(results)}
    kept = [(data, model) for data in paper.SETS for model in (paper.DP_LARGE, paper.DP_KEPT_SMALL)]
    terms = [trajectories(pure, {f"flow_{letter}": f"term {letter}" for letter in "ABCDEF"})] if pure else []
    return [
        *_points(results, kept, "attention", "kept_small", "large scaling, V.W kept small", ""),
        *(figure for score in SCORES for figure in _means(f"plain_{score}", plain, score, "")),
        *_curves(terms, "mean rate of change", "terms", "Terms of the gradient flow, Data I", ""),
    ]


def _curves(frames: Sequence[pl.DataFrame], axis: str, name: str, title: str, item: str) -> list[Figure]:
    """Curves over epochs, a panel for each data; empty where nothing was recorded."""
    if not frames:
        return []
    frame = pl.concat([each.select("data", "series", "x", "y") for each in frames])
    last = frame.sort("x").group_by("data", "series", maintain_order=True).last()
    described = "; ".join(f"{data}, {kind}: {y:.2f} after {x} epochs" for data, kind, x, y in last.rows())
    chart = curves(frame, "epoch", axis, list(frame["series"].unique(maintain_order=True)))
    caption, alt = f"{axis.capitalize()} by epoch; means over seeds.", f"Curves over epochs. {described}."
    return [study_figure(_heading(name, title, item), chart, caption=caption, alt=alt)]
