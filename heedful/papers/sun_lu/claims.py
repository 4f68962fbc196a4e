"""What Sun and Lu (2020) say about their results, tested on recorded scores and audited weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

import polars as pl
import torch
from scipy.stats import kendalltau

from heedful.battery.question import Values
from heedful.measures import auroc_values
from heedful.papers.charts import box_plots, curves
from heedful.papers.reproduction import Cell, Results
from heedful.papers.study_figures import BOXES, Heading, measures_figure, study_figure
from heedful.papers.sun_lu.token_history import (
    Chosen,
    indicative,
    last_alignment,
    last_scores,
    model_curves,
    neutral,
    of_label,
    score_frame,
    shares,
    split_shares,
    sunken_shares,
    token_values,
    trajectories,
)
from heedful.report.figure import Figure

NAME = "sun_lu"
DP, DP_L, DP_A, AD = "dp", "dp-l", "dp-a", "ad"
"""The paper's names: dot attention over embeddings, over an LSTM, over an affine layer; additive attention."""
TINY, MODERATE, LARGE, HUGE = 0.001, 10.0, 100.0, 10_000.0
LAMBDAS = (TINY, 1.0, MODERATE, 20.0, 50.0, LARGE, HUGE)
SETS = ("sst2", "imdb", "newsgroups_sports", "newsgroups_topics3")

KEPT_SMALL, PLANTED = "V.W kept small", "planted"
"""Roles: trained with |V.W| in the loss; trained on synthetic texts by plain gradient descent."""
RATIOS = ("planted", "planted-1:2", "planted-1:5", "planted-2:1", "planted-2:5")
"""Synthetic sets that differ in the ratio of the classes."""

CORRECT, ABOVE = "prediction.correct", "token_scores.polar_above_neutral"


@dataclass(frozen=True)
class ScaledModel:
    """A model of the paper with a scaling factor lambda.

    >>> ScaledModel(DP, 10.0).label, ScaledModel(DP, 100.0, KEPT_SMALL).label
    ('dp, lambda 10', 'dp, V.W kept small, lambda 100')
    """

    encoder: str
    scaling: float
    role: str = ""

    @property
    def method(self) -> str:
        """What the scaling factor is called."""
        return f"lambda {self.scaling:g}"

    @property
    def label(self) -> str:
        """What tables call the model."""
        parts = (self.encoder, KEPT_SMALL, self.method) if self.role == KEPT_SMALL else (self.encoder, self.method)
        return ", ".join(parts)

    def measured(self, results: Results, *columns: str) -> dict[str, Cell]:
        """The cells of the model in which these columns were measured, by data set."""
        cells = results.select(*columns, encoder=self.encoder, method=self.method, role=self.role)
        return {cell.data: cell for cell in cells}

    def recorded(self, results: Results) -> dict[str, Cell]:
        """The cells of the model whose token scores were recorded, by data set."""
        return {data: cell for data, cell in self.measured(results).items() if cell.tokens}


DP_TINY, DP_MODERATE, DP_LARGE = (ScaledModel(DP, scaling) for scaling in (TINY, MODERATE, LARGE))
AD_MODERATE = ScaledModel(AD, MODERATE)
DP_KEPT_SMALL = ScaledModel(DP, LARGE, KEPT_SMALL)
DP_PLANTED = ScaledModel(DP, MODERATE, PLANTED)


CLAIMED_ON = ("planted", "planted-noisy")
"""The synthetic sets that the paper describes."""


NEGATIVE, POSITIVE = of_label(0), of_label(1)


def _above(chosen: Chosen) -> Callable[[Cell], Values]:
    return lambda cell: shares(cell, chosen, neutral)


def _log10_size(measure: str) -> Callable[[Cell], Values]:
    """The mean magnitude of a score of label-indicative words, in powers of ten, for each seed."""
    return lambda cell: token_values(cell, measure, indicative).abs().nanmean(1, keepdim=True).log10()


def _truth(values: Values, condition: Callable[[Values], Values]) -> Values:
    return condition(values).double().masked_fill(values.isnan(), nan)


def _has_polarity(chosen: Chosen, sign: int) -> Callable[[Cell], Values]:
    return lambda cell: _truth(sign * token_values(cell, "polarity", chosen), lambda values: values > 0)


def _neutral_below_median(cell: Cell) -> Values:
    """1 for each neutral word whose polarity is smaller than the median of label-indicative words, else 0."""
    median = token_values(cell, "polarity", indicative).abs().nanmedian(1, keepdim=True).values
    return _truth(token_values(cell, "polarity", neutral).abs(), lambda values: values < median)


def _term(letter: str, *, has_sign: bool) -> Callable[[Cell], Values]:
    """1 for each label-indicative word whose term of the flow is positive (has the sign of its label), else 0."""

    def values(cell: Cell) -> Values:
        positive, negative = (token_values(cell, f"flow_{letter}", chosen) for chosen in (POSITIVE, NEGATIVE))
        negative = -negative if has_sign else negative
        return _truth(positive.where(~positive.isnan(), negative), lambda each: each > 0)

    return values


def mean_weight_above_neutral(cell: Cell) -> Values:
    """AUROC of the mean weights of words over the texts that the first seed's audit shows."""
    if cell.shown.is_empty():
        raise KeyError("attention")
    classes = last_scores(cell.tokens[0]).select("token", "class")
    weights = cell.shown.filter(pl.col("measure") == "attention").group_by("word").agg(pl.col("value").mean())
    known = weights.join(classes, left_on="word", right_on="token")
    of = torch.tensor(known["class"].to_numpy())
    return auroc_values(torch.tensor(known["value"].to_numpy()), indicative(of), neutral(of)).unsqueeze(0)


def alignment_by_class_ratio(results: Results, data: str) -> Values | None:
    """Kendall's tau of V.W, negated, with the share of negative texts of the synthetic sets, for each seed."""
    cells = DP_PLANTED.recorded(results)
    if not all(name in cells for name in SHARE_OF_NEGATIVES):
        return None
    seeds = min(len(cells[name].tokens) for name in SHARE_OF_NEGATIVES)
    ends = [[last_alignment(cells[name].tokens[seed]) for name in SHARE_OF_NEGATIVES] for seed in range(seeds)]
    taus = [-kendalltau(list(SHARE_OF_NEGATIVES.values()), values).statistic for values in ends]
    return torch.tensor(taus, dtype=torch.float64).unsqueeze(1)


SHARE_OF_NEGATIVES = {
    "planted": 1 / 2,
    "planted-1:2": 2 / 3,
    "planted-1:5": 5 / 6,
    "planted-2:1": 1 / 3,
    "planted-2:5": 5 / 7,
}
COLUMNS: Mapping[str, Callable[[Cell], Values]] = {
    "indicative_above_neutral": _above(indicative),
    "positive_above_neutral": _above(POSITIVE),
    "negative_above_neutral": _above(NEGATIVE),
    "favored_above_other": split_shares,
    "neutral_above_disfavored": sunken_shares,
    "positive_words_have_positive_polarity": _has_polarity(POSITIVE, 1),
    "negative_words_have_negative_polarity": _has_polarity(NEGATIVE, -1),
    "neutral_polarity_below_median": _neutral_below_median,
    "log10_size_of_attention_scores": _log10_size("attention"),
    "log10_size_of_polarity_scores": _log10_size("polarity"),
    "mean_weight_above_neutral": mean_weight_above_neutral,
    "term_B_as_derived": _term("B", has_sign=True),
    "term_C_as_derived": _term("C", has_sign=True),
    "term_E_as_derived": _term("E", has_sign=False),
}
MEASURES = {"alignment_by_class_ratio": alignment_by_class_ratio}


PAPER = "Sun & Lu 2020, {}".format
TRAJECTORIES = {"planted": "planted", "planted-noisy": "planted_noisy"}
"""The synthetic sets whose trajectories are drawn, and what their figures' names begin with."""


def figures(results: Results) -> list[Figure]:
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
