"""Models side by side, each over its seeds: what each question measures, and which differences are significant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from jaxtyping import Float
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.measures import Estimate, difference_interval, mean_interval
from heedful.verdict.scoring import columns_of, is_asked

Shaped = Float[Tensor, "..."]


@dataclass(frozen=True)
class Side:
    """One model at one question.

    Args:
        value: the mean over texts and seeds, with its interval.
        difference_from_first: its value minus the first model's, text by text; None for the first, or on other texts.
    """

    value: Estimate
    difference_from_first: Estimate | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        difference = self.difference_from_first
        return difference is not None and (difference.low > 0 or difference.high < 0)


@dataclass(frozen=True)
class Comparison:
    """One question, answered for each model; None for one that was not asked."""

    name: str
    question: str
    sides: tuple[Side | None, ...]


def compare(groups: Mapping[str, Sequence[pl.DataFrame]], item: str = "word") -> list[Comparison]:
    """Every question that some model was asked, for each model.

    Args:
        groups: for each model the rows of its audits, one a seed.
        item: what attention weighs.
    """
    columns = [columns_of(audits) for audits in groups.values()]
    comparisons = []
    for question in QUESTIONS:
        values = [question.measured(own)[0] if is_asked(question, own) else None for own in columns]
        if any(measured is not None for measured in values):
            sides = tuple(_side(values[0], measured) for measured in values)
            comparisons.append(Comparison(question.name, question.wording(item), sides))
    return comparisons


def _side(first: Shaped | None, own: Shaped | None) -> Side | None:
    if own is None:
        return None
    value = mean_interval(own)
    if first is None or first is own or first.shape[1] != own.shape[1]:
        return Side(value)
    seeds = min(len(first), len(own))
    return Side(value, difference_interval(own[:seeds], first[:seeds]))
