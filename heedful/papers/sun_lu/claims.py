"""What Sun and Lu (2020) say about their results, tested on recorded scores and audited weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan

import torch

from heedful.battery.question import Values
from heedful.measures import auroc_values, kendall_tau
from heedful.papers.reproduction import Cell, Results
from heedful.papers.sun_lu.token_history import (
    Chosen,
    indicative,
    last_alignment,
    mean_weights,
    neutral,
    of_label,
    shares,
    split_shares,
    sunken_shares,
    token_values,
)

NAME = "sun_lu"
DP, DP_L, DP_A, AD = "dp", "dp-l", "dp-a", "ad"
"""The paper's names: dot attention over embeddings, over an LSTM, over an affine layer; additive attention."""
TINY, MODERATE, LARGE, HUGE = 0.001, 10.0, 100.0, 10_000.0
LAMBDAS = (TINY, 1.0, MODERATE, 20.0, 50.0, LARGE, HUGE)
SETS = ("sst2", "imdb", "newsgroups_sports", "newsgroups_topics3")

KEPT_SMALL, PLANTED = "V.W kept small", "planted"
PLANTED_PLAIN, PLANTED_KEPT_SMALL, PLANTED_THREE = "without dropout", "V.W kept small, planted", "three labels"
"""Roles: trained with |V.W| in the loss; trained on synthetic texts by plain gradient descent; so, but without dropout;
so, with |V.W| in the loss; so, with three labels. Other roles are amounts of L2."""
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
        role = self.role.removesuffix(PLANTED).removesuffix(", ")
        return ", ".join(part for part in (self.encoder, role, self.method) if part)

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
DP_PLANTED, DP_PLANTED_PLAIN, DP_PLANTED_KEPT_SMALL, DP_PLANTED_THREE = (
    ScaledModel(DP, MODERATE, role) for role in (PLANTED, PLANTED_PLAIN, PLANTED_KEPT_SMALL, PLANTED_THREE)
)
DP_A_PLANTED, AD_PLANTED = ScaledModel(DP_A, MODERATE, PLANTED_KEPT_SMALL), ScaledModel(AD, MODERATE, PLANTED)


CLAIMED_ON = ("planted", "planted-noisy")
"""The synthetic sets that the paper describes."""
PLANTED_MODELS = (
    *((data, DP_PLANTED) for data in (*CLAIMED_ON, *RATIOS[1:])),
    *((data, DP_PLANTED_PLAIN) for data in CLAIMED_ON),
    *(("planted", model) for model in (DP_PLANTED_KEPT_SMALL, DP_A_PLANTED, AD_PLANTED)),
    ("planted-three", DP_PLANTED_THREE),
)
"""Each synthetic set and the models that are trained on it: those of the supplement's figures."""


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
    """AUROC of the mean weights of words over the texts that each seed's audit shows."""
    if not cell.words or any(words.is_empty() for words in cell.words) or not cell.tokens:
        raise KeyError("attention")
    rows = []
    for words, table in zip(cell.words, cell.tokens, strict=True):
        known = mean_weights(words, table)
        of = torch.tensor(known["class"].to_numpy())
        rows.append(auroc_values(torch.tensor(known["value"].to_numpy()), indicative(of), neutral(of)))
    return torch.stack(rows)


def alignment_by_class_ratio(results: Results, data: str) -> Values | None:
    """Kendall's tau of V.W, negated, with the share of negative texts of the synthetic sets, for each seed."""
    cells = DP_PLANTED.recorded(results)
    if not all(name in cells for name in SHARE_OF_NEGATIVES):
        return None
    seeds = min(len(cells[name].tokens) for name in SHARE_OF_NEGATIVES)
    ends = [[last_alignment(cells[name].tokens[seed]) for name in SHARE_OF_NEGATIVES] for seed in range(seeds)]
    shares_of_negatives = torch.tensor([list(SHARE_OF_NEGATIVES.values())] * seeds)
    return -kendall_tau(shares_of_negatives, torch.tensor(ends))[0].unsqueeze(1)


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
