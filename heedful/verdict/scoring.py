"""From columns to the lines of a verdict: each question's value between its floor and the best possible."""

from collections.abc import Collection, Mapping, Sequence
from math import nan

import polars as pl
import torch
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.battery.question import Columns, Question, QuestionResult
from heedful.measures import Estimate, mean_interval, score_interval
from heedful.schema import Line
from heedful.verdict.stored_columns import StoredColumns

Rows = pl.DataFrame | pl.LazyFrame
"""Rows of an audit: in memory, or on disk."""

UNANSWERED = "There is nothing to measure here: for no text does the question have an answer."
TOO_CLOSE = "There is nothing to measure here: the floor and the best possible are too close to tell apart."


def columns_of(audits: Sequence[Rows]) -> Columns:
    """The rows of each text-level measure as one tensor, a row a seed: `test.measure` -> [seed text].

    Of rows on disk each is read when it is asked for.
    """
    stored = [rows for rows in audits if isinstance(rows, pl.LazyFrame)]
    if len(stored) == len(audits):
        return StoredColumns(stored)
    by_seed = [_by_measure(rows.collect() if isinstance(rows, pl.LazyFrame) else rows) for rows in audits]
    shared = [name for name in by_seed[0] if all(name in measures for measures in by_seed)]
    return {name: torch.stack([measures[name] for measures in by_seed]) for name in shared}


def _by_measure(rows: pl.DataFrame) -> dict[str, Tensor]:
    texts = rows.filter(pl.col("item").is_null()).sort("example")
    return {
        f"{test}.{measure}": torch.tensor(part["value"].to_numpy())
        for (test, measure), part in texts.group_by(["test", "measure"], maintain_order=True)
    }


def inexact_tests(audits: Sequence[Rows]) -> set[str]:
    """The tests that were answered by search or by bounds in some of these rows."""
    return _tests(audits, pl.col("solver") != "exact")


def searched_tests(audits: Sequence[Rows]) -> set[str]:
    """The tests of which something was searched for in some of these rows."""
    return _tests(audits, pl.col("solver") == "search")


def _tests(audits: Sequence[Rows], which: pl.Expr) -> set[str]:
    frames = [rows.lazy().filter(which).select("test").unique().collect(engine="streaming") for rows in audits]
    return {test for frame in frames for test in frame["test"]}


def is_asked(question: Question, columns: Columns) -> bool:
    """Whether all that the question needs was measured."""
    return ({name.split(".")[0] for name in columns} | set(columns)).issuperset(question.needs)


def lines_across(
    audits: Sequence[Rows], item: str = "word", counted_on: str = QuestionResult.counted_on
) -> tuple[Line, ...]:
    """The verdict from the rows of one seed or several."""
    columns, inexact, searched = columns_of(audits), inexact_tests(audits), searched_tests(audits)
    return tuple(verdict_lines(columns, inexact=inexact, searched=searched, item=item, counted_on=counted_on))


def verdict_lines(
    columns: Columns,
    *,
    inexact: Collection[str] = (),
    searched: Collection[str] = (),
    item: str = "word",
    counted_on: str = QuestionResult.counted_on,
) -> list[Line]:
    """One line for every question whose tests were run.

    Args:
        inexact: tests that were not answered exactly; `searched`: those of them that were searched for.
        item: what attention weighs, as the sentences call it.
        counted_on: the texts on which label-indicative words were counted.
    """
    asked = [question for question in QUESTIONS if is_asked(question, columns)]
    words = {"item": item, "counted_on": counted_on}
    return [_line(question, columns, _qualification(question, inexact, searched), words) for question in asked]


def _qualification(question: Question, inexact: Collection[str], searched: Collection[str]) -> str:
    """What is added to an answer that is not exact."""
    parts = (question.if_inexact, inexact), (question.if_searched, searched)
    return " ".join(words for words, tests in parts if words and {*tests} & {*question.needs})


def _line(question: Question, columns: Columns, qualification: str, words: Mapping[str, str]) -> Line:
    value, floor, best = question.measured(columns)
    defined = ~(value + floor + best).isnan()
    score = score_interval(value, floor, best)
    interval = mean_interval(value.where(defined, nan))
    mean, low, high = (part.where(defined, nan).nanmean().item() for part in (value, floor, best))
    answer = QuestionResult(mean, low, high, question.details(columns), **words)
    is_answered = bool(defined.any())
    return Line(
        name=question.name,
        question=question.wording(answer.item),
        topic=question.topic,
        value=interval.value,
        low=interval.low,
        high=interval.high,
        floor=answer.floor,
        best=answer.best,
        best_kind="yardstick" if is_answered and qualification else question.best_kind,
        score=score.value,
        score_low=score.low,
        score_high=score.high,
        texts=interval.n,
        undefined=int((~defined).all(0).sum()),
        group=question.group,
        unit=question.unit,
        sentence=_sentence(question, answer, score, qualification) if is_answered else UNANSWERED,
        details=dict(answer.details),
    )


def _sentence(question: Question, answer: QuestionResult, score: Estimate, qualification: str) -> str:
    closing = TOO_CLOSE if score.value != score.value else ""
    return " ".join(part for part in (question.sentence(answer), qualification, closing) if part)
