"""Draws of every row, and how often the answer is right."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from math import nan
from typing import Any, TypeVar, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.calibration.worlds import HALF, ON, RANDOM, REVERSED, WORLDS, Judged, Texts, draw_texts, judge
from heedful.schema import Answer, ClassAnswer
from heedful.settings import AnswerSettings, OutcomeSettings
from heedful.verdict.answers import Outcomes, answer_all
from heedful.verdict.audit_answer import beats_constant_prediction

# Rows of the calibration: attention of known quality in worlds of known truth, and the answer that is right.

TEXTS = 300
OVERALL = None
"""The answer for all texts together; a number is the class that an answer is for."""

Target = int | None
Made = TypeVar("Made")


@dataclass(frozen=True)
class Right:
    """The true answer, and the answers that count as right."""

    truth: Answer
    name: str
    answers: frozenset[str]

    def is_wrong_in_direction(self, answer: str) -> bool:
        """Whether the answer is Yes and the truth No, or the reverse."""
        return {self.truth, answer} == {"Yes", "No"}


@dataclass(frozen=True)
class Row:
    """A row: in each text attention is the first of two kinds with some probability, else the second.

    Args:
        attention: the row's attention in words.
        kinds: two kinds of attention of the world, or one.
        shares: probability of the first kind for a text of each class.
        sd: standard deviation of this probability among the seeds.
        right: the right answer for all texts (OVERALL) or for classes.
        required: share of right answers that the row needs.
        moved: smallest and largest share of texts with moved information.
        has_random_labels: whether labels have nothing to do with the texts.
    """

    world: str
    attention: str
    kinds: tuple[str, ...]
    right: dict[Target, Right]
    required: float = 0.95
    shares: tuple[float, float] = (1.0, 1.0)
    texts: int = TEXTS
    seeds: int = 1
    sd: float = 0.0
    moved: tuple[float, float] | None = None
    has_random_labels: bool = False


def _exactly(truth: Answer, reason: str = "") -> Right:
    name = f"{truth} ({reason})" if reason else truth
    return Right(truth, name, frozenset((name,)))


def _not(answer: Answer, truth: Answer) -> Right:
    return Right(truth, f"not {answer}", frozenset(get_args(Answer)) - {answer})


YES, NO, SOME = _exactly("Yes"), _exactly("No"), _exactly("For some texts")
NO_SET = "No small set decides"


def _always(world: str, right: Right, *kinds: str, required: float = 0.95) -> list[Row]:
    return [Row(world, kind, (kind,), {OVERALL: right}, required) for kind in kinds]


def _small_classes() -> list[Row]:
    decides = "one word decides"
    worlds = (
        (f"{decides}, luck 0.35", 0.6, _not("No", "For some texts")),
        (f"{decides}, luck 0.45", 0.6, _not("No", "For some texts")),
        (decides, 0.85, _not("No", "Yes")),
        (f"{decides}, luck 0.2", 0.35, _not("Yes", "No")),
    )
    return [
        Row(
            world,
            f"right in {share:.0%}, {texts} texts per class",
            (ON, REVERSED),
            {0: right, 1: right},
            shares=(share, share),
            texts=2 * texts,
        )
        for texts in (30, 60)
        for world, share, right in worlds
    ]


def _several_seeds() -> list[Row]:
    neither = Right("For some texts", "neither Yes nor No", frozenset(get_args(Answer)) - {"Yes", "No"})
    return [
        Row(
            "one word decides",
            f"right in {share:.0%}, {seeds} seeds with sd {sd}",
            (ON, REVERSED),
            {OVERALL: right},
            0.995,
            (share, share),
            seeds=seeds,
            sd=sd,
        )
        for seeds in (3, 5)
        for sd in (0.03, 0.08)
        for share, right in ((0.6, neither), (0.95, _not("No", "Yes")), (0.2, _not("Yes", "No")))
    ]


def _rows() -> Sequence[Row]:
    decides, moves = "one word decides", "the state at j carries word i"
    default: dict[Target, Right] = {0: YES, 1: _exactly(NO_SET, "default")}
    return (
        *_always(decides, YES, ON),
        *_always(decides, NO, RANDOM, REVERSED, "uniform", "on the first word"),
        Row(decides, "right in 60%, else random", (ON, RANDOM), {OVERALL: SOME}, shares=(0.6, 0.6)),
        Row(decides, "right for class 0, random for 1", (ON, RANDOM), {0: YES, 1: NO}, 0.9, (1.0, 0.0)),
        *_always("two words decide together", YES, "on both"),
        *_always("two words decide together", NO, "on one of them"),
        *_always("three words, each enough", YES, "on one of them", required=0.9),
        *_always("three words, each enough", NO, RANDOM, required=0.9),
        *_always("one word supports, a weaker one opposes", YES, "on the supporting word"),
        *_always("one word supports, a weaker one opposes", NO, "on the opposing word"),
        *_always("one word in 200", YES, ON),
        *_always("one word in 200", NO, RANDOM),
        *(
            row
            for world in ("10 of 100 words, each enough", "20 of 200 words, each enough")
            for row in (*_always(world, YES, HALF, required=0.9), *_always(world, NO, RANDOM, required=0.9))
        ),
        *_always("many weak words", _exactly(NO_SET, "many words"), RANDOM),
        Row("class 1 is the default", "on the words for class 0", ("on the words for class 0",), default),
        Row(decides, f"{ON}, random labels", (ON,), {OVERALL: _exactly("Nothing to explain")}, has_random_labels=True),
        *_small_classes(),
        *_several_seeds(),
        Row(moves, "on j", ("on j",), {OVERALL: NO}, moved=(0.85, 1.0)),
        Row(moves, "on i", ("on i",), {OVERALL: YES}, moved=(0.0, 0.05)),
    )


ROWS = _rows()


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
    pool: Executor | None = None,
    report: Callable[[Sequence[Result]], None] | None = None,
) -> list[Tally]:
    """Tallies of these rows.

    Args:
        pool: pool of processes for the draws; without one they are made here, one after another.
        report: called with the results of each draw of a world, in any order.
    """
    worlds = dict.fromkeys(ROWS[row].world for row in rows)
    jobs = [
        (world, draw, [row for row in rows if ROWS[row].world == world]) for draw in range(draws) for world in worlds
    ]
    results: list[Result] = []
    for made in done(results_of_draw, jobs, pool):
        results.extend(made)
        if report:
            report(made)
    return tallies(results)


def done(function: Callable[..., Made], jobs: Sequence[tuple[Any, ...]], pool: Executor | None) -> Iterator[Made]:
    """What the function makes of the arguments of each job, as it comes; without a pool one after another, here."""
    if pool is None:
        yield from (function(*job) for job in jobs)
        return
    for future in as_completed([pool.submit(function, *job) for job in jobs]):
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
    defined = moved[~np.isnan(moved)]
    mean = float(defined.mean()) if len(defined) else nan
    return Result(number, draw, {target: _in_words(answers[target]) for target in row.right}, mean)


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
    return beats_constant_prediction(
        {name: torch.from_numpy(values.astype(float))[None] for name, values in columns.items()}
    )


def _in_words(answer: ClassAnswer) -> str:
    """The answer, with its most frequent reason if no small set decides."""
    if answer.answer != "No small set decides":
        return answer.answer
    reasons = answer.shares.reasons
    return f"{answer.answer} ({max(reasons, key=lambda reason: reasons[reason])})"


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
