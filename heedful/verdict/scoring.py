"""From rows to a verdict: each question's value between its floor and the best possible, with intervals, in words."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.questions import QUESTIONS, Columns, Question, Values
from heedful.measures import Estimate, bootstrap_interval, paired_ratio_interval

MANY_SEEDS = 5
"""From so many seeds on, seeds are resampled; with fewer the range over them is shown."""

UNANSWERED = "There is nothing to measure here: for no text does the question have an answer."


@dataclass(frozen=True)
class Line:
    """One question answered.

    Args:
        value, low, high: the mean over texts and its interval (for two to four seeds: the range over seeds).
        floor, best: what no information, and the best possible, would give on the same texts.
        best_kind: `ceiling` where nothing can be better, `yardstick` where it can.
        score: (value - floor) / (best - floor); NaN where there is nothing to measure.
        texts, undefined: texts that count, and texts for which the value has no meaning.
    """

    name: str
    question: str
    value: Estimate
    floor: float
    best: float
    best_kind: str
    score: Estimate
    undefined: int
    sentence: str
    beside: dict[str, float] = field(default_factory=dict)


def columns_of(audits: Sequence[pl.DataFrame]) -> dict[str, Values]:
    """The rows of each text-level measure as one tensor, a row a seed: `test.measure` -> [seed text]."""
    tables = [_table(rows) for rows in audits]
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: torch.stack([table[name] for table in tables]) for name in shared}


def _table(rows: pl.DataFrame) -> dict[str, Tensor]:
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


def verdict_lines(
    columns: Columns, generator: torch.Generator, *, inexact: Collection[str] = (), item: str = "word"
) -> list[Line]:
    """One line for every question whose tests were run.

    Args:
        inexact: tests that were not answered exactly.
        item: what attention weighs, as the sentences call it.
    """
    asked = [question for question in QUESTIONS if is_asked(question, columns)]
    lines = [_line(question, columns, generator, bool(set(inexact) & {*question.needs})) for question in asked]
    return [line if asks.is_of_words else _about(item, line) for asks, line in zip(asked, lines, strict=True)]


def _about(item: str, line: Line) -> Line:
    question, sentence = (said.replace("word", item) for said in (line.question, line.sentence))
    return replace(line, question=question, sentence=sentence)


def _line(question: Question, columns: Columns, generator: torch.Generator, is_inexact: bool) -> Line:
    value, floor, best = question.measured(columns)
    together = ~(value + floor + best).isnan()
    mean, least, most = (part.where(together, nan).nanmean().item() for part in (value, floor, best))
    score = _estimate(lambda v, f, b: paired_ratio_interval(v, f, b, generator), value, floor, best)
    interval = _estimate(lambda v: bootstrap_interval(v, generator), value.where(together, nan))
    beside = question.beside(columns)
    undefined = int((~together).all(0).sum())
    sentence = question.said(mean, least, most, beside) if together.any() else UNANSWERED
    best_kind = question.best_kind
    if is_inexact and question.unless_exact and together.any():
        sentence, best_kind = f"{sentence} {question.unless_exact}", "yardstick"
    if score.value != score.value and together.any():
        sentence += " There is nothing to measure here: the floor and the best possible are too close to tell apart."
    return Line(
        name=question.name,
        question=question.question,
        value=interval,
        floor=least,
        best=most,
        best_kind=best_kind,
        score=score,
        undefined=undefined,
        sentence=sentence,
        beside=beside,
    )


def _estimate(measure: Callable[..., Estimate], *parts: Values) -> Estimate:
    """By resampling texts, and seeds too from MANY_SEEDS on; for two to four seeds the mean and range over seeds."""
    seeds = len(parts[0])
    if seeds == 1:
        return measure(*(part[0] for part in parts))
    if seeds >= MANY_SEEDS:
        return measure(*parts)
    each = [measure(*(part[seed] for part in parts)) for seed in range(seeds)]
    values = [estimate.value for estimate in each]
    return Estimate(sum(values) / seeds, min(values), max(values), min(estimate.n for estimate in each))


INSTEAD = {
    "input_gradient": "input gradient",
    "product": "attention x gradient",
    "leave_one_out": "leave-one-out",
    "attention": "attention",
}
"""Rankings that may be shown to a reader, in words."""


MATERIAL = 0.01
"""Share of a text that a ranking must save to be shown instead of attention."""

TestColumns = Mapping[str, Float[Tensor, "test_seed test_text"]]
"""Columns of other texts than dev's."""


@dataclass(frozen=True)
class Advice:
    """The ranking to show: chosen on dev, reported on test."""

    ranking: str
    sentence: str
    fractions: dict[str, float]


def advise(dev: Columns, test: TestColumns, generator: torch.Generator) -> Advice | None:
    """The ranking that finds a change of the decision soonest on dev, and how soon each does on test.

    Attention stays unless another is better on dev, beyond doubt, by more than MATERIAL. None where no decision can be
    changed.
    """
    fraction = "erase_until_flip.fraction_{}".format
    on_dev = {name: dev[fraction(name)] for name in INSTEAD}
    on_test = {name: test[fraction(name)].nanmean().item() for name in INSTEAD}
    best = min(INSTEAD, key=lambda name: on_dev[name].nanmean().item())
    if on_dev[best].isnan().all() or on_test[best] != on_test[best]:
        return None
    gain = bootstrap_interval((on_dev["attention"] - on_dev[best])[0], generator)
    if best == "attention" or not gain.low > MATERIAL:
        soon = f"{on_test['attention']:.0%} of a text"
        sentence = f"No other ranking finds a change of the decision sooner than attention does ({soon})."
        return Advice("attention", sentence, on_test)
    sentence = (
        f"Show {INSTEAD[best]} instead: it finds a change of the decision after {on_test[best]:.0%} of a text, "
        f"attention after {on_test['attention']:.0%}."
    )
    return Advice(best, sentence, on_test)
