"""Draws of every row, and how often the answer is right."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.schema import ClassAnswer
from heedful.settings.answer import AnswerSettings, OutcomeSettings
from heedful.studies.calibration.rows import OVERALL, ROWS, Row, Target
from heedful.studies.calibration.worlds import WORLDS, Judged, Texts, draw_texts, judge
from heedful.verdict.answers import Outcomes, answer_all
from heedful.verdict.gate import has_learnt

if TYPE_CHECKING:
    from distributed import Client

LABELS = ("0", "1")
WRONG = 0.005
"""Largest share of answers that may be wrong in direction."""


@dataclass(frozen=True)
class Result:
    """Answers of one row in one draw.

    Args:
        row: its place in ROWS.
        answers: the answer for each target of the row; the reason follows if no small set decides.
        moved: share of texts with moved information among those in which a small set decides.
    """

    row: int
    draw: int
    answers: Mapping[Target, str]
    moved: float


@dataclass(frozen=True)
class Tally:
    """How often each answer was given in a row, and how often it was right or wrong in direction.

    Args:
        moved: mean share of texts with moved information; NaN if the world has none.
    """

    row: Row
    answers: Counter[str]
    right: int
    wrong: int
    moved: float

    @property
    def total(self) -> int:
        """Number of answers: one or two per draw."""
        return self.answers.total()

    @property
    def is_met(self) -> bool:
        """Whether the row has enough right answers and few enough that are wrong in direction."""
        return self.right >= self.row.required * self.total and self.wrong <= WRONG * self.total


def calibrate(
    draws: int,
    *,
    rows: Sequence[int] = range(len(ROWS)),
    client: "Client | None" = None,
    report: Callable[[Sequence[Result]], None] | None = None,
) -> list[Tally]:
    """Tallies of these rows.

    Args:
        client: of a cluster that does the draws; without one they are done here, one after another.
        report: called with the results of each draw of a world, in any order.
    """
    worlds = dict.fromkeys(ROWS[row].world for row in rows)
    jobs = [
        (world, draw, [row for row in rows if ROWS[row].world == world]) for draw in range(draws) for world in worlds
    ]
    results: list[Result] = []
    for done in _done(jobs, client):
        results.extend(done)
        if report:
            report(done)
    return tallies(results)


def _done(jobs: Sequence[tuple[str, int, Sequence[int]]], client: "Client | None") -> Iterator[list[Result]]:
    """Results of each job, as they come."""
    if client is None:
        yield from (results_of_draw(*job) for job in jobs)
        return
    from distributed import as_completed

    for future in as_completed([client.submit(results_of_draw, *job, pure=False) for job in jobs], loop=client.loop):
        yield future.result()


def results_of_draw(world: str, draw: int, rows: Sequence[int]) -> list[Result]:
    """Answers of these rows of a world for one draw of texts; they depend on the arguments alone."""
    texts = draw_texts(WORLDS[world], max(ROWS[row].texts for row in rows), draw)
    judged = judge(WORLDS[world], texts, OutcomeSettings())
    return [result_of_row(row, draw, texts, judged) for row in rows]


def result_of_row(number: int, draw: int, texts: Texts, judged: Mapping[str, Judged]) -> Result:
    """Answers of one row, given the outcomes of the attention that it mixes."""
    row, generator = ROWS[number], np.random.default_rng([number, draw])
    labels = texts.labels[: row.texts]
    shares = np.array(row.shares)[labels] + row.sd * generator.standard_normal((row.seeds, 1))
    is_first = generator.random((row.seeds, row.texts)) < shares
    first, second = judged[row.kinds[0]], judged[row.kinds[-1]]

    def mixed(of_first: Float[ndarray, " text"], of_second: Float[ndarray, " text"]) -> Float[ndarray, "seed text"]:
        return np.where(is_first, of_first[: row.texts], of_second[: row.texts])

    points, moved = mixed(first.points, second.points), mixed(first.moved, second.moved)
    answers = answers_of(points, first.luck, first.reason, labels, _is_learned(row, labels, generator))
    return Result(number, draw, {target: _in_words(answers[target]) for target in row.right}, _mean(moved))


def answers_of(
    points: Float[ndarray, "seed text"],
    luck: Float[ndarray, " text"],
    reason: Int[ndarray, " text"],
    predicted: Int[ndarray, " text"],
    is_learned: bool,
) -> dict[Target, ClassAnswer]:
    """The answer for all texts and for each class; replacing words gives what deleting them gives."""
    seeds, texts = points.shape
    outcomes = Outcomes(
        predicted=torch.from_numpy(predicted).expand(seeds, texts),
        points=torch.from_numpy(points),
        decided=torch.from_numpy((~np.isnan(points)).astype(float)),
        luck=torch.from_numpy(luck[:texts]).expand(seeds, texts),
        reason=torch.from_numpy(reason[:texts]).expand(seeds, texts),
        runs=tuple(f"seed {seed}" for seed in range(seeds)),
    )
    overall, classes = answer_all(outcomes, LABELS, AnswerSettings(), is_learned=is_learned, replaced=outcomes)
    return {OVERALL: overall, **dict(enumerate(classes))}


def _is_learned(row: Row, predicted: Int[ndarray, " text"], generator: np.random.Generator) -> bool:
    labels = generator.integers(0, len(LABELS), len(predicted)) if row.has_random_labels else predicted
    columns = {"prediction.correct": labels == predicted, "prediction.label": labels}
    return has_learnt({name: torch.from_numpy(values.astype(float))[None] for name, values in columns.items()})


def _in_words(answer: ClassAnswer) -> str:
    """The answer, with its most frequent reason if no small set decides."""
    if answer.answer != "No small set decides":
        return answer.answer
    reasons = answer.shares.reasons
    return f"{answer.answer} ({max(reasons, key=lambda reason: reasons[reason])})"


def _mean(values: Float[ndarray, "seed text"]) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else nan


def tallies(results: Iterable[Result]) -> list[Tally]:
    """Tallies of the rows that have results, in the order of the table."""
    by_row: dict[int, list[Result]] = {}
    for result in sorted(results, key=lambda result: (result.row, result.draw)):
        by_row.setdefault(result.row, []).append(result)
    return [_tally(ROWS[row], own) for row, own in by_row.items()]


def _tally(row: Row, results: Sequence[Result]) -> Tally:
    given = [(target, answer, result.moved) for result in results for target, answer in result.answers.items()]
    low, high = row.moved or (0.0, 1.0)
    return Tally(
        row=row,
        answers=Counter(answer for _, answer, _ in given),
        right=sum(
            answer in row.right[target].answers and (row.moved is None or low <= moved <= high)
            for target, answer, moved in given
        ),
        wrong=sum(row.right[target].is_wrong_in_direction(answer) for target, answer, _ in given),
        moved=float(np.mean([result.moved for result in results])),
    )
