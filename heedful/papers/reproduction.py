"""What a study is: the runs it needs, its tables beside the paper's, its claims tested, its figures redrawn."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from math import nan
from typing import Any, Literal

import polars as pl

from heedful.battery.question import Columns
from heedful.errors import lookup
from heedful.jobs.planning import RunWithBase
from heedful.measures import Estimate
from heedful.models.hugging_face.model_files import HOW, NAME, has_minilm
from heedful.report.figure import Figure
from heedful.settings import AuditSettings, ComparisonModels
from heedful.store.store import RunFile

SCALES = ("small", "medium", "paper")
"""Minutes on two cores; at most two hours, as for the pages in docs/; everything that the paper ran."""


@dataclass(frozen=True)
class Adversary:
    """A model to be trained against a run; it becomes a run itself once that run has its key.

    Args:
        changes: training settings that differ from those of `heedful.jobs.planning.adversary_of`.
    """

    seed: int
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRun:
    """A run that a study needs, and the cell it belongs to; the runs of one cell differ in the seed alone.

    Args:
        model: what tables call the model of the cell.
        encoder, method, role: what the study selects cells by: the encoder; what it varies besides (attention,
            training method, scaling factor, shape); and why the run is there, "" for the main ones.
        run: together with the run it refers to, where its method or attention needs one.
        audit: which tests it is audited with; None: it is not audited.
        seeds: runs that the audit compares it with, usually the same model from other seeds.
        adversaries: models trained to predict alike and attend elsewhere.
    """

    data: str
    model: str
    encoder: str
    method: str
    run: RunWithBase
    role: str = ""
    audit: AuditSettings | None = None
    seeds: tuple[RunWithBase, ...] = ()
    adversaries: tuple[Adversary, ...] = ()


@dataclass(frozen=True)
class Cell:
    """What was measured of one model on one data set, over all seeds.

    Args:
        data, model, encoder, method, role: as in its `StudyRun`s.
        runs: one per seed.
        columns: what the audits found: `test.measure` -> [seed text].
        companions: the runs that the audits compared them with.
        seconds: how long the audits took.
        tokens: what was recorded of tokens during training, one table per seed; empty where nothing was.
        history: epoch, split, measure, value, one table per seed; empty where the method logs nothing.
        shown: texts of the first seed's audit word by word: example, item, word, replaced, measure, value.
    """

    data: str
    model: str
    encoder: str
    method: str
    runs: tuple[RunFile, ...]
    columns: Columns
    role: str = ""
    comparison_models: ComparisonModels[RunFile] = ComparisonModels()
    seconds: float = 0.0
    tokens: tuple[pl.DataFrame, ...] = ()
    history: tuple[pl.DataFrame, ...] = ()
    shown: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def classes(self) -> int:
        """How many classes the data has."""
        return len(self.runs[0].labels)


@dataclass(frozen=True)
class Results:
    """All cells of a study, in the study's order; and why runs or audits failed, where they did."""

    scale: str
    cells: tuple[Cell, ...]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """Every data set, in order."""
        return list(dict.fromkeys(cell.data for cell in self.cells))

    def select(
        self,
        *columns: str,
        data: str | None = None,
        encoder: str | None = None,
        method: str | None = None,
        role: str | None = "",
    ) -> list[Cell]:
        """The cells with these fields (None: any) in which all of these columns were measured, in order.

        Without a role, the main cells only.
        """
        asked = {"data": data, "encoder": encoder, "method": method, "role": role}
        return [
            cell
            for cell in self.cells
            if all(value in (None, getattr(cell, name)) for name, value in asked.items())
            and all(column in cell.columns for column in columns)
        ]

    def find(
        self, *columns: str, data: str, encoder: str | None = None, method: str | None = None, role: str | None = ""
    ) -> Cell | None:
        """The only cell that `select` would return; None where there is none."""
        cells = self.select(*columns, data=data, encoder=encoder, method=method, role=role)
        if len(cells) > 1:
            raise ValueError(f"only one cell may match; these do: {', '.join(cell.model for cell in cells)}.")
        return cells[0] if cells else None


@dataclass(frozen=True)
class Entry:
    """Our number with its interval, and the paper's number; None where there is none."""

    ours: Estimate | None
    paper: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper, with our numbers beside it.

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


Verdict = Literal["confirmed", "not confirmed", "contradicted", "not tested"]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with its number; and, once it is tested, what the rows say about it.

    Args:
        id: short and stable; unique within its study.
        statement: the claim in a plain sentence.
        quote: a few words of the paper's own sentence; "" where the reading is ours, which the source then says.
        source: where the paper says so.
        measured: what the number is, in words; a larger one supports the claim.
        unit: of the number and of the margin.
        margin: the smallest difference from the baseline that matters.
        kind: "more" claims that there is an effect, "no_less" that nothing is lost: see `bounds`.
        baseline: the number where there is no effect.
        excepts: parts that the paper itself excepts: shown, and not counted.
        parts: the number for each data set (or model) that could show it.
        pooled: the mean of the parts that count.
        trainings: how many trained models are behind it.
        left_out: parts whose models have not learnt their task.
        exceptions: parts whose own interval lies on the other side of the bound that the mean is beyond.
        p: two-sided, that the true number lies at the bound; 1 where the mean is beyond none.
        unadjusted: the verdict on this claim alone.
        verdict: the verdict on it as one of several claims of the paper.
    """

    id: str
    statement: str
    quote: str
    source: str
    measured: str
    unit: str
    margin: float
    kind: Literal["more", "no_less"] = "more"
    baseline: float = 0.0
    excepts: tuple[str, ...] = ()
    parts: Mapping[str, Estimate] = field(default_factory=dict)
    pooled: Estimate = Estimate(nan, nan, nan, 0)
    trainings: int = 0
    left_out: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    p: float = nan
    unadjusted: Verdict = "not tested"
    verdict: Verdict = "not tested"

    @property
    def bounds(self) -> tuple[float, float]:
        """Contradicted if the number is surely below the first, confirmed if it is surely above the second."""
        lower = self.baseline - self.margin
        return lower, lower if self.kind == "no_less" else self.baseline + self.margin


@dataclass(frozen=True)
class Study:
    """A paper, reproduced.

    Args:
        name: the command's argument.
        folder: where its words, notes and the paper's numbers are, in `heedful/papers/`.
        scales: for each scale, what is run, in words.
        runs: from a scale to the runs it needs.
        claims: each tested by itself; `claims.decide` adjusts the verdicts for their number.
        figures: drawn from the results and the tested claims by their ids.
        paper_ran: what the paper ran.
        main: the name of the paper's main table.
        beyond: names of tables and figures that are not in the paper.
        missing: tables and figures of the paper that are not on the page, each with the reason.
        remarks: sentences on what the tables show, made from the numbers.
        require: raises where something is missing without which no run can be done.
    """

    name: str
    folder: str
    title: str
    paper: str
    scales: Mapping[str, str]
    runs: Callable[[str], list[StudyRun]]
    tables: Callable[[Results], list[Table]]
    claims: Callable[[Results], list[Claim]]
    figures: Callable[[Results, Mapping[str, Claim]], list[Figure]]
    paper_ran: str = ""
    main: str = ""
    beyond: Sequence[str] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    remarks: Callable[[Results], list[str]] = lambda results: []
    require: Callable[[], None] = lambda: None

    def runs_at(self, scale: str) -> list[StudyRun]:
        """The runs of that scale; an unknown one is an error that lists the known."""
        lookup("scale", scale, self.scales)
        return self.runs(scale)


def study_file(folder: str, name: str) -> dict[str, Any]:
    """What a file of a study's folder says: `study.toml` name, title, paper and scales, `claims.toml` the claims."""
    file = resources.files("heedful.papers") / folder / name
    return tomllib.loads(file.read_text(encoding="utf-8"))


# MiniLM as an encoder of studies: frozen, under the attention and the head of the others, where it is at hand.

MINILM = NAME
ENCODER = f"hf:{NAME}"
"""What settings call it."""


def encoders_with_minilm(encoders: tuple[str, ...], *, wanted: bool = True) -> tuple[str, ...]:
    """These encoders and MiniLM, where it is wanted and at hand."""
    return (*encoders, MINILM) if wanted and has_minilm() else encoders


def remark_on_minilm(results: Results, stands_for: str) -> list[str]:
    """What is missing where MiniLM was not at hand, as a sentence.

    Args:
        stands_for: what it would show.
    """
    if any(cell.encoder == MINILM for cell in results.cells):
        return []
    return [f"MiniLM was not at hand, so {stands_for} is missing: {HOW}."]


# Settings that recipes of papers fix: they hold whatever the package's defaults are.

NORMAL_START: dict[str, Any] = {"embedding_start": "normal"}
"""Of networks: words without pretrained vectors start at N(0, 1)."""
NEVER_EARLY: dict[str, Any] = {"patience": 0, "min_epochs": 1, "chosen_from": 1}
"""Of training: all epochs, any of which may be chosen."""
