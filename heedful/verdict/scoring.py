"""From columns to the lines of a verdict: each question's value between its floor and the best possible."""

from collections.abc import Callable, Collection, Sequence
from math import nan

import polars as pl
import torch
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.battery.question import Answer, Columns, Question, Values
from heedful.measures import Estimate, bootstrap_interval, paired_ratio_interval
from heedful.schema import Line

MANY_SEEDS = 5
"""From so many seeds on, seeds are resampled; with fewer the range over them is shown."""

UNANSWERED = "There is nothing to measure here: for no text does the question have an answer."
TOO_CLOSE = "There is nothing to measure here: the floor and the best possible are too close to tell apart."


def columns_of(audits: Sequence[pl.DataFrame]) -> dict[str, Values]:
    """The rows of each text-level measure as one tensor, a row a seed: `test.measure` -> [seed text]."""
    by_seed = [_by_measure(rows) for rows in audits]
    shared = [name for name in by_seed[0] if all(name in measures for measures in by_seed)]
    return {name: torch.stack([measures[name] for measures in by_seed]) for name in shared}


def _by_measure(rows: pl.DataFrame) -> dict[str, Tensor]:
    texts = rows.filter(pl.col("item").is_null()).sort("example")
    return {
        f"{test}.{measure}": torch.tensor(part["value"].to_numpy())
        for (test, measure), part in texts.group_by(["test", "measure"], maintain_order=True)
    }


def inexact_tests(audits: Sequence[pl.DataFrame]) -> set[str]:
    """The tests that were answered by search or by bounds in some of these rows."""
    return {test for rows in audits for test in rows.filter(pl.col("solver") != "exact")["test"].unique()}


def is_asked(question: Question, columns: Columns) -> bool:
    """Whether all that the question needs was measured."""
    return ({name.split(".")[0] for name in columns} | set(columns)).issuperset(question.needs)


def lines_across(audits: Sequence[pl.DataFrame], seed: int = 0, item: str = "word") -> tuple[Line, ...]:
    """The verdict from the rows of several seeds: seeds resampled outside texts from five on, else their range."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(verdict_lines(columns_of(audits), generator, inexact=inexact_tests(audits), item=item))


def verdict_lines(
    columns: Columns, generator: torch.Generator, *, inexact: Collection[str] = (), item: str = "word"
) -> list[Line]:
    """One line for every question whose tests were run.

    Args:
        inexact: tests that were not answered exactly.
        item: what attention weighs, as the sentences call it.
    """
    asked = [question for question in QUESTIONS if is_asked(question, columns)]
    return [_line(question, columns, generator, bool(set(inexact) & {*question.needs}), item) for question in asked]


def _line(question: Question, columns: Columns, generator: torch.Generator, is_inexact: bool, item: str) -> Line:
    value, floor, best = question.measured(columns)
    defined = ~(value + floor + best).isnan()
    score = _estimate(lambda v, f, b: paired_ratio_interval(v, f, b, generator), value, floor, best)
    interval = _estimate(lambda v: bootstrap_interval(v, generator), value.where(defined, nan))
    mean, low, high = (part.where(defined, nan).nanmean().item() for part in (value, floor, best))
    answer = Answer(mean, low, high, question.details(columns), item)
    is_qualified = is_inexact and bool(question.if_inexact) and bool(defined.any())
    return Line(
        name=question.name,
        question=question.wording(item),
        value=interval.value,
        low=interval.low,
        high=interval.high,
        floor=answer.floor,
        best=answer.best,
        best_kind="yardstick" if is_qualified else question.best_kind,
        score=score.value,
        score_low=score.low,
        score_high=score.high,
        texts=interval.n,
        undefined=int((~defined).all(0).sum()),
        unit=question.unit,
        counts=question.counts,
        sentence=_sentence(question, answer, score, is_answered=bool(defined.any()), is_qualified=is_qualified),
        details=dict(answer.details),
    )


def _sentence(question: Question, answer: Answer, score: Estimate, *, is_answered: bool, is_qualified: bool) -> str:
    if not is_answered:
        return UNANSWERED
    parts = [question.sentence(answer)]
    if is_qualified:
        parts.append(question.if_inexact)
    if score.value != score.value:
        parts.append(TOO_CLOSE)
    return " ".join(parts)


def _estimate(measure: Callable[..., Estimate], *parts: Values) -> Estimate:
    """By resampling texts, and seeds too from MANY_SEEDS on; for two to four seeds the mean and range over seeds."""
    seeds = len(parts[0])
    if seeds == 1:
        return measure(*(part[0] for part in parts))
    if seeds >= MANY_SEEDS:
        return measure(*parts)
    by_seed = [measure(*(part[seed] for part in parts)) for seed in range(seeds)]
    values = [estimate.value for estimate in by_seed]
    return Estimate(sum(values) / seeds, min(values), max(values), min(estimate.n for estimate in by_seed))
