"""Columns of measures that stay on disk: each is read when it is asked for, so that memory does not grow with texts."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import polars as pl
import torch
from torch import Tensor

from heedful.battery.question import Values

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
