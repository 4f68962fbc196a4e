"""The battery as explanation: a row per question, with what each audit measured. It decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.formatting import format_number
from heedful.report.audits import AuditFiles
from heedful.schema import GROUPS, Group, Line

LEFT, RIGHT = -0.2, 1.2
"""The scores at the two ends of a bar; those beyond end in an arrow."""


def question_rows(audits: Sequence[AuditFiles]) -> list[tuple[Line, list[Line | None]]]:
    """Every question that some audit measured, group by group: a line that has its words, and the line of each audit.

    The line of an audit that did not measure it is None.
    """
    by_name = [{line.name: line for line in audit.verdict.lines} for audit in audits]
    questions = {line.name: line for audit in reversed(audits) for line in reversed(audit.verdict.lines)}
    rows = [(line, [own.get(name) for own in by_name]) for name, line in reversed(questions.items())]
    return sorted(rows, key=lambda row: [*GROUPS, None].index(row[0].group))


def group_headings(audits: Sequence[AuditFiles], names: Sequence[str]) -> dict[Group | None, tuple[str, str]]:
    """The heading of each group of questions, and what must be known to read its answers."""
    headings: dict[Group | None, tuple[str, str]] = {group: (asked, "") for group, asked in GROUPS.items()}
    shares = [audit.verdict.redundancy for audit in audits]
    known = [
        f"{name}: {format_number(share, percent=True)}" if len(audits) > 1 else format_number(share, percent=True)
        for name, share in zip(names, shares, strict=True)
        if share is not None
    ]
    if known:
        redundant = f"Redundant texts, in which each of several words alone gives the prediction: {', '.join(known)}."
        remark = f"{redundant} In these, faithful attention is not the only attention."
        headings["exclusivity"] = (GROUPS["exclusivity"], remark)
    return headings | {None: ("Other questions", "")}


def where_it_lies(line: Line) -> str:
    """Where the score lies, as text."""
    if line.score is None:
        return "nothing to measure"
    if line.score_high is not None and line.score_high < 0:
        return "worse than the floor"
    if line.score <= 0 or (line.score_low is not None and line.score_low <= 0):
        return "not distinguishable from the floor"
    if round(line.score, 2) == 1:
        return f"at the {line.best_kind or 'best'}"
    if line.score > 1:
        return f"better than the {line.best_kind or 'best'}"
    return "closer to the best" if line.score >= 0.5 else "closer to the floor"


@dataclass(frozen=True)
class ScoreBar:
    """A score as places on its bar, in percent of the width."""

    start: float
    width: float
    low: float
    spread: float
    beyond: str


def score_bar(line: Line) -> ScoreBar | None:
    """The bar of a line; None if there is nothing to measure."""
    if line.score is None:
        return None
    zero, end = _place(0.0), _place(line.score)
    low = _place(line.score if line.score_low is None else line.score_low)
    high = _place(line.score if line.score_high is None else line.score_high)
    beyond = "left" if line.score < LEFT else "right" if line.score > RIGHT else ""
    return ScoreBar(min(zero, end), round(abs(end - zero), 2), low, round(high - low, 2), beyond)


def _place(score: float) -> float:
    return round(100 * (min(max(score, LEFT), RIGHT) - LEFT) / (RIGHT - LEFT), 2)
