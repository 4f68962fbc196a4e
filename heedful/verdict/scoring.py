"""From columns to a verdict: each question's value between its floor and the best possible, and every ranking."""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan, nan

import polars as pl
import torch
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.battery.plausibility import strongest_baseline
from heedful.battery.question import Columns, Question, QuestionResult, Values
from heedful.measures import Estimate, mean_interval, score_interval
from heedful.schema import Line, Ranking
from heedful.schema.rankings import BOUNDS, FRACTION, ranking_title, rankings_in

# Columns of measures that stay on disk: each is read when it is asked for, so that memory does not grow with texts.

READ_CELLS = 2**20
"""Values that are read at a time: of few texts all columns at once, of a million a single one."""
KEPT_CELLS = 2**22
"""Values that are kept for the next question."""


class StoredColumns(Mapping[str, Values]):
    """What `columns_of` gives of the same rows, read from their files: `test.measure` -> [seed text].

    Args:
        audits: rows of each seed, on disk.
    """

    def __init__(self, audits: Sequence[pl.LazyFrame]):
        self._audits = [rows.filter(pl.col("item").is_null()) for rows in audits]
        counts = [_counts(rows) for rows in self._audits]
        self._names = [name for name in counts[0] if all(name in others for others in counts)]
        self._cells = max((sum(count[name] for count in counts) for name in self._names), default=1)
        self._kept: OrderedDict[str, Values] = OrderedDict()

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Values:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._kept:
            start = self._names.index(name)
            read = self._read(self._names[start : start + max(1, READ_CELLS // self._cells)])
            self._kept = OrderedDict([*self._kept.items(), *read.items()][-max(8, KEPT_CELLS // self._cells) :])
            return read[name]
        self._kept.move_to_end(name)
        return self._kept[name]

    def _read(self, names: Sequence[str]) -> dict[str, Values]:
        by_seed = [_values(rows, names) for rows in self._audits]
        return {name: torch.stack([values[name] for values in by_seed]) for name in names}


def _counts(rows: pl.LazyFrame) -> dict[str, int]:
    """How many rows there are of each measure, in the order in which they first occur."""
    counted = rows.group_by("test", "measure", maintain_order=True).len().collect(engine="streaming")
    return {f"{test}.{measure}": count for test, measure, count in counted.iter_rows()}


def _values(rows: pl.LazyFrame, names: Sequence[str]) -> dict[str, Tensor]:
    """The values of these measures, in the order of the texts."""
    tests = {name.partition(".")[0] for name in names}
    what = pl.concat_str("test", pl.lit("."), "measure").cast(pl.Enum(list(names)), strict=False)
    wanted = rows.filter(pl.col("test").is_in(list(tests))).select("example", "value", what=what).drop_nulls("what")
    read = wanted.collect(engine="streaming")
    parts = (read.filter(pl.col("what") == name).sort("example")["value"] for name in names)
    return {name: torch.tensor(part.to_numpy()) for name, part in zip(names, parts, strict=True)}


Rows = pl.DataFrame | pl.LazyFrame
"""Rows of an audit: in memory, or on disk."""

UNANSWERED = "There is nothing to measure here: for no text does the question have an answer."
TOO_CLOSE = "There is nothing to measure here: the floor and the best possible are too close to tell apart."


def columns_of(audits: Sequence[Rows]) -> Columns:
    """The rows of each text-level measure as one tensor, one row per seed: `test.measure` -> [seed text].

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


# Every ranking side by side: how faithful it is to the model, and how plausible to people. Never one number.

PRECISION = "plausibility.average_precision_"
MEANS = {
    "erased": FRACTION,
    "comprehensiveness": "comprehensiveness_sufficiency.comprehensiveness_",
    "sufficiency": "comprehensiveness_sufficiency.sufficiency_",
    "average_precision": PRECISION,
    "token_f1": "plausibility.token_f1_",
}
"""The columns whose means are shown of every ranking that has them."""


def compare_rankings(columns: Columns) -> tuple[Ranking, ...]:
    """Every tested ranking with its measures; empty if no rankings were tested."""
    return tuple(_ranking(name, columns) for name in rankings_in(columns))


def _ranking(name: str, columns: Columns) -> Ranking:
    faithful, plausible = _faithful(name, columns), _plausible(name, columns)
    others = [other for other in rankings_in(columns) if other != name]
    agreement = {other: _tau(name, other, columns) for other in others}
    return Ranking(
        name=name,
        title=ranking_title(name),
        faithful=faithful.value,
        faithful_low=faithful.low,
        faithful_high=faithful.high,
        plausible=plausible.value,
        plausible_low=plausible.low,
        plausible_high=plausible.high,
        texts=faithful.n,
        agreement={other: tau for other, tau in agreement.items() if tau is not None},
        **{measure: _mean(columns.get(f"{start}{name}")) for measure, start in MEANS.items()},
    )


def _faithful(name: str, columns: Columns) -> Estimate:
    """Between a random order and the smallest set that changes the decision."""
    if not all(f"{FRACTION}{bound}" in columns for bound in BOUNDS):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value, floor, best = (1 - columns[f"{FRACTION}{ranking}"] for ranking in (name, *BOUNDS))
    return score_interval(value, floor, best)


def _plausible(name: str, columns: Columns) -> Estimate:
    """Position between the best uninformed ranking and the human rationales themselves."""
    if f"{PRECISION}{name}" not in columns or f"{PRECISION}attention" not in columns:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value, (_, floor) = columns[f"{PRECISION}{name}"], strongest_baseline(columns, "average_precision")
    return score_interval(value, floor, (value * 0 + 1))


def _tau(name: str, other: str, columns: Columns) -> float | None:
    for pair in (f"{name}_{other}", f"{other}_{name}"):
        if f"ranking_agreement.tau_{pair}" in columns:
            return _mean(columns[f"ranking_agreement.tau_{pair}"])
    return None


def _mean(values: Tensor | None) -> float | None:
    mean = float("nan") if values is None else values.nanmean().item()
    return None if isnan(mean) else mean
