"""What the recipe should reach on every set, against vanilla, and what it misses."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isnan, nan

from heedful.measures import Estimate, difference_interval, score_interval
from heedful.schema import Line
from heedful.studies.heedable.columns import (
    ATTACK,
    CORRECT_OF_ALL,
    OTHER_SEEDS,
    SHARPNESS,
    TAU_DELETION,
    chosen_recipes,
    holding,
    lines_of,
)
from heedful.studies.study import Cell, Entry, Results, Table

TAU_RISES = 0.1
"""How much more agreement with leave-one-out is more than a little."""


@dataclass(frozen=True)
class Goal:
    """Something that the recipe should reach.

    Args:
        title: what is measured.
        measured: of the recipe's cell and vanilla's; None where it was not.
        bound: what it should be at least, or at most.
        interval: whether the bound is for the lower end of the interval, not for the mean.
        movement: whether it is how far attention moves, relative to vanilla's: nearly even attention hardly can.
    """

    title: str
    measured: Callable[[Cell, Cell], Estimate | None]
    bound: float
    at_most: bool = False
    interval: bool = False
    movement: bool = False

    @property
    def sentence(self) -> str:
        """The goal in words."""
        of = ", lower end" if self.interval else ""
        return f"{self.title}{of} {'at most' if self.at_most else 'at least'} {self.bound:.3g}"

    def is_met(self, reached: Estimate | None) -> bool | None:
        """Whether it is reached; None where that is not known."""
        return self._is_within(nan if reached is None else reached.low if self.interval else reached.value)

    def is_met_by_mean(self, reached: Estimate | None) -> bool | None:
        """Whether the mean reaches it, whatever the interval."""
        return self._is_within(nan if reached is None else reached.value)

    def _is_within(self, value: float) -> bool | None:
        if isnan(value):
            return None
        return value <= self.bound if self.at_most else value >= self.bound


def score_of(line: Line) -> Estimate:
    """The score of a question with its interval."""
    score, low, high = (nan if end is None else end for end in (line.score, line.score_low, line.score_high))
    return Estimate(score, low, high, line.texts)


def _gained(column: str) -> Callable[[Cell, Cell], Estimate | None]:
    def measured(recipe: Cell, vanilla: Cell) -> Estimate | None:
        cells = (recipe, vanilla)
        if any(column not in cell.columns for cell in cells):
            return None
        seeds = min(len(cell.columns[column]) for cell in cells)
        return difference_interval(recipe.columns[column][:seeds], vanilla.columns[column][:seeds])

    return measured


def _relative(column: str) -> Callable[[Cell, Cell], Estimate | None]:
    def measured(recipe: Cell, vanilla: Cell) -> Estimate | None:
        if any(column not in cell.columns for cell in (recipe, vanilla)):
            return None
        own, base = recipe.columns[column], vanilla.columns[column]
        relative = score_interval(own, 0 * own, base)
        # Undefined where vanilla's may be 0 as far as three seeds tell; its mean is not.
        ratio = own.nanmean().item() / base.nanmean().item()
        return Estimate(ratio, nan, nan, relative.n) if isnan(relative.value) else relative

    return measured


def _scored(question: str) -> Callable[[Cell, Cell], Estimate | None]:
    def measured(recipe: Cell, vanilla: Cell) -> Estimate | None:
        line = lines_of(recipe).get(question)
        return None if line is None else score_of(line)

    return measured


GOALS = (
    Goal("accuracy gained", _gained(CORRECT_OF_ALL), -0.005),
    Goal("accuracy gained", _gained(CORRECT_OF_ALL), -0.01, interval=True),
    Goal("JSD of seeds, relative", _relative(OTHER_SEEDS), 1 / 2, at_most=True, movement=True),
    Goal("JSD under attack, relative", _relative(ATTACK), 2 / 3, at_most=True, movement=True),
    Goal("score of erasure", _scored("erase_until_flip"), 0.65),
    Goal("score of comprehensiveness", _scored("comprehensiveness"), 1.0),
    Goal("score of sufficiency", _scored("sufficiency"), 0.85),
    Goal("tau with leave-one-out gained", _gained(TAU_DELETION), 0.0),
    Goal("sharpness, relative", _relative(SHARPNESS), 1 / 2),
)
"""Relative: to vanilla's. The accuracy has two goals: one for its mean, one for what the interval allows."""
SHOWN = tuple(goal for goal in GOALS if not goal.interval)


def goals_table(results: Results) -> Table:
    """Every goal on every set, and which are missed."""
    rows = []
    for (data, encoder), (recipe, vanilla) in chosen_recipes(results).items():
        entries = tuple(Entry(goal.measured(recipe, vanilla)) for goal in SHOWN)
        missed = [goal.sentence for goal in GOALS if goal.is_met(goal.measured(recipe, vanilla)) is False]
        rows.append(((data, encoder, recipe.method, "; ".join(missed) or "nothing"), entries))
    note = (
        "The recipe that dev texts choose against vanilla, on test texts: accuracy on all of them, the rest on those "
        f"that were audited. Goals: {'; '.join(goal.sentence for goal in GOALS)}."
    )
    titles = tuple(goal.title for goal in SHOWN)
    return Table(
        "Goals", "What the recipe reaches", note, ("data", "encoder", "training", "misses"), titles, tuple(rows)
    )


def remarks(results: Results) -> list[str]:
    """How often every goal is met, and on how many sets agreement with leave-one-out rises by more than a little."""
    recipes = chosen_recipes(results)
    if not recipes:
        return []
    met = {goal.sentence: [goal.is_met(goal.measured(*pair)) for pair in recipes.values()] for goal in GOALS}
    counts = "; ".join(f"{name}: {sum(map(bool, all_met))} of {len(all_met)}" for name, all_met in met.items())
    rises = [_gained(TAU_DELETION)(*pair) for pair in recipes.values()]
    rising = sum(rise is not None and rise.value >= TAU_RISES for rise in rises)
    return [
        f"Models that meet each goal: {counts}.",
        f"Tau with leave-one-out rises by {TAU_RISES} or more on {rising} of {len(rises)}.",
        _on_relevance(recipes.values()),
    ]


def _on_relevance(pairs: Iterable[tuple[Cell, Cell]]) -> str:
    """On how many sets whose models have learnt their task the recipe holds on more questions than vanilla."""
    held = [(holding(recipe), holding(vanilla)) for recipe, vanilla in pairs]
    gains = [recipe[0] - vanilla[0] for recipe, vanilla in held if recipe and vanilla]
    more, fewer = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return (
        f"Of {len(gains)} models that have learnt their task, with and without the recipe, attention holds on more "
        f"questions of relevance with the recipe on {more}, on fewer on {fewer}, on as many on "
        f"{len(gains) - more - fewer}."
    )
