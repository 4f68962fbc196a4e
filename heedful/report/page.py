"""The report as one HTML page that needs nothing but itself."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from heedful import __version__
from heedful.formatting import UNDEFINED
from heedful.report.answers import ranking_rows, recommended_ranking, shown_answer
from heedful.report.audits import AuditFiles, shown_settings
from heedful.report.battery_lines import group_headings, question_rows
from heedful.report.drawing import DARK
from heedful.report.figure import Figure, inline_svg
from heedful.report.figures import draw_figures
from heedful.report.heat_map import chosen_examples, embedded_json, example_data
from heedful.report.texts import gather_texts
from heedful.schema import Substitution, Verdict, Word, Words
from heedful.verdict.answer_text import QUESTION, accuracy_text
from heedful.verdict.outcome_text import BADGES

HERE = Path(__file__).parent
MOST_LABELS = 6
TITLES = {
    "stability": "Is attention stable?",
    "heads": "Is there any head that one may show?",
    "certificate": "How far may the weights be off before the prediction can change?",
}
"""Titles of groups of figures that belong to no single question."""


@dataclass(frozen=True)
class Drawn:
    """A figure as the page shows it: its words and its drawing."""

    figure: Figure
    svg: Markup


def render_page(audits: Sequence[AuditFiles], figures: Sequence[Figure] = ()) -> str:
    """The whole page. Every word that comes from the files is escaped; the page asks for nothing from any network.

    Args:
        figures: further ones, which come before those of the audits.
    """
    texts = gather_texts(audits)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    examples = example_data(audits, texts.runs)
    page = templates(HERE).get_template("page.html")
    return page.render(
        question=QUESTION,
        audits=list(zip(texts.runs, (audit.verdict for audit in audits), strict=True)),
        answers=[(name, shown_answer(audit.verdict)) for audit, name in zip(audits, texts.runs, strict=True)],
        rankings=[pair for pair in zip(texts.runs, ranking_rows(audits), strict=True) if pair[1]],
        rows=question_rows(audits),
        headings=group_headings(audits, texts.runs),
        groups=_grouped([Drawn(figure, inline_svg(figure)) for figure in (*figures, *draw_figures(texts))], audits),
        words=_words(audits, texts.runs),
        chosen=chosen_examples(audits, examples) if examples["examples"] else [],
        recommended={recommended_ranking(audit.verdict) for audit in audits},
        pooled=any(len(audit.verdict.trainings) > 1 for audit in audits),
        item=audits[0].verdict.item,
        badges=BADGES,
        skipped=_not_asked(audits),
        synonyms=_synonyms(audits, texts.runs),
        about=_about(audits, texts.runs),
        notes=list(dict.fromkeys(note for audit in audits for note in audit.verdict.notes)),
        made=_made([audit.verdict for audit in audits], texts.runs),
        facts=_facts([audit.verdict for audit in audits], texts.runs),
        commands=[command for command in dict.fromkeys(audit.verdict.command for audit in audits) if command],
        settings=_settings(audits),
        solvers=[_solvers(audit) for audit in audits],
        proven=all(set(audit.rows.filter(test="adversarial_attention")["solver"]) <= {"exact"} for audit in audits),
        examples=examples,
        payload=embedded_json(examples),
        script=Markup(script),
        # Only the script whose hash is named here may run, so not one that a text smuggled in.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def templates(folder: Path) -> Environment:
    """The templates of a folder, and the frame that all of them fill; every word put into them is escaped."""
    environment = Environment(loader=FileSystemLoader([folder, HERE]), autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    style = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    shares = Markup((HERE / "shares.css").read_text(encoding="utf-8"))
    environment.globals |= {"style": style, "shares_style": shares, "dark": DARK, "version": __version__}
    return environment


def _facts(verdicts: Sequence[Verdict], names: Sequence[str]) -> list[tuple[str, str]]:
    """What was audited, on what: name and words of each fact; those that differ between audits in the audits' order."""
    labels = verdicts[0].labels
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    facts = {
        "Model": [verdict.model or name for verdict, name in zip(verdicts, names, strict=True)],
        "Data": [verdict.data for verdict in verdicts],
        "Texts": [f"{verdict.texts:,} ({verdict.split})" for verdict in verdicts],
        "Seeds": [str(len(verdict.trainings) or 1) for verdict in verdicts],
        "Accuracy": [accuracy_text(verdict) for verdict in verdicts],
        "Classes": [", ".join(labels[:MOST_LABELS]) + more],
    }
    return [(name, " · ".join(dict.fromkeys(values))) for name, values in facts.items() if any(values)]


def _grouped(drawn: Sequence[Drawn], audits: Sequence[AuditFiles]) -> dict[str, list[Drawn]]:
    """The figures by the question that they belong to, in the words of the verdict."""
    questions = {line.name: line.question for audit in audits for line in audit.verdict.lines}
    groups: dict[str, list[Drawn]] = {}
    for each in drawn:
        title = questions.get(each.figure.group) or TITLES.get(each.figure.group, each.figure.group)
        groups.setdefault(title, []).append(each)
    return groups


def _not_asked(audits: Sequence[AuditFiles]) -> list[tuple[str, str]]:
    """Each question that some audit could not ask, and why."""
    reasons = {name: reason for audit in audits for name, reason in audit.verdict.skipped.items()}
    return [(name.replace("_", " "), reason) for name, reason in reasons.items()]


def _about(audits: Sequence[AuditFiles], names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """For each audit of a transformer: its name, and what is to be known of the attention that was audited."""
    known = zip(names, (audit.verdict for audit in audits), strict=True)
    return [
        (name, [*verdict.about, *([verdict.heads.sentence] if verdict.heads else [])])
        for name, verdict in known
        if verdict.about
    ]


def _synonyms(audits: Sequence[AuditFiles], names: Sequence[str]) -> list[tuple[str, str, tuple[Substitution, ...]]]:
    """For each audit that replaced words: its name, where the synonyms come from, and the pairs."""
    known = [(name, audit.verdict) for name, audit in zip(names, audits, strict=True)]
    return [
        (name, verdict.synonym_source, verdict.substitutions)
        for name, verdict in known
        if verdict.synonym_source and verdict.substitutions
    ]


def _made(verdicts: Sequence[Verdict], names: Sequence[str]) -> list[tuple[str, str]]:
    """When the audits were made, and of which trainings."""
    dates = sorted({verdict.date for verdict in verdicts if verdict.date})
    facts = [("Date", " to ".join(dict.fromkeys((dates[0], dates[-1]))))] if dates else []
    for name, verdict in zip(names, verdicts, strict=True):
        trainings = [
            f"{training.run}"
            + (f", seed {training.seed}" if training.seed is not None else "")
            + (
                f", accuracy {100 * accuracy:.1f} %"
                if (accuracy := training.scores.get("accuracy")) is not None
                else ""
            )
            for training in verdict.trainings
        ]
        label = "Run" if len(trainings) == 1 else "Runs"
        if trainings:
            facts.append((f"{label}, {name}" if len(verdicts) > 1 else label, "; ".join(trainings)))
    return facts


def _words(audits: Sequence[AuditFiles], names: Sequence[str]) -> list[tuple[str, Words, list[tuple[Word, ...]], str]]:
    """For each audit that has them: its name, its words, most and least attended ones side by side, where counted."""
    verdicts = [(name, audit.verdict) for audit, name in zip(audits, names, strict=True)]
    return [
        (name, verdict.words, list(zip(verdict.words.most, verdict.words.least, strict=False)), verdict.counted_on)
        for name, verdict in verdicts
        if verdict.words is not None
    ]


def _settings(audits: Sequence[AuditFiles]) -> list[tuple[str, list[str]]]:
    """Every setting of some audit, and what each says of it."""
    flat = [shown_settings(audit.verdict.settings) for audit in audits]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    return [(key, [settings.get(key, UNDEFINED) for settings in flat]) for key in keys]


def _solvers(audit: AuditFiles) -> str:
    """Which tests were solved exactly, which by bounds or by search."""
    pairs = audit.rows.filter(pl.col("item").is_null()).select("solver", "test").unique().sort("solver", "test").rows()
    tests: dict[str, list[str]] = {}
    for solver, test in pairs:
        tests.setdefault(solver, []).append(test)
    return "; ".join(f"{solver}: {', '.join(names)}" for solver, names in tests.items())
