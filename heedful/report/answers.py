"""The verdict in words and bars: what the top of the page shows of each line."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.report.audit_files import AuditFiles, Line, Verdict

PERCENT = ("without_top", "erase_one", "erase_until_flip", "uniform", "uniform_retrained")
"""Lines whose numbers are shares of texts or words."""
LEFT, RIGHT = -0.2, 1.2
"""The scores at the two ends of a bar; those beyond end in an arrow."""
NOTHING = "nothing to measure"
WEAK = 0.2
"""A yardstick closer than this to the floor says little: reaching it is no merit."""
STEADY = ("embedding_noise", "embedding_attack", "word_substitution", "seeds")
"""Lines on stability, which do not count: attention that never changes is steady and explains nothing."""


@dataclass(frozen=True)
class Bar:
    """A score as places on its bar, in percent of the width."""

    start: float
    width: float
    low: float
    spread: float
    beyond: str


@dataclass(frozen=True)
class Cell:
    """One line of one verdict, as the reader sees it."""

    value: str
    interval: str
    floor: str
    best: str
    kind: str
    score: str
    score_interval: str
    word: str
    holds: bool
    bar: Bar | None
    sentence: str
    counts: str
    beside: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Row:
    """One question, and what each audit answers; None where it did not ask."""

    question: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Answer:
    """The one-paragraph answer of one audit."""

    name: str
    lead: str
    text: str


def table_rows(audits: Sequence[AuditFiles]) -> list[Row]:
    """Every question that some audit asked, in the order of the verdicts."""
    lines = [{line.name: line for line in audit.verdict.lines} for audit in audits]
    questions = {line.name: line.question for audit in audits for line in audit.verdict.lines}
    return [
        Row(question, tuple(cell_of(mine[name]) if name in mine else None for mine in lines))
        for name, question in questions.items()
    ]


def cell_of(line: Line) -> Cell:
    """A line's numbers as text, and its score as a bar."""
    percent = line.name in PERCENT
    return Cell(
        value=_number(line.value, percent),
        interval=_interval(line.low, line.high, percent),
        floor=_number(line.floor, percent),
        best=_number(line.best, percent),
        kind=line.best_kind or "",
        score=_number(line.score),
        score_interval=_interval(line.score_low, line.score_high),
        word=_word(line),
        holds=holds(line) and (counts(line) or line.name in STEADY),
        bar=_bar(line),
        sentence=line.sentence,
        counts=_counts(line),
        beside=tuple((name, _number(value)) for name, value in line.beside.items() if isinstance(value, int | float)),
    )


def holds(line: Line) -> bool:
    """Whether attention stands at least half way from the floor to the best, and surely above the floor."""
    return line.score is not None and line.score >= 0.5 and (line.score_low is None or line.score_low > 0)


def counts(line: Line) -> bool:
    """Whether the line says something for or against attention: it has a score, no yardstick close to its floor."""
    if line.name in STEADY:
        return False
    is_weak = line.best_kind == "yardstick" and abs((line.best or 0) - (line.floor or 0)) < WEAK
    return line.score is not None and not is_weak


def answer_of(verdict: Verdict, name: str) -> Answer:
    """What the lines come to, in one paragraph: on how many questions attention holds up, and what to show instead."""
    measured = [line for line in verdict.lines if counts(line)]
    if not measured:
        return Answer(name, "There is nothing to measure.", "No question has a defined answer on these texts.")
    held = sum(holds(line) for line in measured)
    if held == len(measured):
        lead = "Yes, as far as these tests can tell."
    elif 2 * held >= len(measured):
        lead = "Only in part."
    else:
        lead = "Not on its own."
    count = {0: "none", len(measured): "all"}.get(held, str(held))
    said = f"Attention holds up on {count} of the {len(measured)} questions that could be measured."
    if len(measured) == 1:
        said = f"Attention {'holds up' if held else 'does not hold up'} on the one question that could be measured."
    instead = verdict.show_instead.sentence if verdict.show_instead else ""
    return Answer(name, lead, " ".join(part for part in (verdict.answer or said, instead) if part))


def _word(line: Line) -> str:
    """Where the score lies, without a number."""
    if line.score is None:
        return NOTHING
    if not counts(line) and line.name not in STEADY:
        return "a weak yardstick: not counted"
    if line.score_high is not None and line.score_high < 0:
        return "worse than the floor"
    if line.score <= 0 or (line.score_low is not None and line.score_low <= 0):
        return "not told apart from the floor"
    if round(line.score, 2) == 1:
        return f"at the {line.best_kind or 'best'}"
    if line.score > 1:
        return f"beyond the {line.best_kind or 'best'}"
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


def _number(value: float | None, percent: bool = False) -> str:
    if value is None:
        return "–"
    return f"{100 * value:z.1f} %" if percent else f"{value:z.2f}"


def _interval(low: float | None, high: float | None, percent: bool = False) -> str:
    if low is None or high is None:
        return ""
    return f"{100 * low:z.1f} to {100 * high:z.1f}" if percent else f"{low:z.2f} to {high:z.2f}"


def _counts(line: Line) -> str:
    used = f"{line.texts:,} text{'' if line.texts == 1 else 's'}"
    return f"{used}; undefined for {line.undefined:,}" if line.undefined else used
