"""The ways to train, the columns that the study reads, and which recipe is chosen on dev."""

from dataclasses import replace

from heedful.improving.candidates import ALONE
from heedful.schema import Line
from heedful.settings import Option
from heedful.studies.heedable.recipe_scores import RecipeScores, choose, score_recipe
from heedful.studies.study import Cell, Results
from heedful.verdict.scoring import verdict_lines

NAME = "heedable"
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
    # The study asks what the recipe does: where no candidate beats vanilla, the best of them is shown all the same.
    best = choose(points[VANILLA], recipes)
    name = max(recipes, key=lambda point: point.mean).name if best.name == VANILLA else best.name
    cell = results.find(CORRECT, data=data, encoder=encoder, method=name)
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
