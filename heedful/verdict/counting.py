"""What a line says for or against attention, and what all lines come to. Reads finished lines; needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.schema import Line, Verdict

WEAK = 0.2
"""A yardstick closer than this to the floor says little: reaching it is no merit."""


@dataclass(frozen=True)
class Headline:
    """The one-paragraph answer of one verdict."""

    lead: str
    text: str


def holds(line: Line) -> bool:
    """Whether attention stands at least half way from the floor to the best, and significantly above the floor."""
    return line.score is not None and line.score >= 0.5 and (line.score_low is None or line.score_low > 0)


def counts(line: Line) -> bool:
    """Whether the line speaks for or against attention: it has a score, and no yardstick close to its floor."""
    return line.counts and line.score is not None and not _is_weak(line)


def _is_weak(line: Line) -> bool:
    return line.best_kind == "yardstick" and abs((line.best or 0) - (line.floor or 0)) < WEAK


def status(line: Line) -> str:
    """Where the score lies, in words."""
    if line.score is None:
        return "nothing to measure"
    if line.counts and _is_weak(line):
        return "a weak yardstick: not counted"
    if line.score_high is not None and line.score_high < 0:
        return "worse than the floor"
    if line.score <= 0 or (line.score_low is not None and line.score_low <= 0):
        return "not distinguishable from the floor"
    if round(line.score, 2) == 1:
        return f"at the {line.best_kind or 'best'}"
    if line.score > 1:
        return f"beyond the {line.best_kind or 'best'}"
    return "closer to the best" if line.score >= 0.5 else "closer to the floor"


def headline(verdict: Verdict) -> Headline:
    """What the lines come to: on how many questions attention holds up, and what to show instead."""
    counted = [line for line in verdict.lines if counts(line)]
    if not counted:
        return Headline("There is nothing to measure.", "No question has a defined answer on these texts.")
    instead = verdict.show_instead.sentence if verdict.show_instead else ""
    return Headline(_lead(counted), " ".join(part for part in (_tally(counted), instead) if part))


def _lead(counted: Sequence[Line]) -> str:
    held = sum(map(holds, counted))
    if held == len(counted):
        return "Yes, as far as these tests can tell."
    return "Only in part." if 2 * held >= len(counted) else "Not on its own."


def _tally(counted: Sequence[Line]) -> str:
    held = sum(map(holds, counted))
    if len(counted) == 1:
        return f"Attention {'holds up' if held else 'does not hold up'} on the one question that could be measured."
    count = {0: "none", len(counted): "all"}.get(held, str(held))
    return f"Attention holds up on {count} of the {len(counted)} questions that could be measured."
