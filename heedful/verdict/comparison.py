"""Models side by side, each over its seeds: what each question measures, and which differences are sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.questions import QUESTIONS
from heedful.measures import Estimate, bootstrap_interval
from heedful.verdict.scoring import MANY_SEEDS, columns_of, is_asked

Shaped = Float[Tensor, "..."]


@dataclass(frozen=True)
class Side:
    """One model at one question.

    Args:
        value: the mean over texts and seeds, with its interval.
        less_first: what it has more than the first model, text by text; None for the first, or where texts differ.
        is_sure: whether that difference is: its interval leaves out 0, and every pair of seeds agrees on its sign.
    """

    value: Estimate
    less_first: Estimate | None = None
    is_sure: bool = False


@dataclass(frozen=True)
class Compared:
    """One question, answered for each model; None for one that was not asked."""

    name: str
    question: str
    sides: tuple[Side | None, ...]


def compared(groups: Mapping[str, Sequence[pl.DataFrame]], seed: int = 0) -> list[Compared]:
    """Every question that some model was asked, for each model.

    Args:
        groups: for each model the rows of its audits, one a seed.
    """
    generator = torch.Generator().manual_seed(seed)
    columns = [columns_of(audits) for audits in groups.values()]
    found = []
    for question in QUESTIONS:
        values = [question.measured(own)[0] if is_asked(question, own) else None for own in columns]
        if any(one is not None for one in values):
            sides = tuple(_side(values[0], one, generator) for one in values)
            found.append(Compared(question.name, question.question, sides))
    return found


def _side(first: Shaped | None, own: Shaped | None, generator: torch.Generator) -> Side | None:
    if own is None:
        return None
    value = bootstrap_interval(over_texts(own), generator)
    if first is None or first is own or first.shape[1] != own.shape[1]:
        return Side(value)
    seeds = min(len(first), len(own))
    gained = own[:seeds] - first[:seeds]
    less_first = bootstrap_interval(over_texts(gained), generator)
    means = gained.nanmean(1)
    agreed = bool((means > 0).all() or (means < 0).all())
    return Side(value, less_first, agreed and (less_first.low > 0 or less_first.high < 0))


def over_texts(values: Shaped) -> Shaped:
    """What is resampled: seeds and texts from MANY_SEEDS on; below that the mean over seeds of each text."""
    return values if len(values) >= MANY_SEEDS else values.nanmean(0)
