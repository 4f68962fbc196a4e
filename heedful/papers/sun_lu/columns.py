"""The paper's models with their scaling factors, and what was measured of them."""

from dataclasses import dataclass

from heedful.papers.reproduction import Cell, Results

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
