"""What is claimed of diverse states, and what we claim of the recipe that dev texts choose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import polars as pl

from heedful import battery
from heedful.battery.question import Columns, Question
from heedful.jobs.improving import ALONE
from heedful.measures import mean_interval
from heedful.papers.charts import planes
from heedful.papers.claim_rule import paired
from heedful.papers.reproduction import Cell, Results
from heedful.papers.study_figures import Heading, study_figure
from heedful.report.figure import Figure
from heedful.schema import Line
from heedful.settings import Option, OptionValue
from heedful.verdict.scoring import is_asked, verdict_lines

NAME = "faithful_training"
VANILLA, SEAT, SEAT_ALL, SEAT_CODE = "vanilla", "seat", "seat_all", "seat_code"
DIVERSITY, ORTHOGONAL, GUIDED, CONSISTENT = "diversity", "orthogonal", "guided_by_evidence", "consistency"
ENSEMBLE = "ensemble"
DEV = "dev"
"""The role of audits on dev texts, by which the recipe is chosen."""
ALL, ALL_DEV = "all texts", "all dev texts"
"""Roles of audits that ask only what is predicted, of every text: half a point of accuracy is not seen in a few."""
RECIPES: dict[str, dict[str, Option]] = {
    "diversity 0.5": {"diversity": 0.5, **ALONE},
    "diversity 0.5, taught": {"diversity": 0.5},
    "diversity 1, taught": {"diversity": 1.0},
}
"""Options of method `faithful` among which the recipe is chosen, set by set."""

CORRECT, CORRECT_OF_ALL = "prediction.correct", "all texts.correct"
"""Of the texts that were audited, and of all."""
CONICITY, SHARPNESS, EVENNESS, PUNCTUATION = (
    f"shape.{name}" for name in ("conicity", "sharpness", "evenness", "punctuation")
)
PERMUTED = "permutation.median_tvd"
ERASED = "erase_until_flip.fraction_attention"
TAU_GRADIENT, TAU_DELETION = "gradient_agreement.tau", "leave_one_out_agreement.tau"
OTHER_SEEDS, ATTACK = "seeds.mean_js", "embedding_attack.js_attention"

# Scores of a training method in this study, which method is chosen by them, and the frontier of accuracy and score.

QUESTIONS = {
    "gradient_agreement": "gradient",
    "leave_one_out_agreement": "leave-one-out",
    "erase_until_flip": "erasure",
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "embedding_attack": "attack",
    "seeds": "seeds",
}
"""Whose scores make up the mean, and what tables call them.

They ask whether attention matters to the answer, and whether it would be the same again.
"""
ASKED = tuple(question for question in battery.QUESTIONS if question.name in QUESTIONS)
TESTS = (
    "gradient_agreement",
    "leave_one_out_agreement",
    "erase_until_flip",
    "comprehensiveness_sufficiency",
    "embedding_attack",
    "shape",
)
"""The tests that these questions, sharpness and evenness need; other seeds are companions of an audit."""
OPTIONS: dict[str, dict[str, OptionValue]] = {"embedding_attack": {"radii": (0.05,)}}
"""Of these tests: noise as large as SEAT's largest."""
LEAST = 0.01
"""The smallest distance between floor and best that a score is taken of."""
MAX_ACCURACY_DROP = 0.005
"""Accuracy that may be lost: half a point."""
LEAST_SHARP = 0.5
"""The share of vanilla's sharpness that must be left: uniform attention is stable, and shows nothing."""


@dataclass(frozen=True)
class RecipeScores:
    """Scores of a training method, over texts and seeds.

    Args:
        name: of the method.
        lost: accuracy lost compared with vanilla training.
        mean: mean score of the questions, 0 the floor and 1 the best possible.
        sharpness: the largest weight x the number of words, 1 for uniform weights.
    """

    name: str
    accuracy: float
    lost: float
    mean: float
    sharpness: float


def score_recipe(name: str, columns: Columns, vanilla: Columns | None = None) -> RecipeScores:
    """Scores of a training method, from its audits.

    Each question counts from 0 to 1 in the mean, so that none makes up for the others or outweighs them. A question
    without an answer counts 0: else a method would gain by making it meaningless.

    Args:
        columns: of all seeds, as `verdict.scoring.columns_of` makes them.
        vanilla: columns of vanilla training on the same texts, to take the accuracy lost against.
    """
    scores = [_score(question, columns) for question in ASKED if is_asked(question, columns)]
    counted = [min(max(score, 0.0), 1.0) if score == score else 0.0 for score in scores]
    return RecipeScores(
        name=name,
        accuracy=columns[CORRECT].mean().item(),
        lost=0.0 if vanilla is None else mean_interval(paired(vanilla[CORRECT], columns[CORRECT])).value,
        mean=sum(counted) / len(counted) if counted else nan,
        sharpness=mean_interval(columns[SHARPNESS]).value,
    )


def _score(question: Question, columns: Columns) -> float:
    """(value - floor) / (best - floor), of the means; NaN if best and floor are too close to matter.

    A verdict also checks whether best is significantly above the floor; with two seeds it rarely is, and
    methods must be ranked all the same.
    """
    value, floor, best = question.measured(columns)
    defined = ~(value + floor + best).isnan()
    mean, low, high = (part[defined].mean().item() for part in (value, floor, best))
    return (mean - low) / (high - low) if high - low > LEAST else nan


def choose(vanilla: RecipeScores, recipes: Sequence[RecipeScores]) -> RecipeScores:
    """The recipe of the highest mean score, the first of equals.

    A recipe must keep accuracy and half of the sharpness; if none does and beats vanilla, the best of all is chosen.
    """
    kept = [
        recipe
        for recipe in recipes
        if recipe.lost <= MAX_ACCURACY_DROP and recipe.sharpness >= LEAST_SHARP * vanilla.sharpness
    ]
    best = max(kept, key=lambda recipe: recipe.mean, default=vanilla)
    return best if best.mean > vanilla.mean else max(recipes, key=lambda recipe: recipe.mean)


def frontier(points: Sequence[RecipeScores]) -> list[RecipeScores]:
    """The points than which no other has both a higher accuracy and a higher mean score, by accuracy."""
    return [
        point
        for point in sorted(points, key=lambda point: point.accuracy)
        if not any(
            other.accuracy >= point.accuracy
            and other.mean >= point.mean
            and (other.accuracy, other.mean) != (point.accuracy, point.mean)
            for other in points
        )
    ]


def chosen_recipes(results: Results) -> dict[tuple[str, str], tuple[Cell, Cell]]:
    """For each set and encoder the recipe that dev texts choose and vanilla, both on test texts."""
    pairs = dict.fromkeys((cell.data, cell.encoder) for cell in results.select(CORRECT, method=VANILLA))
    chosen = {pair: chosen_recipe(results, *pair) for pair in pairs}
    return {pair: cells for pair, cells in chosen.items() if cells is not None}


def chosen_recipe(results: Results, data: str, encoder: str) -> tuple[Cell, Cell] | None:
    """The recipe that dev texts choose and vanilla, both on test texts; None where either is missing."""
    vanilla = results.find(CORRECT, data=data, encoder=encoder, method=VANILLA)
    points = points_on_dev(results, data, encoder)
    recipes = [point for name, point in points.items() if name != VANILLA]
    if vanilla is None or not recipes:
        return None
    # The study asks what the recipe does: if no candidate beats vanilla, the best of them is shown all the same.
    cell = results.find(CORRECT, data=data, encoder=encoder, method=choose(points[VANILLA], recipes).name)
    return None if cell is None else (on_all_texts(results, cell, ALL), on_all_texts(results, vanilla, ALL))


def points_on_dev(results: Results, data: str, encoder: str) -> dict[str, RecipeScores]:
    """Vanilla and every recipe as dev texts see them, by name; empty where vanilla was not audited on these."""
    on_dev = results.select(CORRECT, data=data, encoder=encoder, role=DEV)
    cells = {cell.method: on_all_texts(results, cell, ALL_DEV) for cell in on_dev}
    if VANILLA not in cells:
        return {}
    columns = {name: {**cell.columns, CORRECT: cell.columns[CORRECT_OF_ALL]} for name, cell in cells.items()}
    own_way = {VANILLA: score_recipe(VANILLA, columns[VANILLA])}
    return own_way | {name: score_recipe(name, columns[name], columns[VANILLA]) for name in columns if name in RECIPES}


def on_all_texts(results: Results, cell: Cell, role: str) -> Cell:
    """The cell with the predictions of every text in a column of their own; those of the audited where none were asked.

    Not in the place of the audited texts', beside which other columns of these stand.
    """
    whole = results.find(CORRECT, data=cell.data, encoder=cell.encoder, method=cell.method, role=role) or cell
    return replace(cell, columns={**cell.columns, CORRECT_OF_ALL: whole.columns[CORRECT]})


def lines_of(cell: Cell) -> dict[str, Line]:
    """The questions that were asked of a cell, by name."""
    return {line.name: line for line in verdict_lines(cell.columns)}


OURS = "in none of the papers"
KINDS = ("vanilla", "SEAT and its baselines", "one term", "recipe")


def figures(results: Results) -> list[Figure]:
    """The frontier of each set."""
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
