"""Figures: the frontier of accuracy and mean score, a point a way to train; and what the claims measure."""

from collections.abc import Mapping

import polars as pl

from heedful.papers.charts import planes
from heedful.papers.faithful_training.columns import (
    CORRECT,
    RECIPES,
    SEAT,
    SEAT_ALL,
    SEAT_CODE,
    SHARPNESS,
    VANILLA,
    RecipeScores,
    frontier,
    score_recipe,
)
from heedful.papers.reproduction import Cell, Claim, Results
from heedful.papers.study_figures import Heading, claims_figure, study_figure
from heedful.report.figure import Figure

OURS = "in none of the papers"
KINDS = ("vanilla", "SEAT and its baselines", "one term", "recipe")
DIVERSE = (
    "conicity_falls",
    "permutation_matters_more",
    "fewer_erasures",
    "better_agreement_with_gradients",
    "less_attention_on_punctuation",
)
OF_RECIPE = (
    "the_recipe_costs_no_accuracy",
    "the_recipe_is_more_relevant",
    "the_recipe_agrees_with_deletions",
    "the_recipe_halves_the_share_of_the_seed",
    "the_recipe_resists_attack",
)


def figures(results: Results, claims: Mapping[str, Claim]) -> list[Figure]:
    """The frontier of each set, then the claims."""
    diverse = Heading("diverse", "What diverse states change", "after Mohankumar et al. (2020), in our measures")
    recipe = Heading("recipe", "What the recipe changes", OURS)
    return [
        *_frontier(results),
        *claims_figure([claims[name] for name in DIVERSE if name in claims], "difference", diverse),
        *claims_figure([claims[name] for name in OF_RECIPE if name in claims], "difference", recipe),
    ]


def _frontier(results: Results) -> list[Figure]:
    cells = [cell for cell in results.select(CORRECT, SHARPNESS) if cell.encoder == "bilstm"]
    points = [(cell, score_recipe(cell.method, cell.columns)) for cell in cells]
    if not points:
        return []
    # Vanilla is drawn last: SEAT's points lie where it lies, and would hide it.
    drawn = sorted(points, key=lambda pair: pair[0].method == VANILLA)
    frame = pl.DataFrame([_row(cell.data, point, _kind(cell)) for cell, point in drawn])
    best = [
        _row(data, point, KINDS[-1])
        for data in dict.fromkeys(cell.data for cell in cells)
        for point in frontier([own for cell, own in points if cell.data == data])
    ]
    heading = Heading("frontier", "Accuracy and mean score of every way to train", OURS)
    listed = "; ".join(f"{cell.data}, {point.name} {point.accuracy:.2f} and {point.mean:.2f}" for cell, point in points)
    return [
        study_figure(
            heading,
            planes(frame, pl.DataFrame(best), "accuracy", "mean score", KINDS),
            caption="Each point is a way to train, on test texts and over seeds, with the BiLSTM; the line joins those "
            "than which none has both more accuracy and a higher mean score (0 the floor, 1 the best possible).",
            alt=f"{heading.title}: {listed}.",
        )
    ]


def _row(data: str, point: RecipeScores, kind: str) -> dict[str, str | float]:
    return {"data": data, "x": point.accuracy, "y": point.mean, "series": kind}


def _kind(cell: Cell) -> str:
    if cell.method == VANILLA:
        return KINDS[0]
    if cell.method in RECIPES:
        return KINDS[3]
    is_seat = cell.method in (SEAT, SEAT_ALL, SEAT_CODE) or cell.method.startswith(("word_", "attention_"))
    return KINDS[1] if is_seat else KINDS[2]
