"""What a test of the battery is, and what the verdict asks of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.schema import Group
from heedful.types import Findings

Values = Float[Tensor, "seed text"]
Columns = Mapping[str, Values]
"""One measure of one test, `test.measure`, for each seed and text."""

ValueFloorBest = tuple[Values, Values, Values]
"""Value, floor, and best possible, text by text; a larger value is better for attention."""


@dataclass(frozen=True)
class QuestionResult:
    """The numbers of one question, for its sentence.

    Args:
        value, floor, best: means over the texts.
        details: further numbers, by what they are.
        item: what attention weighs: "word" or "sentence".
        counted_on: the texts on which label-indicative words were counted.
    """

    value: float
    floor: float
    best: float
    details: Mapping[str, float] = field(default_factory=dict)
    item: str = "word"
    counted_on: str = "the training texts"


@dataclass(frozen=True)
class Question:
    """How a line of the verdict is made from columns: what is measured, against which floor and best, in which words.

    Args:
        group: what kind of evidence it is. Tests explain the answer and do not vote.
        topic: what is asked about, in a few words.
        wording: the question, given what attention weighs ("word" or "sentence").
        needs: tests, or single measures `test.measure`, without which it is skipped (the test of its name).
        measured: value, floor and best of each text.
        best_kind: whether the best is a `ceiling`, which nothing can beat, or a `yardstick`.
        sentence: the answer as a reader understands it.
        details: further numbers to show.
        unit: how value, floor and best are shown.
        if_inexact: what is added to the sentence where the test was not answered exactly; the best is a yardstick then.
        if_searched: what is added where something was searched for, and may be more than was found.
    """

    name: str
    group: Group
    topic: str
    wording: Callable[[str], str]
    measured: Callable[[Columns], ValueFloorBest]
    sentence: Callable[[QuestionResult], str]
    needs: tuple[str, ...] = ()
    best_kind: Literal["ceiling", "yardstick"] = "ceiling"
    details: Callable[[Columns], dict[str, float]] = lambda columns: {}
    unit: Literal["number", "share"] = "number"
    if_inexact: str = ""
    if_searched: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", self.needs or (self.name,))


@dataclass(frozen=True)
class BatteryTest:
    """A test of attention: a function, whose keyword-only parameters are its options, and what the verdict asks of it.

    Args:
        function: from evidence and a generator to findings.
        questions: none for a test that is measured and drawn only.
        cost: `default` tests are always done, `deep` ones if requested, `named` ones only by name.
        needs_rationales: whether it needs human rationales; texts without them are left out, unless it is named.
    """

    function: Callable[..., Findings]
    questions: tuple[Question, ...] = ()
    cost: Literal["default", "deep", "named"] = "default"
    needs_rationales: bool = False


def mean(name: str) -> Callable[[Columns], float]:
    """The mean of one measure over all texts that have it."""
    return lambda columns: columns[name].nanmean().item()


def means(columns_by_title: Mapping[str, str]) -> Callable[[Columns], dict[str, float]]:
    """The means of several measures, by what they are."""
    return lambda columns: {title: mean(name)(columns) for title, name in columns_by_title.items()}


def between(value: str, floor: str | float, best: str | float) -> Callable[[Columns], ValueFloorBest]:
    """A measure between two bounds, each a measure, too, or one number for all texts."""

    def measured(columns: Columns) -> ValueFloorBest:
        own = columns[value]
        low, high = (columns[end] if isinstance(end, str) else torch.full_like(own, end) for end in (floor, best))
        return own, low, high

    return measured


def per_100(share: float) -> str:
    """A share in words.

    >>> per_100(0.881)
    '88 of 100'
    """
    return "none" if share != share else f"{100 * share:.0f} of 100"
