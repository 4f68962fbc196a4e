"""The answer in words: what the questions of relevance come to, what the others say beside it, what to do."""

from collections.abc import Mapping, Sequence
from typing import Literal

from heedful.formatting import format_number
from heedful.schema import Group, Headline, Line, LineStatus, Verdict
from heedful.verdict.counting import FEWEST_TEXTS, gate_reason, outcomes

FEWEST_QUESTIONS = 3
"""Questions of relevance that must be decided before attention may be shown."""

Answer = Literal["yes", "in part", "no", "undecided"]

LEADS: dict[Answer, str] = {
    "yes": "Yes, it may be shown, as far as these tests can tell.",
    "in part": "Only in part.",
    "no": "No, not as an explanation.",
    "undecided": "Undecided.",
}

Balance = Literal["holds", "fails", "mixed", "undecided", "not counted"]

BESIDE: dict[Group, dict[Balance, str]] = {
    "exclusivity": {
        "holds": "Other attention would not do as well",
        "fails": "Other attention would do as well, which by itself does not make this one false",
        "mixed": "Other attention would do as well in some respects, which by itself does not make this one false",
        "undecided": "Whether other attention would do as well is undecided",
        "not counted": "Whether other attention would do as well could not be measured",
    },
    "stability": {
        "holds": "It is stable",
        "fails": "It is not stable",
        "mixed": "It is stable in some respects only",
        "undecided": "Whether it is stable is undecided",
        "not counted": "Whether it is stable could not be measured",
    },
    "plausibility": {
        "holds": "It points where people point, which is no evidence of how the model decides",
        "fails": "It does not point where people point, which is no evidence of how the model decides",
        "mixed": "It points where people point in some respects, which is no evidence of how the model decides",
        "undecided": "Whether it points where people point is undecided",
        "not counted": "Whether it points where people point could not be measured",
    },
}
"""What the lines of each group beside relevance come to."""


def headline(verdict: Verdict) -> Headline:
    """The answer of a verdict whose lines were counted."""
    closed = gate_reason(verdict)
    if closed == "too few texts":
        read = "1 text was" if verdict.texts == 1 else f"{verdict.texts} texts were"
        text = f"Only {read} audited, and {FEWEST_TEXTS} are the fewest that say anything."
        return Headline(
            answer=closed, lead="Too few texts to tell.", text=text, advice="Show nothing; audit more texts."
        )
    if closed is not None:
        return Headline(
            answer=closed,
            lead="There is nothing to explain.",
            text="On these texts the model is not surely better than always giving the most common answer.",
            advice="Show nothing: whatever the model attends to, it does not know the answer.",
        )
    relevance = outcomes(verdict.lines, "relevance")
    answer = answer_of(relevance)
    return Headline(
        answer=answer,
        lead=LEADS[answer],
        text=f"{_tally(relevance)} {_evidence(verdict)}",
        beside=tuple(sentence for group in BESIDE if (sentence := _beside(verdict, group))),
        advice=verdict.advice.sentence if verdict.advice else _no_ranking(answer),
    )


def answer_of(relevance: Mapping[LineStatus, Sequence[Line]]) -> Answer:
    """What the decided questions of relevance come to."""
    held, failed = len(relevance["holds"]), len(relevance["fails"])
    if held + failed == 0:
        return "undecided"
    if failed > held:
        return "no"
    if failed:
        return "in part"
    return "yes" if held >= FEWEST_QUESTIONS else "undecided"


def _tally(relevance: Mapping[LineStatus, Sequence[Line]]) -> str:
    held, failed, undecided = (len(relevance[name]) for name in ("holds", "fails", "undecided"))
    total = held + failed + undecided
    if not total:
        return "No question of relevance counts on these texts."
    questions = "question" if total == 1 else "questions"
    tally = f"Of {total} {questions} of relevance attention holds on {held} and fails on {failed}"
    return f"{tally}; {undecided} {'is' if undecided == 1 else 'are'} undecided." if undecided else f"{tally}."


def _evidence(verdict: Verdict) -> str:
    """How much the answer rests on."""
    texts = f"{verdict.texts:,} texts"
    if len(verdict.trainings) > 1:
        return f"This rests on {len(verdict.trainings)} trainings and {texts}."
    return f"This rests on one training and {texts}; another seed may answer otherwise."


def _beside(verdict: Verdict, group: Group) -> str:
    """A sentence on what a group's lines come to and which they are; empty where nothing was asked."""
    by_outcome = outcomes(verdict.lines, group)
    if not any(by_outcome.values()):
        return ""
    named = [
        f"{outcome}: {', '.join(line.topic or line.question for line in by_outcome[outcome])}"
        for outcome in ("holds", "fails", "undecided")
        if by_outcome[outcome]
    ]
    sentence = BESIDE[group][_balance(by_outcome)]
    if by_outcome["undecided"] and (by_outcome["holds"] or by_outcome["fails"]):
        sentence = f"As far as this is decided, {sentence[0].lower()}{sentence[1:]}"
    sentence += f" ({'; '.join(named)})." if named else "."
    if group == "exclusivity" and by_outcome["fails"] and verdict.redundancy is not None:
        share = format_number(verdict.redundancy, percent=True)
        sentence += f" In {share} of the texts several {verdict.item}s, each alone, give the decision."
    return sentence


def _balance(by_outcome: Mapping[LineStatus, Sequence[Line]]) -> Balance:
    if by_outcome["holds"] and by_outcome["fails"]:
        return "mixed"
    for outcome in ("holds", "fails", "undecided"):
        if by_outcome[outcome]:
            return outcome
    return "not counted"


def _no_ranking(answer: Answer) -> str:
    """What to do where no other ranking was tested."""
    if answer == "yes":
        return "Attention may be shown."
    return "Show nothing: no other ranking was tested (`erase_until_flip` tests them)."
