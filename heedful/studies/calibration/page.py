"""The calibration as files: an HTML page, a Markdown page, and JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

from heedful.battery import QUESTIONS
from heedful.report.page import templates
from heedful.schema import GROUPS
from heedful.studies.calibration.attentions import ATTENTIONS
from heedful.studies.calibration.criteria import BAD, GOOD, RULES, counted_questions, is_judged, shortfalls
from heedful.studies.calibration.suite import TEXTS, WORLDS, Tally
from heedful.verdict.counting import COUNTING_RULE

HERE = Path(__file__).parent
NAME = "calibration"
LEGEND = (
    "A cell says in how many of 100 draws attention holds / in how many the question counts; a dash: it never counts. "
    "A draw is gated, and counts for nothing, where the model with this attention is not surely better than a constant "
    "answer."
)


@dataclass(frozen=True)
class WorldTable:
    """One world's results.

    Args:
        rows: a question's group, its words, and a cell for each attention.
    """

    name: str
    description: str
    counted: int
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class CalibrationReport:
    """All that the pages show.

    Args:
        draws: of each world, the fewest where they differ.
    """

    tallies: tuple[Tally, ...]
    draws: int
    command: str

    @property
    def shortfalls(self) -> list[str]:
        """Where the battery breaks a rule."""
        return shortfalls(self.tallies)

    @property
    def worlds(self) -> list[WorldTable]:
        """A table for each world."""
        names = dict.fromkeys(tally.world for tally in self.tallies)
        return [_world_table(name, [tally for tally in self.tallies if tally.world == name]) for name in names]


def write_calibration(report: CalibrationReport, folder: Path) -> Path:
    """The path of the HTML page; calibration.md and calibration.json are written beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{NAME}.md").write_text(markdown(report), encoding="utf-8")
    content = json.dumps(as_json(report), indent=2, allow_nan=False)
    (folder / f"{NAME}.json").write_text(content + "\n", encoding="utf-8")
    page = folder / f"{NAME}.html"
    page.write_text(render(report), encoding="utf-8")
    return page


def render(report: CalibrationReport) -> str:
    """The whole HTML page; it requests nothing from any network."""
    return (
        templates(HERE)
        .get_template("calibration.html")
        .render(
            report=report,
            outcome=outcome(report),
            attentions=_attentions(),
            rules=RULES,
            counting=COUNTING_RULE,
            legend=LEGEND,
            facts=_facts(report),
        )
    )


def markdown(report: CalibrationReport) -> str:
    """The page in Markdown."""
    lines = ["# The battery on attention of known quality", "", f"Printed by `{report.command}`.", ""]
    lines += [f"{outcome(report)}", "", *(f"- {rule}" for rule in RULES), "", COUNTING_RULE, "", LEGEND, ""]
    lines += [f"- {missed}" for missed in report.shortfalls]
    head, rows = summary_rows(report)
    lines += [" | ".join(("", *head, "")).strip(), "|---|" + "---:|" * (len(head) - 1)]
    lines += [" | ".join(("", *row, "")).strip() for row in rows] + [""]
    lines += ["## Attention", "", *(f"- **{name}**: {words}" for name, words in _attentions().items()), ""]
    for world in report.worlds:
        lines += [f"## {world.name}", "", f"{world.description}; {world.counted} questions of relevance count.", ""]
        lines += ["| group | question | " + " | ".join(ATTENTIONS) + " |"]
        lines += ["|---|---|" + "---:|" * len(ATTENTIONS)]
        lines += ["| " + " | ".join((group, question, *cells)) + " |" for group, question, cells in world.rows] + [""]
    return "\n".join(lines)


def outcome(report: CalibrationReport) -> str:
    """Whether the battery keeps its rules, in a sentence."""
    if report.shortfalls:
        return f"The battery breaks its rules in {len(report.shortfalls)} places."
    draws = f"{report.draws} draws" if report.draws > 1 else "one draw"
    return f"The battery keeps its rules in all {len(report.worlds)} worlds, over {draws} of each."


def summary_rows(report: CalibrationReport) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of a table of worlds: what counts, and the share of draws in which each attention holds."""
    rows: list[tuple[str, ...]] = []
    for world in report.worlds:
        relevance = [tally for tally in report.tallies if tally.world == world.name and tally.group == "relevance"]
        lowest = [tally.holds_if_counted for tally in relevance if tally.attention == GOOD and is_judged(tally)]
        highest = [max(tally.holds for tally in relevance if tally.attention == name) for name in BAD]
        cells = (f"{min(lowest):.0%}" if lowest else "–", *(f"{share:.0%}" for share in highest))
        rows.append((world.name, str(world.counted), *cells))
    return ("world", "questions that count", f"{GOOD} holds, at least", *(f"{name}, at most" for name in BAD)), rows


def as_json(report: CalibrationReport) -> dict[str, object]:
    """The numbers behind the tables."""
    tallies = [
        {
            "world": tally.world,
            "attention": tally.attention,
            "question": tally.question,
            "group": tally.group,
            "outcomes": dict(tally.outcomes),
            "score": None if isnan(tally.score) else tally.score,
        }
        for tally in report.tallies
    ]
    return {"command": report.command, "draws": report.draws, "shortfalls": report.shortfalls, "tallies": tallies}


def _world_table(name: str, tallies: Sequence[Tally]) -> WorldTable:
    by_place = {(tally.question, tally.attention): tally for tally in tallies}
    asked = [question for question in QUESTIONS if (question.name, "oracle") in by_place]
    ordered = sorted(asked, key=lambda question: [*GROUPS].index(question.group))
    rows = tuple(
        (question.group, question.wording("word"), tuple(_cell(by_place[question.name, each]) for each in ATTENTIONS))
        for question in ordered
    )
    return WorldTable(name, WORLDS[name].description, len(counted_questions(tallies, name)), rows)


def _cell(tally: Tally) -> str:
    return f"{100 * tally.holds:.0f} / {100 * tally.counted / tally.draws:.0f}" if tally.counted else "–"


def _attentions() -> dict[str, str]:
    """What each attention is, by name."""
    return {name: (function.__doc__ or "").rstrip(".") for name, function in ATTENTIONS.items()}


def _facts(report: CalibrationReport) -> list[tuple[str, str]]:
    facts = {"Worlds": str(len(report.worlds)), "Draws of each": str(report.draws), "Texts a draw": str(TEXTS)}
    return [*facts.items(), ("Command", report.command)]
