"""What a study is: the runs it needs, its tables beside the paper's, its claims tested, its figures redrawn."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import resources
from typing import Any, Literal

import polars as pl

from heedful.battery.question import Columns, Values
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
        outcome: how outcomes of its texts are computed, an audit of its own; None: they are not.
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
    outcome: AuditSettings | None = None


@dataclass(frozen=True)
class Cell:
    """What was measured of one model on one data set, over all seeds.

    Args:
        data, model, encoder, method, role: as in its `StudyRun`s.
        runs: one per seed.
        columns: what the audits found: `test.measure` -> [seed text]; `outcome.NAME` is of other texts.
        companions: the runs that the audits compared them with.
        seconds: how long the audits took.
        tokens: what was recorded of tokens during training, one table per seed; empty where nothing was.
        history: epoch, split, measure, value, one table per seed; empty where the method logs nothing.
        words: texts of the audits word by word, one table per seed: example, item, word, replaced, measure, value.
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
    words: tuple[pl.DataFrame, ...] = ()

    @property
    def shown(self) -> pl.DataFrame:
        """The texts of the first seed's audit word by word; empty where nothing was audited."""
        return self.words[0] if self.words else pl.DataFrame()

    @property
    def classes(self) -> int:
        """How many classes the data has."""
        return len(self.runs[0].labels)


@dataclass(frozen=True)
class Results:
    """All cells of a study, in the study's order.

    Args:
        errors: why runs or audits failed, by key.
        missing: cells that are not whole, and how much of each is done.
    """

    scale: str
    cells: tuple[Cell, ...]
    errors: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

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
        alike: whether all columns are of one measure, so that one number may say how far they agree with the paper's.
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
    alike: bool = False


Word = Literal["replicated", "mixed", "not replicated", "open", "not tested"]
Outcome = Literal["holds", "opposite", "no relevant effect", "open"]


@dataclass(frozen=True)
class Claim:
    """A claim as one `[[claim]]` of `claims.toml` states it, margins and their reasons among it.

    Args:
        id: short and stable; unique within its study.
        origin: a quote of the paper, our reading of it (threshold or scope ours, or no text at hand), or our own.
        quote: the paper's own words; "" unless the origin is a quote.
        place: where the paper says so.
        statement: the claim in a plain sentence.
        kind: that there is more (`of` minus `minus`), no loss, the same, a share above the baseline, or a trend.
        measure: a column, or a named function of the study (`Study.measures`).
        of, minus: fields that select cells (encoder, method, role), or another measure; `minus` changes those of `of`,
            and is empty where nothing is subtracted.
        learnt: which side must have learnt its task: "of", "minus", "both" or "".
        unit: of the effect and of the margin.
        margin: the smallest effect that matters.
        fixed: when the margin was fixed.
        sets: datasets, ours, that can show it.
        excepts: sets that the paper itself excepts, with the reason: they are shown and do not count.
        stand_ins: sets that stand in for the paper's, and for what.
        paper: where `published.csv` has the effect: item, of, minus, model, minus_model; `why` where it has none.
        scope: what differs from the paper's sentence; not empty: it is a reading.
        baseline: of kind "share": the share that must be exceeded.
    """

    id: str
    origin: Literal["quote", "reading", "own"]
    place: str
    statement: str
    kind: Literal["more", "no_loss", "same", "share", "trend"]
    measure: str
    unit: str
    margin: float
    margin_reason: str
    fixed: date
    sets: tuple[str, ...]
    quote: str = ""
    of: Mapping[str, str] = field(default_factory=dict)
    minus: Mapping[str, str] = field(default_factory=dict)
    learnt: Literal["of", "minus", "both", ""] = ""
    excepts: Mapping[str, str] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    paper: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    baseline: float = 0.0


@dataclass(frozen=True)
class SetEffect:
    """What one dataset says about a claim.

    Args:
        effect: its mean over seeds and texts, with the 95% interval.
        paper: the paper's effect on the same set; None where it prints none.
        counts: whether the claim's word rests on it; `why` says why not, or what it stands in for.
        predicted: whether the paper's number lies where one further run of ours would.
    """

    data: str
    effect: Estimate
    outcome: Outcome
    paper: float | None = None
    counts: bool = True
    why: str = ""
    predicted: bool | None = None


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, what each set says about it, and the word that follows.

    Args:
        p: that no majority of the sets shows the effect (partial conjunction).
        mean: over the sets that count, as a description.
        new_set: where the effect on a further set would lie, as a description.
        decides: for an open claim, which seeds or texts would decide it.
        margins: hash of what the claim was judged by.
    """

    claim: Claim
    sets: tuple[SetEffect, ...]
    word: Word
    p: float
    mean: Estimate | None
    new_set: tuple[float, float] | None
    decides: str
    margins: str


@dataclass(frozen=True)
class Study:
    """A paper, reproduced.

    Args:
        name: the command's argument.
        folder: where its words, notes and the paper's numbers are, in `heedful/papers/`.
        scales: for each scale, what is run, in words.
        runs: from a scale to the runs it needs.
        columns: what claims measure of a cell that no audit does, by name.
        measures: what they measure of the results on a dataset, by name, if `of` and `minus` cannot express it.
        figures: drawn from the results, in the paper's order.
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
    figures: Callable[[Results], list[Figure]]
    columns: Mapping[str, Callable[[Cell], Values]] = field(default_factory=dict)
    measures: Mapping[str, Callable[[Results, str], Values | None]] = field(default_factory=dict)
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
