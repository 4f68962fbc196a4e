"""The figures of the report, in their order: each file of figures lists its own."""

from collections.abc import Callable

from heedful.report.figure import Figure
from heedful.report.figures import (
    agreement_figures,
    erasure_figures,
    head_figures,
    perturbation_figures,
    plausibility_figures,
    retrained_figures,
    stability_figures,
    word_figures,
)
from heedful.report.texts import Texts

FIGURES: tuple[Callable[[Texts], Figure | None], ...] = (
    *agreement_figures.FIGURES,
    *perturbation_figures.FIGURES,
    *erasure_figures.FIGURES,
    *retrained_figures.FIGURES,
    *stability_figures.FIGURES,
    *word_figures.FIGURES,
)


OF_VERDICTS: tuple[Callable[[Texts], Figure | None], ...] = (*plausibility_figures.FIGURES, *head_figures.FIGURES)
"""Figures that draw what verdicts say, not rows."""


def draw_figures(texts: Texts) -> list[Figure]:
    """Every figure whose rows, or rankings, are there."""
    drawn = (figure(texts) for figure in (*FIGURES, *OF_VERDICTS))
    return [figure for figure in drawn if figure is not None]
