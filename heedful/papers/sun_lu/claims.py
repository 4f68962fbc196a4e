"""What Sun and Lu (2020) say about their results, tested on recorded scores and audited weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from heedful.battery.question import Values
from heedful.papers.claim_rule import Part, judge_claims, paired, part_of
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.sun_lu.token_history import indicative, neutral, shares, split_shares, sunken_shares

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


def claims(results: Results) -> list[Claim]:
    """What the paper says about its results, each tested by itself."""
    moderate, planted = DP_MODERATE.recorded(results), DP_PLANTED.recorded(results)
    additive = {f"{data}, ad": cell for data, cell in AD_MODERATE.recorded(results).items()}
    large, kept_small = DP_LARGE.recorded(results), DP_KEPT_SMALL.recorded(results)
    of_two = {data: cell for data, cell in large.items() if cell.classes == 2}
    weighed = DP_MODERATE.measured(results, ABOVE)
    parts = {
        "small_scaling_hurts": _gains(results, DP_MODERATE, DP_TINY, reference=DP_MODERATE),
        "indicative_words_score_higher": _by_name(moderate | additive, _auroc),
        "indicative_words_score_higher_planted": _by_name(
            {data: planted[data] for data in CLAIMED_ON if data in planted}, _auroc
        ),
        "indicative_words_weigh_more": _by_name(weighed, lambda cell: cell.columns[ABOVE]),
        "favoured_label_scores_higher": _by_name(of_two, split_shares),
        "other_label_below_neutral": _by_name(of_two, sunken_shares),
        "large_scaling_keeps_accuracy": _gains(results, DP_LARGE, DP_MODERATE, reference=DP_MODERATE),
        "small_alignment_restores_scores": {
            data: part_of(paired(_auroc(cell), _auroc(large[data])), cell, large[data])
            for data, cell in kept_small.items()
            if data in large
        },
        "small_alignment_keeps_accuracy": _gains(results, DP_KEPT_SMALL, DP_LARGE, reference=DP_LARGE),
    }
    return judge_claims(NAME, parts)


def _by_name(cells: Mapping[str, Cell], measure: Callable[[Cell], Values]) -> dict[str, Part]:
    return {name: part_of(measure(cell), cell) for name, cell in cells.items()}


def _gains(results: Results, model: ScaledModel, other: ScaledModel, *, reference: ScaledModel) -> dict[str, Part]:
    """Accuracy of the model - accuracy of the other, text by text, wherever both were measured.

    Args:
        reference: the one that must have learnt its task; where the other has not, that is the effect.
    """
    own, others, references = (each.measured(results, CORRECT) for each in (model, other, reference))
    return {
        data: part_of(paired(cell.columns[CORRECT], others[data].columns[CORRECT]), references[data])
        for data, cell in own.items()
        if data in others
    }


def _auroc(cell: Cell) -> Values:
    return shares(cell, indicative, neutral)
