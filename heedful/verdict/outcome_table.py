"""Outcomes as tables have them, and as `answers` counts them: one cell per seed and text."""

from collections.abc import Sequence

import polars as pl
import torch
from torch import Tensor

from heedful.schema import Removal
from heedful.verdict.answers import REASONS, Outcomes

POINTS = {"points": 1.0, "misses": 0.0}


def outcomes_of(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], ranking: str = "attention", removal: Removal = "delete"
) -> Outcomes:
    """Outcomes of one ranking under one way of removing words, from a table per seed.

    Texts are the same for every ranking and way of removing: those that have a row in any table.
    """
    texts = {number: place for place, number in enumerate(texts_of(frames))}
    cells = [_Cells.of(len(texts)) for _ in frames]
    for own, frame in zip(cells, frames, strict=True):
        chosen = frame.filter(
            (pl.col("ranking") == ranking) & (pl.col("removal") == removal) & pl.col("outcome").is_not_null()
        )
        place = torch.tensor([texts[number] for number in chosen["example"].to_list()], dtype=torch.long)
        own.predicted[place] = _numbers([labels.index(label) for label in chosen["predicted"]])
        own.points[place] = _values([POINTS.get(outcome, torch.nan) for outcome in chosen["outcome"]])
        own.decided[place] = _values([float(outcome != "no_small_set") for outcome in chosen["outcome"]])
        own.luck[place] = _values(chosen["luck"].to_list())
        own.reason[place] = _numbers([-1 if why is None else REASONS.index(why) for why in chosen["reason"]])
    names = tuple(frame["run"][0] if len(frame) else "" for frame in frames)
    stacked = (torch.stack([getattr(own, name) for own in cells]) for name in _Cells.__slots__)
    return Outcomes(*stacked, runs=names)


def flags_of(frames: Sequence[pl.DataFrame], column: str) -> Tensor:
    """A column of yes and no of attention if words are deleted, [seed text]: 1, 0, or NaN if there is none."""
    texts = {number: place for place, number in enumerate(texts_of(frames))}
    values = torch.full((len(frames), len(texts)), torch.nan, dtype=torch.float64)
    for own, frame in zip(values, frames, strict=True):
        chosen = frame.filter(
            (pl.col("ranking") == "attention") & (pl.col("removal") == "delete") & pl.col(column).is_not_null()
        )
        place = torch.tensor([texts[number] for number in chosen["example"].to_list()], dtype=torch.long)
        own[place] = _values(chosen[column].cast(pl.Float64).to_list())
    return values


def texts_of(frames: Sequence[pl.DataFrame]) -> list[int]:
    """The numbers of all texts, ascending."""
    return sorted({number for frame in frames for number in frame["example"].unique().to_list()})


class _Cells:
    """One seed's cells."""

    __slots__ = ("predicted", "points", "decided", "luck", "reason")

    @classmethod
    def of(cls, count: int) -> "_Cells":
        own = cls()
        own.predicted, own.reason = (torch.full((count,), -1, dtype=torch.long) for _ in range(2))
        own.points, own.decided, own.luck = (torch.full((count,), torch.nan, dtype=torch.float64) for _ in range(3))
        return own


def _numbers(values: Sequence[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def _values(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
