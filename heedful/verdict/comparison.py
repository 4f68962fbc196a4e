"""Models side by side, each over its seeds: what each question measures, and which differences are significant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery import QUESTIONS
from heedful.measures import Estimate, bootstrap_interval
from heedful.verdict.scoring import MANY_SEEDS, columns_of, is_asked

Shaped = Float[Tensor, "..."]


@dataclass(frozen=True)
class Side:
    """One model at one question.

    Args:
        value: the mean over texts and seeds, with its interval.
        difference_from_first: its value minus the first model's, text by text; None for the first, or on other texts.
        is_significant: whether the interval of that difference excludes 0 and every pair of seeds agrees on its sign.
    """

    value: Estimate
    difference_from_first: Estimate | None = None
    is_significant: bool = False


@dataclass(frozen=True)
class Comparison:
    """One question, answered for each model; None for one that was not asked."""

    name: str
    question: str
    sides: tuple[Side | None, ...]


def compare(groups: Mapping[str, Sequence[pl.DataFrame]], seed: int = 0) -> list[Comparison]:
    """Every question that some model was asked, for each model.

    Args:
        groups: for each model the rows of its audits, one a seed.
    """
    generator = torch.Generator().manual_seed(seed)
    columns = [columns_of(audits) for audits in groups.values()]
    comparisons = []
    for question in QUESTIONS:
        values = [question.measured(own)[0] if is_asked(question, own) else None for own in columns]
        if any(measured is not None for measured in values):
            sides = tuple(_side(values[0], measured, generator) for measured in values)
            comparisons.append(Comparison(question.name, question.wording("word"), sides))
    return comparisons


def _side(first: Shaped | None, own: Shaped | None, generator: torch.Generator) -> Side | None:
    if own is None:
        return None
    value = bootstrap_interval(over_texts(own), generator)
    if first is None or first is own or first.shape[1] != own.shape[1]:
        return Side(value)
    seeds = min(len(first), len(own))
    difference = own[:seeds] - first[:seeds]
    estimate = bootstrap_interval(over_texts(difference), generator)
    means = difference.nanmean(1)
    agreed = bool((means > 0).all() or (means < 0).all())
    return Side(value, estimate, agreed and (estimate.low > 0 or estimate.high < 0))


def over_texts(values: Shaped) -> Shaped:
    """What is resampled: seeds and texts from MANY_SEEDS on; below that the mean over seeds of each text."""
    return values if len(values) >= MANY_SEEDS else values.nanmean(0)
