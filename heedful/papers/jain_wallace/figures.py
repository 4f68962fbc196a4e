"""Figures 2 to 8 of Jain and Wallace (2019), redrawn from our rows."""

from collections.abc import Mapping

from heedful.papers.jain_wallace.columns import ADVERSARIAL, GRADIENT, PERMUTED
from heedful.papers.reproduction import Claim, Results
from heedful.papers.study_figures import Heading, by_largest_figure, claims_figure, histogram_figure
from heedful.report.figure import Figure

PAPER = "Jain & Wallace 2019, {}".format
EACH_OTHER = ("leave_one_out_agrees_more_with_gradient", "gradient_agrees_more_with_leave_one_out")
BY_ENCODER = ("average_agrees_more_with_gradient", "average_agrees_more_with_leave_one_out")
"""The claims whose parts Figures 3 and 4, and Figure 5, show."""


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 2 to 8."""
    cells = results.select()
    tau, difference = "Kendall's tau", "difference of Kendall's tau"
    divergence, by_weight = "eps-max JSD", "Adversarial attention, by the largest weight"
    change = "median change of the prediction"
    more_than_attention = "How much more gradient and leave-one-out agree with each other than with attention (BiLSTM)"
    return [
        *histogram_figure(
            cells, GRADIENT, tau, (-1.0, 1.0), Heading("figure_2", "Attention and gradient", PAPER("Figure 2"))
        ),
        *claims_figure(
            [claims[name] for name in EACH_OTHER],
            difference,
            Heading("figure_3_4", more_than_attention, PAPER("Figures 3 and 4")),
        ),
        *claims_figure(
            [claims[name] for name in BY_ENCODER],
            difference,
            Heading("figure_5", "Agreement with attention: average - BiLSTM", PAPER("Figure 5")),
        ),
        *by_largest_figure(cells, PERMUTED, change, Heading("figure_6", "Permuted attention", PAPER("Figure 6"))),
        *histogram_figure(
            cells, ADVERSARIAL, divergence, (0.0, 0.7), Heading("figure_7", "Adversarial attention", PAPER("Figure 7"))
        ),
        *by_largest_figure(cells, ADVERSARIAL, divergence, Heading("figure_8", by_weight, PAPER("Figure 8"))),
    ]
