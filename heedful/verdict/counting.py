"""Which lines count for or against attention, and what they come to. Reads finished lines; needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from heedful.schema import Line, Verdict

HALFWAY = 0.5
"""The score that attention must reach: half way from the floor to the best possible."""
FEWEST_TEXTS = 20
"""A line with fewer defined texts is shown and not counted."""
FEWEST_QUESTIONS = 3
"""Questions of relevance that must be decided before attention may be shown."""

COUNTING_RULE = (
    f"A question counts where its score is defined (the best possible is surely above the floor), on at least "
    f"{FEWEST_TEXTS} texts, where best and floor differ by what matters for that question, and where the best "
    "attention over the model's own encodings would itself hold, and the same weights permuted among the words would "
    "fail (or leave a model that has learnt nothing). Attention holds where the 95 % interval of its score "
    f"lies at or above {HALFWAY:g}, fails where it lies below, and is undecided otherwise."
)
"""Which lines count, and how; it looks at nothing but the audit at hand."""

OUT_OF_REACH = "not even the best attention over these encodings would hold"
"""Why a line is not counted where what the words say is spread over the encodings of their neighbours."""

Outcome = Literal["holds", "fails", "undecided", "not counted"]


@dataclass(frozen=True)
class Status:
    """What a line says of attention, and why where it says nothing."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True)
class Headline:
    """The answer of one verdict: a lead and a paragraph."""

    answer: Literal["yes", "in part", "no", "undecided", "nothing to explain"]
    lead: str
    text: str


def status(line: Line) -> Status:
    """Whether attention holds on the question, fails, or is undecided; or why the line is not counted.

    It holds if the interval of its score lies at or above one half, fails if it lies below, and is undecided
    otherwise. Not counted are lines without a score, with fewer than 20 texts, whose best possible is closer to the
    floor than the smallest difference that matters, that not even the best attention would hold, or that attention
    which knows nothing might.
    """
    if line.score is None or line.score_low is None or line.score_high is None:
        return Status("not counted", "nothing to measure")
    if line.texts < FEWEST_TEXTS:
        return Status("not counted", f"fewer than {FEWEST_TEXTS} texts")
    if (line.best or 0.0) - (line.floor or 0.0) < (line.material or 0.0):
        return Status("not counted", f"the best possible is within {line.material or 0.0:g} of the floor")
    if line.attainable is not None and not (line.attainable_low or 0.0) >= HALFWAY:
        return Status("not counted", OUT_OF_REACH)
    if line.uninformed_high is not None and line.uninformed_high >= HALFWAY:
        return Status("not counted", "the same weights permuted might hold as well")
    if line.score_low >= HALFWAY:
        return Status("holds")
    return Status("fails") if line.score_high < HALFWAY else Status("undecided")


def outcomes(lines: Sequence[Line], group: str) -> dict[Outcome, list[Line]]:
    """The lines of a group by their outcome."""
    by_outcome: dict[Outcome, list[Line]] = {"holds": [], "fails": [], "undecided": [], "not counted": []}
    for line in lines:
        if line.group == group:
            by_outcome[status(line).outcome].append(line)
    return by_outcome


def headline(verdict: Verdict) -> Headline:
    """What the questions of relevance come to, unless the model has learnt nothing that could be explained."""
    if verdict.learnt is False:
        return Headline(
            "nothing to explain",
            "There is nothing to explain.",
            "On these texts the model is not better than always giving the most common answer.",
        )
    relevance = outcomes(verdict.lines, "relevance")
    held, failed, undecided = (len(relevance[name]) for name in ("holds", "fails", "undecided"))
    answer = _answer(held, failed)
    lead = {
        "yes": "Yes, it may be shown, as far as these tests can tell.",
        "in part": "Only in part.",
        "no": "No, not as an explanation.",
        "undecided": "Undecided.",
    }[answer]
    text = _tally(held, failed, undecided) + _beyond_reach(relevance["not counted"])
    instead = verdict.show_instead.sentence if verdict.show_instead else ""
    return Headline(answer, lead, f"{text} {instead}".strip())


def _tally(held: int, failed: int, undecided: int) -> str:
    counted = held + failed + undecided
    if not counted:
        return "No question of relevance counts on these texts."
    questions = "question" if counted == 1 else "questions"
    tally = f"Of {counted} {questions} of relevance attention holds on {held} and fails on {failed}"
    return f"{tally}; {undecided} undecided." if undecided else f"{tally}."


def _beyond_reach(lines: Sequence[Line]) -> str:
    """What to know of the questions that no attention could pass; empty where there are none."""
    count = sum(status(line).reason == OUT_OF_REACH for line in lines)
    if not count:
        return ""
    questions = "another question" if count == 1 else f"{count} other questions"
    return (
        f" On {questions} not even the best attention over this model's encodings would hold: what a word says is "
        "spread over its neighbours, and weights on encodings cannot show it."
    )


def _answer(held: int, failed: int) -> Literal["yes", "in part", "no", "undecided"]:
    if held + failed == 0:
        return "undecided"
    if failed > held:
        return "no"
    if failed:
        return "in part"
    return "yes" if held >= FEWEST_QUESTIONS else "undecided"
