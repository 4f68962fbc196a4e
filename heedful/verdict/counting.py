"""Which lines count for or against attention. Reads finished lines; needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from heedful.schema import Line, LineStatus, Verdict, updated

HALFWAY = 0.5
"""The score that attention must reach: half way from the floor to the best possible."""
FEWEST_TEXTS = 20
"""A line with fewer defined texts is shown and not counted."""
FEWEST_WORDS = 20
"""With fewer label-indicative words, the line about them is shown and not counted."""
ABOUT_WORDS = "token_scores"
"""The line about label-indicative words."""

COUNTING_RULE = (
    f"A question counts where its score is defined (the best possible is surely above the floor), on at least "
    f"{FEWEST_TEXTS} texts (that about label-indicative words: with at least {FEWEST_WORDS} of them). Attention holds "
    f"where the 95 % interval of its score lies at or above {HALFWAY:g}, fails where it lies below, and is undecided "
    "otherwise."
)
"""Which lines count, and how; it looks at nothing but the audit at hand."""

NOT_LEARNT, TOO_FEW = "the model has learnt nothing that could be explained", "too few texts"

Gate = Literal["nothing to explain", "too few texts"]


@dataclass(frozen=True)
class Status:
    """What a line says of attention, and why where it says nothing."""

    outcome: LineStatus
    reason: str = ""


def status(line: Line) -> Status:
    """Whether attention holds on the question, fails, or is undecided; or why the line is not counted.

    It holds if the interval of its score lies at or above one half, fails if it lies below, and is undecided
    otherwise. Not counted are lines without a score and with fewer than 20 texts.
    """
    if line.score is None or line.score_low is None or line.score_high is None:
        return Status("not counted", "nothing to measure")
    if line.texts < FEWEST_TEXTS:
        return Status("not counted", f"fewer than {FEWEST_TEXTS} texts")
    if line.score_low >= HALFWAY:
        return Status("holds")
    return Status("fails") if line.score_high < HALFWAY else Status("undecided")


def gate_reason(verdict: Verdict) -> Gate | None:
    """Why nothing is counted: too few texts were read, or the model is not better than a constant answer."""
    if verdict.texts < FEWEST_TEXTS:
        return "too few texts"
    return "nothing to explain" if verdict.learnt is False else None


def counted(verdict: Verdict) -> Verdict:
    """The verdict with the outcome of each line; where the gate is shut, none is counted."""
    closed = {"nothing to explain": NOT_LEARNT, "too few texts": TOO_FEW, None: ""}[gate_reason(verdict)]
    few_words = verdict.indicative_words is not None and verdict.indicative_words < FEWEST_WORDS
    lines = []
    for line in verdict.lines:
        own = Status("not counted", closed) if closed else status(line)
        if few_words and line.name == ABOUT_WORDS and own.outcome != "not counted":
            own = Status("not counted", f"fewer than {FEWEST_WORDS} label-indicative words")
        lines.append(updated(line, outcome=own.outcome, reason=own.reason))
    return updated(verdict, lines=tuple(lines))


def outcomes(lines: Sequence[Line], group: str) -> dict[LineStatus, list[Line]]:
    """The lines of a group by their outcome."""
    by_outcome: dict[LineStatus, list[Line]] = {"holds": [], "fails": [], "undecided": [], "not counted": []}
    for line in lines:
        if line.group == group:
            by_outcome[line.outcome].append(line)
    return by_outcome
