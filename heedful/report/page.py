"""The report as one HTML page that needs nothing but itself, and what all pages share."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from heedful import __version__, formatting
from heedful.report import battery_lines
from heedful.report.audits import AuditFiles, shown_settings
from heedful.report.drawing import DARK
from heedful.report.example_texts import chosen_texts, embedded_json, example_data
from heedful.report.figure import Figure, inline_svg
from heedful.report.figures import draw_figures
from heedful.report.texts import gather_texts
from heedful.schema import Verdict
from heedful.verdict import answer_text
from heedful.verdict.answer_text import BADGES

HERE = Path(__file__).parent
MOST_LABELS = 6
MOST_CLASSES = 7
"""Bars that are shown before the page is opened further, that of all texts among them."""
TITLES = {
    "stability": "Is attention stable?",
    "heads": "Is there any head that one may show?",
    "certificate": "How far may the weights be off before the prediction can change?",
}
"""Titles of groups of figures that belong to no single question."""


def render_page(audits: Sequence[AuditFiles], figures: Sequence[Figure] = ()) -> str:
    """The whole page. Every word that comes from the files is escaped; the page asks for nothing from any network.

    Args:
        figures: further ones, which come before those of the audits.
    """
    texts, verdicts = gather_texts(audits), [audit.verdict for audit in audits]
    examples = example_data(audits, texts.runs)
    payload = embedded_json(examples)
    page = templates().get_template("page.html")
    return page.render(
        question=answer_text.QUESTION,
        audits=list(zip(texts.runs, verdicts, strict=True)),
        rows=battery_lines.question_rows(audits),
        headings=battery_lines.group_headings(audits, texts.runs),
        inline_svg=inline_svg,
        groups=_grouped([*figures, *draw_figures(texts)], verdicts),
        chosen=chosen_texts(audits, examples) if examples["examples"] else {},
        recommended={answer_text.recommended_ranking(verdict) for verdict in verdicts},
        item=verdicts[0].item,
        most_classes=MOST_CLASSES,
        badges=BADGES,
        skipped={name: reason for verdict in verdicts for name, reason in verdict.skipped.items()},
        notes=list(dict.fromkeys(note for verdict in verdicts for note in verdict.notes)),
        made=_made(verdicts, texts.runs),
        facts=_facts(verdicts, texts.runs),
        commands=[command for command in dict.fromkeys(verdict.command for verdict in verdicts) if command],
        settings=_settings(verdicts),
        solvers=[_solvers(audit) for audit in audits],
        proven=all(set(audit.rows.filter(test="adversarial_attention")["solver"]) <= {"exact"} for audit in audits),
        examples=examples,
        payload=payload,
        nonce=content_nonce(payload),
        scripts=import_map(HERE),
    )


@cache
def import_map(*folders: Path) -> Markup:
    """The JavaScript modules of these folders, so that a page needs no other file to import `heedful/NAME.js`."""
    modules = sorted(path for folder in folders for path in folder.glob("*.js"))
    encoded = {f"heedful/{path.name}": base64.b64encode(path.read_bytes()).decode() for path in modules}
    addresses = {name: f"data:text/javascript;base64,{content}" for name, content in encoded.items()}
    return Markup(json.dumps({"imports": addresses}))


def content_nonce(content: str) -> str:
    """What the scripts of a page must carry to run: no text in it can, since it would have to contain its own hash."""
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def templates(*folders: Path) -> Environment:
    """The templates of the report and of these folders; every word put into them is escaped."""
    environment = Environment(loader=FileSystemLoader([*folders, HERE]), autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    shares = Markup((HERE / "shares.css").read_text(encoding="utf-8"))
    environment.globals |= {"style": style, "shares_style": shares, "dark": DARK, "version": __version__}
    environment.globals |= {
        "answer_text": answer_text,
        "tests": battery_lines,
        "formatting": formatting,
    }
    environment.filters |= {"printable": formatting.printable, "with_code": with_code}
    return environment


def with_code(sentence: str) -> Markup:
    """The sentence with its commands as code.

    >>> with_code("Run `heedful explain`, not <b>.")
    Markup('Run <code>heedful explain</code>, not &lt;b&gt;.')
    """
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(sentence))))


def _facts(verdicts: Sequence[Verdict], names: Sequence[str]) -> list[tuple[str, str]]:
    """What was audited, on what: name and words of each fact; those that differ between audits in the audits' order."""
    labels = verdicts[0].labels
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    facts = {
        "Model": [verdict.model or name for verdict, name in zip(verdicts, names, strict=True)],
        "Data": [verdict.data for verdict in verdicts],
        "Texts": [f"{verdict.texts:,} ({verdict.split})" for verdict in verdicts],
        "Seeds": [str(len(verdict.trainings) or 1) for verdict in verdicts],
        "Accuracy": [answer_text.accuracy_text(verdict) for verdict in verdicts],
        "Classes": [", ".join(labels[:MOST_LABELS]) + more],
    }
    return [(name, " · ".join(dict.fromkeys(values))) for name, values in facts.items() if any(values)]


def _grouped(figures: Sequence[Figure], verdicts: Sequence[Verdict]) -> dict[str, list[Figure]]:
    """The figures by the question that they belong to, in the words of the verdict."""
    titles = TITLES | {line.name: line.question for verdict in verdicts for line in verdict.lines}
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        groups.setdefault(titles.get(figure.group, figure.group), []).append(figure)
    return groups


def _made(verdicts: Sequence[Verdict], names: Sequence[str]) -> list[tuple[str, str]]:
    """When the audits were made, and of which trained models."""
    dates = sorted({verdict.date for verdict in verdicts if verdict.date})
    facts = [("Date", " to ".join(dict.fromkeys((dates[0], dates[-1]))))] if dates else []
    for name, verdict in zip(names, verdicts, strict=True):
        models = []
        for training in verdict.trainings:
            seed = "" if training.seed is None else f", seed {training.seed}"
            accuracy = training.scores.get("accuracy")
            models.append(training.run + seed + ("" if accuracy is None else f", accuracy {100 * accuracy:.1f}%"))
        label = "Run" if len(models) == 1 else "Runs"
        if models:
            facts.append((f"{label}, {name}" if len(verdicts) > 1 else label, "; ".join(models)))
    return facts


def _settings(verdicts: Sequence[Verdict]) -> list[tuple[str, list[str]]]:
    """Every setting of some audit, and its value in each."""
    flat = [shown_settings(verdict.settings) for verdict in verdicts]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    return [(key, [settings.get(key, formatting.UNDEFINED) for settings in flat]) for key in keys]


def _solvers(audit: AuditFiles) -> str:
    """Which tests were solved exactly, which by bounds or by search."""
    whole = audit.rows.filter(pl.col("item").is_null()).select("solver", "test").unique().sort("solver", "test")
    tests = whole.group_by("solver", maintain_order=True).agg("test")
    return "; ".join(f"{solver}: {', '.join(names)}" for solver, names in tests.iter_rows())
