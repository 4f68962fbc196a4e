"""Answers as page and notebook show them: of an audit by class and ranking, and of each question of the battery."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.formatting import format_number
from heedful.report.audits import AuditFiles
from heedful.schema import GROUPS, AuditAnswer, ClassAnswer, Group, Line, RankingShare, Verdict

# Which classes and rankings are listed, and a bar of outcomes.


@dataclass(frozen=True)
class ShareBar:
    """Outcomes as widths in percent, and as whole numbers of 100 texts.

    Args:
        decided: width of the part in which a small set decides; `points`, `misses` and `luck` are within it.
        numbers: what each part is called and how large it is.
    """

    decided: float
    points: float
    luck: float | None
    numbers: tuple[tuple[str, str, str], ...]


def share_bar(own: ClassAnswer, item: str) -> ShareBar | None:
    """The bar of all texts or of one class; None if there is nothing to show."""
    points, luck, none = own.shares.points.value, own.shares.luck, own.shares.no_small_set.value
    if own.answer == "Nothing to explain" or none is None:
        return None
    parts = [("no-small-set", f"no small set of {item}s decides", none)]
    if points is not None:
        lucky = [("luck", "luck", luck)] if luck is not None else []
        parts = [("points", "points", points), ("misses", "misses", 1 - points), *lucky, *parts]
    return ShareBar(
        decided=round(100 * (1 - none), 2),
        points=round(100 * (points or 0.0), 2),
        luck=None if luck is None or points is None else round(100 * luck, 2),
        numbers=tuple((kind, name, str(round(100 * share))) for kind, name, share in parts),
    )


def shown_classes(answer: AuditAnswer | None) -> list[ClassAnswer]:
    """The answer for all texts, and for each class that is predicted."""
    return [] if answer is None else [answer.overall, *(each for each in answer.classes if each.shares.texts)]


def ordered_rankings(verdict: Verdict) -> list[RankingShare]:
    """Attention, then the other rankings by their share; empty if there is no answer."""
    known = verdict.answer.rankings if verdict.answer else ()
    return sorted(known, key=lambda own: (own.name != "attention", -(own.points.value or 0.0)))


def recommended_ranking(verdict: Verdict) -> str:
    """The ranking to show a reader, attention or another; empty if none can be shown without a check."""
    advice = verdict.answer and verdict.answer.recommendation
    return advice.ranking if advice and advice.show in ("attention", "ranking") else ""


# The battery as explanation: a row per question, with what each audit measured. It decides nothing.

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
