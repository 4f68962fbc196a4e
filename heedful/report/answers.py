"""The verdict as the top of the page shows it: the headline of each audit, and a row a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.formatting import format_interval, format_number
from heedful.report.audit_files import AuditFiles
from heedful.schema import Line
from heedful.verdict.counting import counts, holds, status

LEFT, RIGHT = -0.2, 1.2
"""The scores at the two ends of a bar; those beyond end in an arrow."""


@dataclass(frozen=True)
class Bar:
    """A score as places on its bar, in percent of the width."""

    start: float
    width: float
    low: float
    spread: float
    beyond: str


@dataclass(frozen=True)
class ShownLine:
    """One line of one verdict, as the reader sees it."""

    value: str
    interval: str
    floor: str
    best: str
    kind: str
    score: str
    score_interval: str
    status: str
    holds: bool
    bar: Bar | None
    sentence: str
    counts: str
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class QuestionRow:
    """One question, and what each audit answers; None where it did not ask."""

    question: str
    lines: tuple[ShownLine | None, ...]


def question_rows(audits: Sequence[AuditFiles]) -> list[QuestionRow]:
    """Every question that some audit asked, in the order of the verdicts."""
    by_name = [{line.name: line for line in audit.verdict.lines} for audit in audits]
    questions = {line.name: line.question for audit in audits for line in audit.verdict.lines}
    return [
        QuestionRow(question, tuple(shown_line(lines[name]) if name in lines else None for lines in by_name))
        for name, question in questions.items()
    ]


def shown_line(line: Line) -> ShownLine:
    """A line's numbers as text, and its score as a bar."""
    percent = line.unit == "share"
    return ShownLine(
        value=format_number(line.value, percent=percent),
        interval=format_interval(line.low, line.high, percent=percent),
        floor=format_number(line.floor, percent=percent),
        best=format_number(line.best, percent=percent),
        kind=line.best_kind or "",
        score=format_number(line.score),
        score_interval=format_interval(line.score_low, line.score_high),
        status=status(line),
        holds=holds(line) and (counts(line) or not line.counts),
        bar=_bar(line),
        sentence=line.sentence,
        counts=_text_counts(line),
        details=tuple((name, format_number(value)) for name, value in line.details.items()),
    )


def _bar(line: Line) -> Bar | None:
    if line.score is None:
        return None
    zero, end = _place(0.0), _place(line.score)
    low = _place(line.score if line.score_low is None else line.score_low)
    high = _place(line.score if line.score_high is None else line.score_high)
    beyond = "left" if line.score < LEFT else "right" if line.score > RIGHT else ""
    return Bar(min(zero, end), round(abs(end - zero), 2), low, round(high - low, 2), beyond)


def _place(score: float) -> float:
    return round(100 * (min(max(score, LEFT), RIGHT) - LEFT) / (RIGHT - LEFT), 2)


def _text_counts(line: Line) -> str:
    used = f"{line.texts:,} text{'' if line.texts == 1 else 's'}"
    return f"{used}; undefined for {line.undefined:,}" if line.undefined else used
