"""The battery as explanation: a row per question, with what each audit measured. It decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.formatting import format_estimate, format_interval, format_number
from heedful.report.audits import AuditFiles
from heedful.schema import GROUPS, Group, Line, SeedScore

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
    where: str
    bar: Bar | None
    sentence: str
    counts: str
    details: tuple[tuple[str, str], ...]
    by_seed: tuple["ShownSeed", ...] = ()


@dataclass(frozen=True)
class ShownSeed:
    """What one training says, as the reader sees it."""

    seed: str
    value: str
    score: str


@dataclass(frozen=True)
class QuestionRow:
    """One question, and what each audit answers; None where it did not ask."""

    question: str
    group: Group | None
    lines: tuple[ShownLine | None, ...]


def question_rows(audits: Sequence[AuditFiles]) -> list[QuestionRow]:
    """Every question that some audit asked, group by group."""
    by_name = [{line.name: line for line in audit.verdict.lines} for audit in audits]
    questions = {line.name: line for audit in reversed(audits) for line in reversed(audit.verdict.lines)}
    rows = [
        QuestionRow(line.question, line.group, tuple(shown_line(own[name]) if name in own else None for own in by_name))
        for name, line in reversed(questions.items())
    ]
    return sorted(rows, key=lambda row: [*GROUPS, None].index(row.group))


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
        headings["exclusivity"] = (
            GROUPS["exclusivity"],
            f"{redundant} In these, faithful attention is not the only attention.",
        )
    return headings | {None: ("Other questions", "")}


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
        where=where_it_lies(line),
        bar=_bar(line),
        sentence=line.sentence,
        counts=_text_counts(line),
        details=tuple((name, format_number(value)) for name, value in line.details.items()),
        by_seed=tuple(_shown_seed(own, percent=percent) for own in line.by_seed),
    )


def _shown_seed(own: SeedScore, *, percent: bool) -> ShownSeed:
    return ShownSeed(
        seed=own.run if own.seed is None else str(own.seed),
        value=format_number(own.value, percent=percent),
        score=format_estimate(own.score, own.score_low, own.score_high),
    )


def where_it_lies(line: Line) -> str:
    """Where the score lies, in words."""
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
