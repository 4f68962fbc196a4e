"""What a study is: the runs it needs, its tables beside the paper's, its claims tested, its figures redrawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from heedful.battery.questions import Columns
from heedful.errors import pick
from heedful.measures import Estimate
from heedful.report.figure import Figure
from heedful.runs.grid import Planned
from heedful.runs.store import RunFile
from heedful.settings import AuditSettings, Run

SCALES = ("small", "medium", "paper")
"""Minutes on two cores; at most two hours, as the pages in docs/ hold; all that the paper ran."""


@dataclass(frozen=True)
class Wanted:
    """A run that a study needs.

    Args:
        data, model: what its cell of the tables is called; runs of one cell differ in the seed alone.
        base: the run that this one refers to, where its method or attention needs one.
        audit: with which tests it is audited; None: it is not.
        seeds: the same model from other seeds, which the audit compares with it.
        adversaries: runs that refer to this one, trained to predict alike and attend elsewhere.
    """

    data: str
    model: str
    run: Run
    base: Run | None = None
    audit: AuditSettings | None = None
    seeds: tuple[Run | Planned, ...] = ()
    adversaries: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Cell:
    """What was measured of one model on one data set, over all seeds.

    Args:
        runs: one a seed.
        columns: what the audits found, `test.measure` -> [seed text].
        beside: the runs that the audits compared them with: other seeds, adversaries.
        seconds: that the audits took.
        tokens: what was recorded of tokens along training, one table a seed; empty where nothing was.
        history: epoch, split, measure, value, one table a seed; empty where the method follows nothing.
        shown: texts of the first seed's audit word by word: example, item, word, replaced, measure, value.
    """

    data: str
    model: str
    runs: tuple[RunFile, ...]
    columns: Columns
    beside: tuple[RunFile, ...] = ()
    seconds: float = 0.0
    tokens: tuple[pl.DataFrame, ...] = ()
    history: tuple[pl.DataFrame, ...] = ()
    shown: pl.DataFrame = field(default_factory=pl.DataFrame)


@dataclass(frozen=True)
class Results:
    """All cells of a study by data and model, in the study's order; and why runs or audits failed, where they did."""

    scale: str
    cells: Mapping[tuple[str, str], Cell]
    errors: Mapping[str, str]

    @property
    def datasets(self) -> list[str]:
        """Every data set, in order."""
        return list(dict.fromkeys(data for data, _ in self.cells))

    @property
    def models(self) -> list[str]:
        """Every model, in order."""
        return list(dict.fromkeys(model for _, model in self.cells))

    def having(self, *columns: str, model: str | None = None) -> list[Cell]:
        """The cells (of one model) in which all of these columns were measured."""
        wanted = [cell for cell in self.cells.values() if model in (None, cell.model)]
        return [cell for cell in wanted if all(name in cell.columns for name in columns)]


@dataclass(frozen=True)
class Entry:
    """A number of ours, how sure it is, and the paper's beside it; None where there is none."""

    ours: Estimate | None
    paper: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper, ours beside it.

    Args:
        name: as the paper calls it, "Table 2"; or what it is, where the paper has none.
        head: titles of the columns that say what a row is about.
        columns: titles of the columns of numbers.
        rows: what the row is about, and its entries.
    """

    name: str
    title: str
    note: str
    head: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Entry, ...]], ...]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, tested on our rows.

    Args:
        measured: what the number is, in words; the claim says that it lies above the threshold.
        parts: the number for each data set (or model) that could show it.
        pooled: the mean of the parts.
        verdict: confirmed, not confirmed, contradicted, or not tested.
    """

    statement: str
    source: str
    measured: str
    threshold: float
    parts: Mapping[str, Estimate]
    pooled: Estimate
    verdict: str


@dataclass(frozen=True)
class Study:
    """A paper, repeated.

    Args:
        name: the command's argument; `words/` holds what is said about it: the paper's claims, where we differ and why.
        scales: for each scale, what is run, in words.
        wanted: the runs of a scale.
    """

    name: str
    title: str
    paper: str
    scales: Mapping[str, str]
    wanted: Callable[[str], list[Wanted]]
    tables: Callable[[Results], list[Table]]
    claims: Callable[[Results], list[Claim]]
    figures: Callable[[Results], list[Figure]]

    def runs(self, scale: str) -> list[Wanted]:
        """The runs of that scale; an unknown one is an error that lists the known."""
        pick("scale", scale, self.scales)
        return self.wanted(scale)
