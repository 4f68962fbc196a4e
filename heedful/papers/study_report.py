"""What a study found: tables, claims and figures with their words, as its pages show it and its JSON file keeps it."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import compress
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from heedful import __version__
from heedful.formatting import UNDEFINED, format_estimate, format_number, format_seconds
from heedful.measures import Estimate
from heedful.papers.claim_rule import DECIMALS, ORIGINS, cell_has_learnt, judge_claims
from heedful.papers.published import PAPERS, Place, published, read_numbers
from heedful.papers.reproduction import Cell, Entry, JudgedClaim, Results, Study, Table
from heedful.papers.study_figures import Heading, intervals_figure
from heedful.report.figure import Figure, inline_svg
from heedful.settings import Run, key_of


@dataclass(frozen=True)
class Drawing:
    """A figure of a study: its words, and the drawing as an SVG element.

    Args:
        source: the paper, and after a comma the figure of it that is redrawn.
    """

    name: str
    title: str
    source: str
    caption: str
    alt: str
    svg: str

    @property
    def item(self) -> str:
        """The figure of the paper that is redrawn, by the paper's name for it; "" where it redraws none."""
        place = re.search(r", (.*(?:Figure|Table|section).*)", self.source, flags=re.IGNORECASE)
        return place[1][:1].upper() + place[1][1:] if place else ""


@dataclass(frozen=True)
class StudyReport:
    """Everything that was found of a study, and how it was run.

    Args:
        remarks: sentences on what the tables show, made from the numbers.
        ran: a row per cell: what was run, and for how long.
    """

    study: Study
    scale: str
    command: str
    tables: tuple[Table, ...]
    claims: tuple[JudgedClaim, ...]
    remarks: tuple[str, ...]
    figures: tuple[Drawing, ...]
    ran: tuple[Mapping[str, str], ...]
    facts: Mapping[str, str]
    errors: Mapping[str, str]


def summarize(study: Study, results: Results, command: str, workers: int) -> StudyReport:
    """The report on these results: tables, claims and figures made, time added up."""
    with read_numbers() as shown:
        tables = [_with_sizes(table, results) for table in study.tables(results)]
        figures = study.figures(results)
    claims = judge_claims(study, results)
    return StudyReport(
        study=study,
        scale=results.scale,
        command=command,
        tables=(*tables, *_unmeasured(study, shown)),
        claims=tuple(claims),
        remarks=tuple(study.remarks(results)),
        figures=tuple(_drawn(figure) for figure in (*figures, *_claim_figures(claims))),
        ran=tuple(_ran(cell) for cell in results.cells),
        facts=_report_facts(study, results, workers),
        errors=results.errors,
    )


def _drawn(figure: Figure) -> Drawing:
    svg = str(inline_svg(figure))
    return Drawing(figure.name, figure.title, figure.source, figure.caption, figure.alt, svg)


FEWEST_CELLS = 4
"""Cells below which no agreement is given, and numbers below which no figure is drawn."""


def _claim_figures(claims: Sequence[JudgedClaim]) -> Iterator[Figure]:
    """For each list of claims and each unit, what every dataset shows, with the paper's number."""
    kinds = dict.fromkeys((each.claim.origin, each.claim.unit) for each in claims if each.sets)
    for number, kind in enumerate(kinds):
        own = [each for each in claims if (each.claim.origin, each.claim.unit) == kind]
        parts = {(part.data, each.claim.statement): part for each in own for part in each.sets}
        printed = {place: part.paper for place, part in parts.items() if part.paper is not None}
        if len(parts) < FEWEST_CELLS:
            continue
        heading = Heading(f"claims_{kind[0]}_{number}", f"{ORIGINS[kind[0]]}, in {kind[1]}", kind[0])
        yield from intervals_figure({place: part.effect for place, part in parts.items()}, kind[1], heading, printed)


def study_notes(study: Study) -> list[list[str]]:
    """The paragraphs of `notes.md`: what the paper claims, where we differ, and where the paper or its code errs."""
    file = resources.files("heedful.papers") / study.folder / "notes.md"
    _, *sections = re.split(r"^## .*$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    paragraphs = [[" ".join(part.split()) for part in text.strip().split("\n\n")] for text in sections]
    return [*paragraphs, []][:3]  # some papers have no errors that we know of


def _report_facts(study: Study, results: Results, workers: int) -> dict[str, str]:
    runs = {key_of(file.run): file for cell in results.cells for file in (*cell.runs, *cell.comparison_models)}
    seconds = sum((each.seconds for each in (*runs.values(), *results.cells)), 0.0)
    versions = results.cells[0].runs[0].versions if results.cells else {}
    time = f"{format_seconds(seconds)} of one core; with {workers} workers about {format_seconds(seconds / workers)}"
    constant = [f"{cell.data}, {cell.model}" for cell in results.cells if not cell_has_learnt(cell)]
    return {
        "Scale": f"{results.scale}: {study.scales[results.scale]}",
        "Trained models": str(len(runs)),
        **({"Not significantly better than a constant prediction": "; ".join(constant)} if constant else {}),
        "Computing time": time,
        **({"Not done yet, and not in these numbers": "; ".join(results.missing)} if results.missing else {}),
        "Versions": ", ".join(f"{name} {version}" for name, version in {"heedful": __version__, **versions}.items()),
    }


def _ran(cell: Cell) -> dict[str, str]:
    run = cell.runs[0].run
    epochs = (run.finetune or run.training).epochs
    return {
        "data": cell.data,
        "model": cell.model,
        "seeds": ", ".join(str(file.run.seed) for file in cell.runs),
        "training texts": f"{limit:,} at most" if (limit := run.data.train_limit) else "all",
        "words per text": _length(run),
        "epochs": f"{', '.join(str(file.chosen_epoch) for file in cell.runs)} of {epochs}",
        "training": format_seconds(sum(file.seconds for file in (*cell.runs, *cell.comparison_models))),
        "audit": format_seconds(cell.seconds) if cell.columns else "-",
    }


def _length(run: Run) -> str:
    if run.finetune is not None:
        return f"{run.finetune.max_tokens} pieces at most"
    return f"{most} at most" if (most := run.text.max_tokens) else "all"


def _with_sizes(table: Table, results: Results) -> Table:
    """The table; where its rows were run at several scales, with a column that says how much each of them saw."""
    sizes: dict[tuple[str, ...], str] = {(cell.data, cell.model): _size(cell) for cell in results.cells}
    own = [sizes.get(about[:2], "") for about, _ in table.rows]
    if table.head[:2] != ("data", "model") or len({*own} - {""}) < 2:
        return table
    rows = tuple(((*about, size), entries) for (about, entries), size in zip(table.rows, own, strict=True))
    return replace(table, head=(*table.head, "seeds, texts, words"), rows=rows)


def _size(cell: Cell) -> str:
    run = cell.runs[0].run
    return f"{len(cell.runs)}, {run.data.train_limit or 'all'}, {_length(run).removesuffix(' at most')}"


UNMEASURED = "Numbers of the paper alone"


def _unmeasured(study: Study, shown: set[Place]) -> list[Table]:
    """A table of what the paper prints and no other table or figure shows; empty if nothing is left."""
    if study.folder not in PAPERS:
        return []
    numbers = published(study.folder)
    rows = tuple(
        (tuple(place), (Entry(None, value), Entry(None, spread)))
        for *place, value, spread in numbers.select(*Place._fields, "value", "spread").iter_rows()
        if Place(*place) not in shown
    )
    note = "What the paper prints where this page has no number of ours: data or models that were not run."
    table = Table(UNMEASURED, "printed, not measured here", note, Place._fields, ("value", "deviation"), rows)
    return [table] if rows else []


# Tables as text, and how far ours agree with the paper's.


def number_text(value: float | None) -> str:
    """A number as tables show it.

    >>> number_text(0.4567), number_text(12.3), number_text(16_175.0), number_text(1.8e-8), number_text(None)
    ('0.457', '12.3', '16,175', '1.8e-08', '–')
    """
    if value is not None and value >= 10 and value.is_integer():
        return f"{value:,.0f}"
    return format_number(value, decimals=DECIMALS)


def estimate_text(estimate: Estimate | None) -> str:
    """A number and its interval.

    >>> estimate_text(Estimate(0.5, 0.45, 0.55, 100))
    '0.500 (0.450 to 0.550)'
    """
    if estimate is None:
        return UNDEFINED
    return format_estimate(estimate.value, estimate.low, estimate.high, decimals=DECIMALS)


MOST_ROWS, MOST_NUMBERS = 25, 60
"""A table with more of either is folded."""


def is_long(table: Table) -> bool:
    """Whether a table is so long that its page folds it."""
    return len(table.rows) > MOST_ROWS or len(table.rows) * len(table.columns) > MOST_NUMBERS


def table_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table as text.

    The paper's numbers have a separate column next to ours; a column without a number of ours says so.
    """
    head, rows, holds = [*table.head], [[*about] for about, _ in table.rows], _holds(table)
    for place, (name, (ours, paper)) in enumerate(zip(table.columns, holds, strict=True)):
        head += [name, "paper"] if ours and paper else [f"{name} (published)" if paper else name]
        for row, (_, entries) in zip(rows, table.rows, strict=True):
            row += [estimate_text(entries[place].ours)] if ours or not paper else []
            row += [number_text(entries[place].paper)] if paper else []
    return head, rows


def _holds(table: Table) -> list[tuple[bool, bool]]:
    """For each column of numbers, whether some row has a number of ours, and one of the paper."""
    columns = [[entries[place] for _, entries in table.rows] for place in range(len(table.columns))]
    return [(any(each.ours for each in own), any(each.paper is not None for each in own)) for own in columns]


def own_cells(table: Table) -> Table:
    """The rows and columns in which the paper prints a number."""
    kept = [paper for _, paper in _holds(table)]
    rows = tuple(
        (about, tuple(compress(entries, kept)))
        for about, entries in table.rows
        if any(each.paper is not None for each in entries)
    )
    return replace(table, columns=tuple(compress(table.columns, kept)), rows=rows)


SPREAD = re.compile(r"deviation|s\.d\.")
"""Columns of standard deviations."""
Pairs = list[tuple[float, float]]


@dataclass(frozen=True)
class Agreement:
    """How far numbers agree with the paper's: over how many cells, Spearman's rank correlation, the mean difference."""

    of: str
    cells: int
    rank: float
    difference: float


def agreements(table: Table) -> list[Agreement]:
    """The agreement of each column with the paper's, and of all together if they are of one measure.

    Other people's numbers are compared with the paper's of the column that their title begins with.
    """
    columns: list[tuple[str, Pairs]] = []
    printed: dict[str, list[float | None]] = {}
    for place, (title, (ours, paper)) in enumerate(zip(table.columns, _holds(table), strict=True)):
        own = [entries[place] for _, entries in table.rows]
        numbers = [each.ours.value if each.ours else None for each in own] if ours else [each.paper for each in own]
        if ours and paper:
            printed[title] = [each.paper for each in own]
        held = max((name for name in printed if paper and title.startswith(name)), key=len, default="")
        both = zip(numbers, printed.get(held, [None] * len(own)), strict=True)
        pairs = [(number, other) for number, other in both if number is not None and other is not None]
        columns.append((title, [pair for pair in pairs if all(map(math.isfinite, pair))]))
    if table.alike:
        columns.insert(0, ("all columns", [pair for _, pairs in columns for pair in pairs]))
    return [_agreement(title, pairs) for title, pairs in columns if len(pairs) >= FEWEST_CELLS]


def _agreement(of: str, pairs: Pairs) -> Agreement:
    frame = pl.DataFrame(pairs, schema=["number", "paper"], orient="row")
    number, paper = pl.col("number"), pl.col("paper")
    rank, difference = frame.select(pl.corr(number.rank(), paper.rank()), mean=(number - paper).mean()).row(0)
    return Agreement(of, len(pairs), rank, difference)


def agreement_cells(table: Table, *, by_model: bool = False) -> list[list[str]]:
    """A row for each column: what is compared, over how many cells, the rank correlation and the mean difference.

    Args:
        by_model: whether there are rows for the agreement within each model, too.
    """
    parts = {"": table}
    places = [place for place, title in enumerate(table.head) if title in ("model", "encoder")]
    for place in places[:1] if by_model else ():
        for name in dict.fromkeys(about[place] for about, _ in table.rows):
            rows = tuple(row for row in table.rows if row[0][place] == name)
            parts |= {f", {name}": replace(table, rows=rows)} if len(rows) < len(table.rows) else {}
    return [
        [f"{each.of}{part}", str(each.cells), format_number(each.rank), f"{each.difference:+.3f}"]
        for part, own in parts.items()
        for each in agreements(own)
    ]


def agreement_text(table: Table) -> str:
    """How far the table agrees with the paper's, in a sentence without deviations; "" if few cells can be compared."""
    known = [each for each in agreements(table) if not SPREAD.search(each.of)][: 1 if table.alike else None]
    columns = ", ".join(f"{each.of} {format_number(each.rank)} ({each.cells} cells)" for each in known)
    return f"Rank agreement with {table.name} (Spearman): {columns}." if known else ""


# JSON: for a program to read, and to write the pages again.

REPORT = TypeAdapter(StudyReport)
NULL_IF_UNDEFINED = ("value", "low", "high", "p")


def as_json(report: StudyReport) -> dict[str, Any]:
    """The report without its drawings; undefined numbers are null."""
    text = REPORT.dump_json(report, exclude={"study": True, "figures": {"__all__": {"svg"}}})
    return {"study": report.study.name, **json.loads(text)}


def read_report(study: Study, folder: Path) -> StudyReport:
    """The report that NAME.json in the folder holds, with the drawings in NAME/."""

    def known(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: math.nan if each is None and key in NULL_IF_UNDEFINED else each for key, each in fields.items()}

    content = json.loads((folder / f"{study.name}.json").read_text(encoding="utf-8"), object_hook=known)
    for figure in content["figures"]:
        figure["svg"] = (folder / study.name / f"{figure['name']}.svg").read_text(encoding="utf-8")
    return REPORT.validate_python({**content, "study": study})
