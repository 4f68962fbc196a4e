"""The figures of the paper and of its supplement, from recorded scores and audited weights."""

from collections.abc import Mapping, Sequence

import polars as pl

from heedful.papers.charts import box_plots, curves, dots
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.study_figures import BOXES, Heading, study_figure
from heedful.papers.sun_lu.claims import (
    AD,
    AD_MODERATE,
    CLAIMED_ON,
    DP,
    DP_A,
    DP_KEPT_SMALL,
    DP_L,
    DP_LARGE,
    DP_MODERATE,
    DP_PLANTED,
    DP_PLANTED_KEPT_SMALL,
    MODERATE,
    PLANTED,
    PLANTED_KEPT_SMALL,
    PLANTED_PLAIN,
    PLANTED_THREE,
    RATIOS,
    SETS,
    ScaledModel,
)
from heedful.papers.sun_lu.token_history import (
    mean_weights,
    model_curves,
    named_classes,
    score_frame,
    trajectories,
)
from heedful.report.figure import Figure

PAPER = "Sun & Lu 2020, {}".format
SUPPLEMENT = "Sun & Lu 2020, supplement, {}".format
SCORES = {"polarity": "Polarity scores", "attention": "Attention scores"}
POINTS = "A point for a word, by how frequent it is (0: the most frequent): at most 60 of a kind, taken evenly."
NEGATIVE, POSITIVE, NEUTRALS = "negative", "positive", "(neutral)"
LETTERS = "ABCDEF"

Drawn = Sequence[tuple[str, ScaledModel]]
"""Data sets and models, a panel each."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 2 to 5, those of the supplement, and two that go beyond the paper, in the paper's order."""
    return [*_real(results), *_weights(results), *_planted(results), *_more_models(results), *_beyond(results)]


def _real(results: Results) -> list[Figure]:
    moderate = [(data, DP_MODERATE) for data in SETS[:3]]
    large, additive, three = [("sst2", DP_LARGE)], [("sst2", AD_MODERATE)], [(SETS[3], DP_MODERATE)]
    return [
        *_points(results, moderate, "polarity", "polarity", "moderate scaling", PAPER("Figure 2")),
        *_points(results, moderate, "attention", "attention", "moderate scaling", PAPER("Figure 2")),
        *_points(results, large, "polarity", "polarity_large", "large scaling", PAPER("Figure 3a")),
        *_points(results, large, "attention", "attention_large", "large scaling", PAPER("Figure 3b")),
        *_points(results, three, "attention", "attention_three", "three labels", PAPER("Figure 3c")),
        *_points(results, additive, "polarity", "additive_polarity", "additive attention", PAPER("Figure 4")),
        *_points(results, additive, "attention", "additive", "additive attention", PAPER("Figure 4")),
    ]


def _more_models(results: Results) -> list[Figure]:
    lstm = [("sst2", ScaledModel(DP_L, MODERATE))]
    affine = {scaling: ScaledModel(DP_A, scaling) for scaling in (1.0, 10.0, 20.0, 50.0)}
    others = [("sst2", affine[20.0]), *lstm, ("imdb", affine[10.0]), ("imdb", AD_MODERATE)]
    sports, three = [(SETS[2], model) for model in affine.values()], [(SETS[3], affine[10.0])]
    both = {"attention_local": "local", "attention": "global"}
    drawn = {"14 to 20": ("others", others), "21 to 24": ("sports", sports), "25 to 28": ("three", three)}
    return [
        *_points(results, lstm, "attention", "lstm", "in texts and of words alone", SUPPLEMENT("Figure 13"), both),
        *(
            figure
            for numbers, (name, panels) in drawn.items()
            for score in SCORES
            for figure in _points(results, panels, score, f"{score}_{name}", "more", SUPPLEMENT(f"Figures {numbers}"))
        ),
    ]


def _points(
    results: Results,
    drawn: Drawn,
    score: str,
    name: str,
    what: str,
    source: str,
    measures: Mapping[str, str] | None = None,
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
            Heading(name, f"{SCORES[score]}, {what}", source),
            dots(frame, "token index", f"{score} score", kinds),
            caption=f"The {score} score of words, by the label that the word indicates. {POINTS}",
            alt=f"Points: {score} scores of words. Medians: {described}.",
        )
    ]


def _weights(results: Results) -> list[Figure]:
    cell = DP_MODERATE.recorded(results).get("sst2")
    if cell is None or cell.shown.is_empty():
        return []
    weights = mean_weights(cell.shown, cell.tokens[0]).filter(pl.col("value").is_not_null())
    titles = (pl.lit(cell.data).alias("data"), pl.lit(cell.model).alias("model"))
    frame = named_classes(weights, cell).select(*titles, "class", "value")
    medians = frame.group_by("class", maintain_order=True).agg(pl.col("value").median().round(3)).rows()
    axis = "mean attention weight of a word"
    return [
        study_figure(
            Heading("weights", "Attention weights by kind of word", PAPER("Figure 5")),
            box_plots(frame, ("class", ["label 1", "label 0", "neutral"], "label that the word indicates"), axis),
            caption=f"The mean weight of every word over the test texts in which it occurs. {BOXES}",
            alt=f"Box plots of the {axis}. Medians: {'; '.join(f'{kind}: {median}' for kind, median in medians)}.",
        )
    ]


def _planted(results: Results) -> list[Figure]:
    planted = DP_PLANTED.recorded(results)
    one, two = planted.get("planted"), planted.get("planted-noisy")
    kept = DP_PLANTED_KEPT_SMALL.recorded(results).get("planted")
    affine = ScaledModel(DP_A, MODERATE, PLANTED_KEPT_SMALL).recorded(results).get("planted")
    additive = ScaledModel(AD, MODERATE, PLANTED).recorded(results).get("planted")
    three = ScaledModel(DP, MODERATE, PLANTED_THREE).recorded(results).get("planted-three")
    both = [(data, DP_PLANTED) for data in CLAIMED_ON]
    regularized = {"without regularization": one, "V.W kept small": kept}
    ratios = {data: cell for data in RATIOS if (cell := planted.get(data))}
    states = {"product": "embeddings", "product'": "affine states"}
    return [
        *_products("products", {"Data I": one}, "Figure 1 (top)"),
        *_points(results, both, "polarity", "planted_polarity", "Data I and II", SUPPLEMENT("Figure 3")),
        *_points(results, both, "attention", "planted_attention", "Data I and II", SUPPLEMENT("Figure 4")),
        *_means("planted_regularized", regularized, "attention", "Figure 5"),
        *_products("planted_noisy_products", {"Data II": two}, "Figure 6"),
        *_alignment(ratios),
        *_products("affine_products", {"Data I": affine}, "Figure 8", states),
        *(figure for score in SCORES for figure in _means(f"affine_{score}", {"DP-A": affine}, score, "Figure 9")),
        *(figure for score in SCORES for figure in _means(f"ad_{score}", {"AD": additive}, score, "Figure 10")),
        *_products("planted_three_products", {"three labels": three}, "Figure 11"),
        *_means("planted_three_attention", {"three labels": three}, "attention", "Figure 12"),
    ]


def _means(name: str, cells: Mapping[str, Cell | None], score: str, number: str) -> list[Figure]:
    """Mean scores of each kind of word during training."""
    frames = [
        trajectories(cell, {score: score}).with_columns(data=pl.lit(title)) for title, cell in cells.items() if cell
    ]
    title = f"{SCORES[score]} during training, {', '.join(cells)}"
    return _curves(frames, f"mean {score} score", Heading(name, title, number and SUPPLEMENT(number)))


def _products(
    name: str, cells: Mapping[str, Cell | None], number: str, of: Mapping[str, str] | None = None
) -> list[Figure]:
    """Mean products of two words during training, by their kinds."""
    frames = []
    for title, cell in cells.items():
        for prefix, states in (of or {"product": "embeddings"}).items():
            if cell:
                own = [m for m in cell.tokens[0]["measure"].unique(maintain_order=True) if m.startswith(f"{prefix}[")]
                frame = model_curves({title: cell}, {m: m[len(prefix) + 1 : -1].replace(",", " and ") for m in own})
                frames.append(frame.with_columns(series=pl.col("data"), data=pl.lit(f"{title}, {states}")))
    heading = Heading(name, f"Dot products during training, {', '.join(cells)}", SUPPLEMENT(number))
    return _curves(frames, "mean dot product", heading)


def _alignment(cells: Mapping[str, Cell]) -> list[Figure]:
    frames = [model_curves(cells, {"V.W": "planted sets"})] if cells else []
    return _curves(frames, "V.W", Heading("alignment", "V.W, by the ratio of the classes", SUPPLEMENT("Figure 7")))


def _beyond(results: Results) -> list[Figure]:
    """V.W kept small on real texts, training without dropout, and the terms of the flow."""
    one = DP_PLANTED.recorded(results).get("planted")
    plain = ScaledModel(DP, MODERATE, PLANTED_PLAIN).recorded(results)
    kept = [(data, model) for data in SETS for model in (DP_LARGE, DP_KEPT_SMALL)]
    terms = [trajectories(one, {f"flow_{letter}": f"term {letter}" for letter in LETTERS})] if one else []
    return [
        *_points(results, kept, "attention", "kept_small", "large scaling, V.W kept small", ""),
        *(figure for score in SCORES for figure in _means(f"plain_{score}", {**plain}, score, "")),
        *_curves(terms, "mean rate of change", Heading("terms", "Terms of the gradient flow, Data I", "")),
    ]


def _curves(frames: Sequence[pl.DataFrame], axis: str, heading: Heading) -> list[Figure]:
    """Curves over epochs, a panel for each data; empty where nothing was recorded."""
    if not frames:
        return []
    frame = pl.concat([each.select("data", "series", "x", "y") for each in frames])
    last = frame.sort("x").group_by("data", "series", maintain_order=True).last()
    described = "; ".join(f"{data}, {kind}: {y:.2f} after {x} epochs" for data, kind, x, y in last.rows())
    chart = curves(frame, "epoch", axis, list(frame["series"].unique(maintain_order=True)))
    alt = f"Curves over epochs. {described}."
    return [study_figure(heading, chart, caption=f"{axis.capitalize()} by epoch; means over seeds.", alt=alt)]
