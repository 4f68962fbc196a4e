"""Why the recipe misses a goal: which other recipe reaches it, and what speaks against that one on dev texts."""

from math import isnan

from heedful.improving.choosing import refusal
from heedful.improving.method_scores import Point
from heedful.studies.heedable.columns import (
    ALL,
    CORRECT,
    CORRECT_OF_ALL,
    RECIPES,
    SHARPNESS,
    VANILLA,
    chosen_recipes,
    on_all_texts,
    points_on_dev,
)
from heedful.studies.heedable.goals import GOALS, Goal
from heedful.studies.study import Cell, Entry, Results, Table


def misses_table(results: Results) -> Table:
    """Every goal that is missed on a set, what is reached instead, and why."""
    rows = []
    for (data, encoder), (recipe, vanilla) in chosen_recipes(results).items():
        others = [
            on_all_texts(results, cell, ALL)
            for cell in results.select(CORRECT, data=data, encoder=encoder)
            if cell.method in RECIPES and cell.method != recipe.method
        ]
        for goal in GOALS:
            reached = goal.measured(recipe, vanilla)
            if goal.is_met(reached) is False:
                why = _why(goal, recipe, vanilla, others, points_on_dev(results, data, encoder))
                why += _evenness(recipe, vanilla) if goal.movement else ""
                rows.append(((data, encoder, goal.sentence, why), (Entry(reached),)))
    note = (
        "Each goal that the chosen recipe misses. Dev texts choose; where another recipe would reach the goal on test "
        "texts, it says what on dev texts speaks against that one."
    )
    head = ("data", "encoder", "goal", "why it is missed")
    return Table("Misses", "Why goals are missed", note, head, ("reached",), tuple(rows))


def _why(goal: Goal, recipe: Cell, vanilla: Cell, others: list[Cell], points: dict[str, Point]) -> str:
    if goal.interval and goal.is_met_by_mean(goal.measured(recipe, vanilla)):
        return f"the mean is within it, the interval of {len(recipe.columns[CORRECT_OF_ALL])} seeds is not"
    measured = {cell.method: goal.measured(cell, vanilla) for cell in others}
    reached = {name: own.value for name, own in measured.items() if own is not None and not isnan(own.value)}
    by_value = sorted(reached, key=lambda name: reached[name], reverse=not goal.at_most)
    meeting = [name for name in by_value if goal.is_met(measured[name])]
    if not meeting:
        nearest = f"; the nearest of the others is {by_value[0]} with {reached[by_value[0]]:.2f}" if by_value else ""
        return f"no recipe reaches it{nearest}"
    name = meeting[0]
    return f"{name} reaches {reached[name]:.2f}, but {_against(points.get(name), points[recipe.method], points)}"


def _evenness(recipe: Cell, vanilla: Cell) -> str:
    """That vanilla's attention is the evener one and could not move as far, if it is."""
    if any(SHARPNESS not in cell.columns for cell in (recipe, vanilla)):
        return ""
    own, base = (cell.columns[SHARPNESS].nanmean().item() for cell in (recipe, vanilla))
    if base >= own:
        return ""
    return (
        f"; vanilla's attention is the evener one (largest weight {base:.1f} times even, the recipe's {own:.1f} times)"
        ": the evener attention is, the less it can move"
    )


def _against(point: Point | None, chosen: Point, points: dict[str, Point]) -> str:
    """What speaks against a recipe on dev texts."""
    if point is None:
        return "was not tried on dev texts"
    if why := refusal(point, points[VANILLA]):
        return f"{why} on dev texts"
    return f"its mean score on dev texts is lower ({point.mean:.2f}; that of the chosen one {chosen.mean:.2f})"
