"""A study's page, one for each paper and in the paper's order, as Markdown with its figures and as one HTML file."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from pathlib import Path
from statistics import mean
from typing import get_args

from markupsafe import Markup, escape

from heedful.papers.claim_rule import ORIGINS, effect_text, sets_text, summary_sentence
from heedful.papers.reproduction import JudgedClaim, SetEffect, Study, Table, Word
from heedful.papers.study_report import (
    UNMEASURED,
    Drawing,
    StudyReport,
    agreement_cells,
    agreement_text,
    as_json,
    is_long,
    number_text,
    own_cells,
    study_notes,
    table_cells,
)
from heedful.report.page import templates

# What a page says, section by section.


@dataclass(frozen=True)
class Block:
    """A part of a section: what of it there is, in this order.

    Args:
        folded: the line under which details and grid are folded; "": they are not.
        grid: head and rows of a table.
        agreement: rows on how far it agrees with the paper's; never folded.
    """

    title: str = ""
    text: str = ""
    folded: str = ""
    details: str = ""
    grid: tuple[Sequence[str], Sequence[Sequence[str]]] = ((), ())
    agreement: Sequence[Sequence[str]] = ()
    drawing: Drawing | None = None


@dataclass(frozen=True)
class Section:
    """A section of a page; one without blocks is left out."""

    name: str
    title: str
    blocks: Sequence[Block]


SIZED = "Sized statements"
IN_PAPER = re.compile(r"(tables?|figures?|supplement|appendix|sections?|equations?|sized statements)\b", re.IGNORECASE)
"""What the name of something begins with that is in the paper."""


def page_sections(report: StudyReport) -> list[Section]:
    """The page in the order in which the paper's authors would look for it."""
    study, (claims, differences, errors) = report.study, study_notes(report.study)
    main = [table for table in report.tables if table.name == study.main]
    further = [replace(table, name=f"{table.name}, whole") for table in main if own_cells(table) != table]
    sized = [table for table in report.tables if table.name == SIZED]
    tables = [table for table in report.tables if table not in (*main, *sized)]
    figures = [figure for figure in report.figures if figure.source not in ORIGINS]
    own = [each for each in (*tables, *figures) if _is_own(study, each)]
    others = [*further, *(each for each in (*tables, *figures) if each not in own)]
    missing = [f"**{name}** is not here: {reason.rstrip('.')}." for name, reason in study.missing.items()]
    beyond = [*_claims(report, "own"), *_paragraphs(report.remarks), *map(_block, others)]
    sections = (
        Section("paper", "What the paper claims", _paragraphs(claims)),
        Section("main", "The main table", [_main_table(table) for table in main]),
        Section("sized", "Statements with a number", [*map(_block, sized)]),
        Section("tables", "Other tables and figures", [*map(_block, own), *_paragraphs(missing)]),
        Section("claims", ORIGINS["quote"], _claims(report, "quote")),
        Section("readings", ORIGINS["reading"], _claims(report, "reading")),
        Section("beyond", "Beyond the paper", beyond),
        Section("errors", "Where the paper or its code errs", _paragraphs(errors)),
        Section("differences", "Where we differ, and why", _paragraphs(differences)),
        Section("ran", "What was run", _ran(report)),
    )
    return [section for section in sections if section.blocks]


def _is_own(study: Study, each: Table | Drawing) -> bool:
    """Whether it is in the paper: by its name, unless the study says that it goes beyond."""
    name = each.name if isinstance(each, Table) else each.item
    return bool(IN_PAPER.match(name) or name == UNMEASURED) and not {name, each.name, each.title} & {*study.beyond}


def _paragraphs(texts: Iterable[str]) -> list[Block]:
    return [Block(text=text) for text in texts]


AGREEMENT = ("agreement of", "cells", "rank correlation (Spearman)", "mean difference from the paper")


def _main_table(table: Table) -> Block:
    """The main table, its own cells alone, and how far they agree with the paper's, also within each model."""
    own = own_cells(table)
    return replace(_block(own), folded="", agreement=agreement_cells(own, by_model=True))


def _block(each: Table | Drawing) -> Block:
    """A table, folded if it is long, or a figure."""
    if isinstance(each, Drawing):
        title = f"{each.item}: {each.title}" if each.item else each.title
        return Block(title=title, text=each.caption, drawing=each)
    folded = f"{len(each.rows)} rows" if is_long(each) else ""
    title = f"{each.name}: {each.title}"
    return Block(title, each.note, folded, grid=table_cells(each), agreement=agreement_cells(each))


def lead(report: StudyReport) -> list[str]:
    """What was run next to what the paper ran, and what became of the paper, a line for each."""
    study = report.study
    return [
        *([f"**The paper ran:** {study.paper_ran}"] if study.paper_ran else []),
        f"**We ran** (scale *{report.scale}*): {study.scales[report.scale]}.",
        f"**What became of it:** {summary_sentence(report.claims)} {main_agreement(report)}".strip(),
    ]


def main_agreement(report: StudyReport) -> str:
    """How far the main table agrees with the paper's; "" where nothing can be compared."""
    own = [own_cells(table) for table in report.tables if table.name == report.study.main]
    return " ".join(filter(None, map(agreement_text, own)))


def _ran(report: StudyReport) -> list[Block]:
    facts = " ".join(f"{name}: {fact}." for name, fact in report.facts.items())
    blocks = [Block(text=f"Made by `{report.command}`. {facts}")]
    if report.ran:
        grid = (list(report.ran[0]), [list(row.values()) for row in report.ran])
        blocks.append(Block(folded="Each model and its audit", grid=grid))
    return blocks + [Block(text=f"Failed: `{key}`: {error}") for key, error in report.errors.items()]


# Claims: a line each, which unfolds to what each dataset says.

WORDS: tuple[Word, ...] = get_args(Word)
SET_COLUMNS = ("dataset", "ours (95% interval)", "paper", "ours / paper", "outcome", "note")
RULE = "How a claim gets its word, dataset by dataset, is in docs/claims.md. A line unfolds to its datasets."


def _claims(report: StudyReport, origin: str) -> list[Block]:
    """The claims of one of the three lists, strongest first, and what their datasets show as a figure."""
    blocks = [
        Block(
            folded=_line(judged),
            details=_details(judged),
            grid=(SET_COLUMNS, [_set_row(judged, each) for each in judged.sets]) if judged.sets else ((), ()),
        )
        for judged in strongest_first(report, origin)
    ]
    drawn = [
        Block(text=f"{figure.title}. {figure.caption}", drawing=figure)
        for figure in report.figures
        if figure.source == origin
    ]
    return [Block(text=RULE), *blocks, *drawn] if blocks else []


def strongest_first(report: StudyReport, origin: str) -> list[JudgedClaim]:
    """The claims of one of the three lists, by their word and then by p."""
    own = [each for each in report.claims if each.claim.origin == origin]
    return sorted(own, key=lambda judged: (WORDS.index(judged.word), judged.p if isfinite(judged.p) else 1.0))


def claim_lines(report: StudyReport) -> list[str]:
    """A line for each claim, list by list."""
    return [_line(judged) for origin in ORIGINS for judged in strongest_first(report, origin)]


def _line(judged: JudgedClaim) -> str:
    held = f" {sets_text(judged)}" if judged.sets else ""
    return f"**{judged.word}**{held}: {judged.claim.statement} {_means(judged)}".strip()


def _unit(judged: JudgedClaim) -> str:
    return "percentage points of accuracy" if judged.claim.unit == "accuracy" else judged.claim.unit


def _means(judged: JudgedClaim) -> str:
    """Our mean effect over the datasets that count, of those with a number of the paper if there are any, and its."""
    counted = [each for each in judged.sets if each.counts]
    both = [each for each in counted if each.paper is not None] or counted
    if not both:
        return ""
    ours = both[0].effect if len(both) == 1 else mean(each.effect.value for each in both)
    printed = [each.paper for each in both if each.paper is not None]
    paper = f", the paper {effect_text(judged.claim, mean(printed))}" if printed else ""
    return f"Ours {effect_text(judged.claim, ours)}{paper} ({_unit(judged)})."


def _set_row(judged: JudgedClaim, each: SetEffect) -> list[str]:
    ratio = each.effect.value / each.paper if each.paper else nan
    inside = {True: "the paper's number is within a further run of ours", False: "the paper's number is outside"}
    notes = [each.why, "" if each.predicted is None else inside[each.predicted]]
    numbers = [effect_text(judged.claim, number) for number in (each.effect, each.paper)]
    outcome = each.outcome if each.counts else f"{each.outcome}; does not count"
    return [each.data, *numbers, number_text(ratio), outcome, "; ".join(filter(None, notes))]


def _details(judged: JudgedClaim) -> str:
    """The paper's words, the margin and its reason, and what describes or would decide the claim."""
    claim = judged.claim
    new_set = [effect_text(claim, end) for end in judged.new_set or ()]
    sentences = [
        f'The paper, {claim.place}: "{claim.quote}".' if claim.quote else f"Source: {claim.place}.",
        f"What differs from the paper's sentence: {claim.scope}." if claim.scope else "",
        f"Margin: {effect_text(claim, claim.margin)} ({_unit(judged)}), {claim.margin_reason}.",
        f"A further dataset would lie between {' and '.join(new_set)}." if new_set else "",
        f"p = {number_text(judged.p)} (partial conjunction)." if isfinite(judged.p) else "",
        f"What would decide it: {judged.decides}." if judged.decides else "",
    ]
    return " ".join(filter(None, sentences))


# The page as Markdown, with its figures next to it.

LONGEST_ALT = 200
"""Characters of a figure's description on the page; the drawing itself has all of it."""


def markdown_page(report: StudyReport) -> str:
    """The page NAME.md, which shows the figures NAME/FIGURE.svg."""
    study = report.study
    parts = [f"# {study.title}, reproduced", f"{study.paper}.", "\n".join(f"- {line}" for line in lead(report))]
    for section in page_sections(report):
        parts += [f"## {section.title}", *(part for block in section.blocks for part in _markdown(block, study.name))]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block, folder: str) -> list[str]:
    title = f"### {block.title}" if block.title else ""
    summary = f"<details><summary>{emphasized(block.folded)}</summary>" if block.folded else ""
    grid = markdown_table(*block.grid) if block.grid[0] else ""
    picture = f"![{_shortened(block.drawing.alt)}]({folder}/{block.drawing.name}.svg)" if block.drawing else ""
    agreement = markdown_table(AGREEMENT, block.agreement) if block.agreement else ""
    parts = [title, block.text, summary, block.details, grid, picture, summary and "</details>", agreement]
    return [part for part in parts if part]


def _shortened(text: str) -> str:
    """The text up to the last part that fits, if it is too long to be read aloud."""
    if len(text) <= LONGEST_ALT:
        return text
    return re.split(r"[,;] (?!.*[,;] )", text[:LONGEST_ALT])[0] + "; and so on."


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# The page as one HTML file, and all files of a study.

HERE = Path(__file__).parent
MARKS = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"`(.+?)`"), r"<code>\1</code>"),
)
LEFT = ("*.svg", "*.md")
"""What a study's folder may hold of it from an earlier time."""


def render_study(report: StudyReport) -> str:
    """The whole HTML page; every word in it is escaped, and it requests nothing from any network."""
    environment = templates(HERE)
    environment.filters["emphasized"] = emphasized
    return environment.get_template("study.html").render(
        report=report,
        lead=lead(report),
        agreement=AGREEMENT,
        facts=[("Scale", report.scale), ("Trained models", report.facts["Trained models"])],
        sections=[(section, [(block, _svg(block)) for block in section.blocks]) for section in page_sections(report)],
    )


def _svg(block: Block) -> Markup:
    return Markup(block.drawing.svg if block.drawing else "")


def emphasized(text: str) -> Markup:
    """Text with Markdown's two kinds of emphasis, and code."""
    html = str(escape(text))
    for mark, element in MARKS:
        html = mark.sub(element, html)
    return Markup(html)


def write_study(report: StudyReport, folder: Path) -> Path:
    """The path of the HTML page: NAME.html, NAME.md, NAME.json and the figures NAME/*.svg are written into the folder.

    Files that the study no longer has are removed from NAME/.
    """
    name = report.study.name
    content = json.dumps(as_json(report), indent=2, allow_nan=False)
    texts = {f"{name}/{figure.name}.svg": figure.svg for figure in report.figures}
    texts |= {f"{name}.md": markdown_page(report), f"{name}.json": f"{content}\n", f"{name}.html": render_study(report)}
    (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        (folder / path).write_text(text, encoding="utf-8")
    for path in [path for pattern in LEFT for path in (folder / name).glob(pattern)]:
        if f"{name}/{path.name}" not in texts:
            path.unlink()
    return folder / f"{name}.html"
