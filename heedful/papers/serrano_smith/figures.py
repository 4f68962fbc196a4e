"""The figures of Serrano and Smith (2019), redrawn from our rows; 9, 12 and 13 are tables."""

from collections.abc import Mapping

import polars as pl

from heedful.papers.charts import LINEAR, histograms, scatter
from heedful.papers.reproduction import Claim, Results
from heedful.papers.serrano_smith.columns import DELTA_ATTENTION, DELTA_JS, FRACTION, MASS, RANKINGS
from heedful.papers.study_figures import Heading, measures_figure, study_figure, text_frame
from heedful.report.drawing import axis_ends
from heedful.report.figure import Figure

PAPER = "Serrano & Smith 2019, {}".format


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """Figures 3 to 8, 10 and 11."""
    cells = results.select()
    return [
        *_single_figures(text_frame(cells, {DELTA_ATTENTION: "x", DELTA_JS: "y"})),
        *measures_figure(
            cells,
            {FRACTION(ranking): name for ranking, name in RANKINGS.items()},
            "fraction of items erased before the decision changes",
            Heading("figure_5_6_10", "Erasing until the decision changes", PAPER("Figures 5, 6 and 10")),
            rows="ranking",
        ),
        *measures_figure(
            cells,
            {MASS(ranking): name for ranking, name in RANKINGS.items()},
            "attention mass erased before the decision changes",
            Heading("figure_11", "The attention mass erased by then", PAPER("Figure 11")),
            rows="ranking",
        ),
    ]


def _single_figures(frame: pl.DataFrame) -> list[Figure]:
    """The top item against a random other one: all texts, and those in which the other one mattered more."""
    if frame.is_empty():
        return []
    negative = frame.filter(pl.col("y") < 0).select("data", "model", pl.lit("all").alias("class"), value="x")
    share = len(negative) / len(frame)
    top = study_figure(
        Heading("figure_3_7", "The top item against a random other one", PAPER("Figures 3 and 7")),
        scatter(frame, "difference in attention", "difference in JS divergence"),
        caption=(
            "Each point is a text: how much more erasing the top item moves the prediction, by its extra weight. The "
            f"vertical axis is logarithmic beyond {LINEAR:g} and below {-LINEAR:g}."
        ),
        alt=f"Scatter plots; in {share:.0%} of texts the random item moved the prediction more.",
    )
    if negative.is_empty():
        return [top]
    _, most = axis_ends([0.0, *negative["value"]])
    other = study_figure(
        Heading("figure_4_8", "Where the random item moved the prediction more", PAPER("Figures 4 and 8")),
        histograms(negative, 0.0, min(most, 1.0), "difference in attention"),
        caption=f"Only the {share:.1%} of texts with a negative difference, by the difference in attention.",
        alt="Histograms of the difference in attention.",
    )
    return [top, other]
