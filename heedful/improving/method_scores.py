"""What a training method gives: accuracy, and the share of texts in which attention points to the key words."""

from collections.abc import Mapping, Sequence

import polars as pl
from pydantic import BaseModel, ConfigDict

from heedful.battery.question import Columns, Values
from heedful.measures import Estimate, difference_interval
from heedful.measures.share import share_interval
from heedful.settings import Option
from heedful.verdict.outcome_table import outcomes_of

TESTS = ("prediction", "outcome")
"""What is measured of every method."""
CORRECT = "prediction.correct"


class MethodScores(BaseModel):
    """A training method as a search sees it, over texts and seeds.

    Args:
        options: of the method; empty for the run's own method.
        runs: keys of its trained runs.
        lost, lost_low, lost_high: accuracy lost against the run's own method, with its 95% interval.
        points, points_low, points_high: share of all texts in which attention points, with its 95% interval. A text in
            which no small set of words decides counts against the method.
        decided: share of texts in which a small set of words decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")

    name: str
    options: dict[str, Option] = {}
    runs: tuple[str, ...] = ()
    accuracy: float
    lost: float = 0.0
    lost_low: float = 0.0
    lost_high: float = 0.0
    points: float
    points_low: float = 0.0
    points_high: float = 1.0
    decided: float = 1.0


def score_method(
    name: str,
    columns: Columns,
    outcomes: Sequence[pl.DataFrame],
    labels: Sequence[str],
    own_method: Columns | None = None,
    *,
    options: Mapping[str, Option] | None = None,
    runs: Sequence[str] = (),
) -> MethodScores:
    """Scores of a method from its audits.

    Args:
        columns: of all seeds, as `verdict.scoring.columns_of` makes them.
        outcomes: the table of each seed, of the judging texts.
        own_method: columns of the run's own method, on the same texts, to take the accuracy lost against.
    """
    cells = outcomes_of(outcomes, labels)
    points = share_interval(cells.points.where(cells.decided != 0, 0.0))
    lost = Estimate(0.0, 0.0, 0.0, 0) if own_method is None else _lost(own_method[CORRECT], columns[CORRECT])
    return MethodScores(
        name=name,
        options=dict(options or {}),
        runs=tuple(runs),
        accuracy=columns[CORRECT].mean().item(),
        lost=lost.value,
        lost_low=lost.low,
        lost_high=lost.high,
        points=points.value,
        points_low=points.low,
        points_high=points.high,
        decided=cells.decided.nanmean().item(),
    )


def _lost(before: Values, after: Values) -> Estimate:
    seeds = min(len(before), len(after))
    return difference_interval(before[:seeds], after[:seeds])
