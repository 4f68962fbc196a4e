"""The figures of the report, in their order: each file of figures lists its own."""

from collections.abc import Callable

from heedful.report.figure import Figure
from heedful.report.figures import (
    agreement_figures,
    erasure_figures,
    other_figures,
    perturbation_figures,
    stability_figures,
)
from heedful.report.texts import Texts

FIGURES: tuple[Callable[[Texts], Figure | None], ...] = (
    *agreement_figures.FIGURES,
    *perturbation_figures.FIGURES,
    *erasure_figures.FIGURES,
    *other_figures.ADVERSARIES,
    *stability_figures.FIGURES,
    other_figures.token_weights,
)


def draw_figures(texts: Texts) -> list[Figure]:
    """Every figure whose rows, or rankings, are there."""
    drawn = (figure(texts) for figure in (*FIGURES, *other_figures.OF_VERDICTS))
    return [figure for figure in drawn if figure is not None]
