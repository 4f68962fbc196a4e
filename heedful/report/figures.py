"""The figures of the report, in their order: each file of figures lists its own."""

from collections.abc import Callable

from heedful.report import agreement, erasure, heads, perturbation, plausibility, retrained, stability, words
from heedful.report.figure import Figure
from heedful.report.texts import Texts

FIGURES: tuple[Callable[[Texts], Figure | None], ...] = (
    *agreement.FIGURES,
    *perturbation.FIGURES,
    *erasure.FIGURES,
    *retrained.FIGURES,
    *stability.FIGURES,
    *words.FIGURES,
)


OF_VERDICTS: tuple[Callable[[Texts], Figure | None], ...] = (*plausibility.FIGURES, *heads.FIGURES)
"""Figures that draw what verdicts say, not rows."""


def draw_figures(texts: Texts) -> list[Figure]:
    """Every figure whose rows, or rankings, are there."""
    drawn = (figure(texts) for figure in (*FIGURES, *OF_VERDICTS))
    return [figure for figure in drawn if figure is not None]
