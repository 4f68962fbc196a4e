"""The figures for Wiegreffe and Pinter (2019): the spread over seeds, and what the weights add."""

from collections.abc import Mapping

from heedful.papers.reproduction import Claim, Results
from heedful.papers.study_figures import Heading, by_largest_figure, claims_figure, histogram_figure
from heedful.papers.wiegreffe_pinter.columns import LARGEST_TO_SEED, OTHER_SEEDS
from heedful.report.figure import Figure

PAPER = "Wiegreffe & Pinter 2019, {}".format
GAINS = ("imposed_attention_beats_uniform", "imposed_attention_beats_own")
"""The claims about what the weights add."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """The spread over seeds (their Figure 3), and what the weights add."""
    cells, axis = results.select(role=OTHER_SEEDS), "largest JSD to another seed"
    by_weight = Heading("seeds", "Seeds, by the largest weight", PAPER("Figure 3"))
    histogram = Heading("seeds_histogram", "Seeds", PAPER("Figure 3"))
    gains = Heading("gains", "What the weights add to accuracy", PAPER("section 3.3"))
    return [
        *by_largest_figure(cells, LARGEST_TO_SEED, axis, by_weight),
        *histogram_figure(cells, LARGEST_TO_SEED, axis, (0.0, 0.7), histogram),
        *claims_figure([claims[name] for name in GAINS], "accuracy gained", gains),
    ]
