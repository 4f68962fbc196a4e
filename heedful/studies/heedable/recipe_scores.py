"""Scores of a training method in this study, which method is chosen by them, and the frontier of accuracy and score."""

from collections.abc import Mapping, Sequence
from math import nan

from pydantic import BaseModel, ConfigDict

from heedful import battery
from heedful.battery.question import Columns, Question, Values
from heedful.measures import Estimate, difference_interval, mean_interval
from heedful.settings import Option, OptionValue
from heedful.verdict.scoring import is_asked

QUESTIONS = (
    "gradient_agreement",
    "leave_one_out_agreement",
    "erase_until_flip",
    "comprehensiveness",
    "sufficiency",
    "embedding_attack",
    "seeds",
)
"""Whose scores make up the mean: whether attention matters to the answer, and whether it would be the same again."""
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
CORRECT = "prediction.correct"
LEAST = 0.01
"""The smallest distance between floor and best that a score is taken of."""


MOST_LOST = 0.005
"""Accuracy that may be lost: half a point."""
LEAST_SHARP = 0.5
"""The share of the own way's sharpness that must be left: even attention is stable, and says nothing."""


class RecipeScores(BaseModel):
    """A training method, over texts and seeds.

    Args:
        name: in words.
        options: of the method; empty for the run's own way.
        runs: keys of its trainings.
        lost, lost_low, lost_high: accuracy lost against the run's own way, with the 95 % interval of texts and seeds.
        scores: of each question, 0 the floor and 1 the best possible.
        sharpness: the largest weight x the number of words, 1 for even weights; `evenness`, entropy / the largest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")

    name: str
    options: dict[str, Option] = {}
    runs: tuple[str, ...] = ()
    accuracy: float
    lost: float = 0.0
    lost_low: float = 0.0
    lost_high: float = 0.0
    scores: dict[str, float]
    sharpness: float
    evenness: float

    @property
    def mean(self) -> float:
        """The mean score: each question counts from 0 to 1, so that none makes up for the others or outweighs them.

        A question without an answer counts 0: else a way to train would gain by making it meaningless.
        """
        counted = [min(max(score, 0.0), 1.0) if score == score else 0.0 for score in self.scores.values()]
        return sum(counted) / len(counted) if counted else nan


def score_recipe(
    name: str,
    columns: Columns,
    own_way: Columns | None = None,
    *,
    options: Mapping[str, Option] | None = None,
    runs: Sequence[str] = (),
) -> RecipeScores:
    """Scores of a training method, from its audits.

    Args:
        columns: of all seeds, as `verdict.scoring.columns_of` makes them.
        own_way: those of the run's own way to train, on the same texts, to take the accuracy lost against.
    """
    scores = {question.name: _score(question, columns) for question in ASKED if is_asked(question, columns)}
    lost = Estimate(0.0, 0.0, 0.0, 0) if own_way is None else _lost(own_way[CORRECT], columns[CORRECT])
    sharpness, evenness = (mean_interval(columns[f"shape.{name}"]).value for name in ("sharpness", "evenness"))
    return RecipeScores(
        name=name,
        options=dict(options or {}),
        runs=tuple(runs),
        accuracy=columns[CORRECT].mean().item(),
        lost=lost.value,
        lost_low=lost.low,
        lost_high=lost.high,
        scores=scores,
        sharpness=sharpness,
        evenness=evenness,
    )


def _score(question: Question, columns: Columns) -> float:
    """(value - floor) / (best - floor), of the means; NaN where best and floor are too close to matter.

    A verdict also checks whether best is significantly above the floor; with two seeds it rarely is, and
    methods must be ranked all the same.
    """
    value, floor, best = question.measured(columns)
    defined = ~(value + floor + best).isnan()
    mean, low, high = (part[defined].mean().item() for part in (value, floor, best))
    return (mean - low) / (high - low) if high - low > LEAST else nan


def _lost(before: Values, after: Values) -> Estimate:
    seeds = min(len(before), len(after))
    return difference_interval(before[:seeds], after[:seeds])


def is_admissible(method: RecipeScores, own_way: RecipeScores, most_lost: float = MOST_LOST) -> bool:
    """Whether a method keeps the accuracy and half of the sharpness."""
    return method.lost <= most_lost and method.sharpness >= LEAST_SHARP * own_way.sharpness


def choose(own_way: RecipeScores, points: Sequence[RecipeScores], most_lost: float = MOST_LOST) -> RecipeScores:
    """The admissible point of the highest mean score, the first of equals; the own way where none is better."""
    admissible = [point for point in points if is_admissible(point, own_way, most_lost)]
    best = max(admissible, key=lambda point: point.mean, default=own_way)
    return best if best.mean > own_way.mean else own_way


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
