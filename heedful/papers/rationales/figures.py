"""Figures: what guidance changes, and every ranking by how faithful and how plausible it is."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from heedful.papers.rationales.columns import ATTENDING, FRACTION, PRECISION, model_name
from heedful.papers.reproduction import Claim, Results
from heedful.papers.study_figures import Heading, claims_figure
from heedful.report.figure import Figure
from heedful.report.figures.plausibility_figures import faithful_and_plausible
from heedful.report.texts import Texts
from heedful.verdict.ranking_comparison import compare_rankings

GUIDANCE = ("guided_attention_is_more_plausible", "more_plausible_is_not_more_faithful")
TOP_WORDS = ("attention_beats_random", "attention_does_not_beat_the_gradient")
OURS = "in none of the papers"


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Faithful and plausible, a panel a model; and what the claims measure."""
    guidance = Heading("guidance", "What guidance changes", OURS)
    top_words = Heading("top_words", "Top words by attention, by gradient and at random", OURS)
    return [
        *_rankings(results),
        *claims_figure([claims[name] for name in GUIDANCE if name in claims], "difference", guidance),
        *claims_figure([claims[name] for name in TOP_WORDS if name in claims], "difference", top_words),
    ]


def _rankings(results: Results) -> list[Figure]:
    cells = [cell for cell in results.select(PRECISION("attention"), FRACTION("attention")) if cell.method in ATTENDING]
    names = tuple(f"{cell.data}, {model_name(cell)}" for cell in cells)
    # A copy: which columns there are is asked of each ranking.
    rankings = tuple(compare_rankings(dict(cell.columns.items())) for cell in cells)
    figure = faithful_and_plausible(Texts(pl.DataFrame(), names, (), rankings=rankings))
    return [] if figure is None else [replace(figure, group="Figures", source=OURS, columns=6)]
