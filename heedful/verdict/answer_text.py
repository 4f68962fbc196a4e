"""What is said next to the answer of an audit, in words: the same in every view. Imports no torch."""

from heedful.formatting import format_number
from heedful.schema import AuditAnswer, Interval, Verdict

UNCOUNTED = {"one word": "a single {item}", "undefined": "no prediction for some of their parts"}
"""Why texts have no outcome."""


def share_text(share: Interval) -> str:
    """A share with its interval, in texts of 100.

    >>> share_text(Interval(value=0.61, low=0.54, high=0.68)), share_text(Interval())
    ('61 (54 to 68)', '–')
    """
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{round(100 * share.value)} ({round(100 * share.low)} to {round(100 * share.high)})"


def per_100(share: Interval) -> str:
    """A share with its interval, in words.

    >>> per_100(Interval(value=0.61, low=0.54, high=0.68))
    '61 of 100 texts (54 to 68)'
    """
    value, low, high = (round(100 * (end or 0.0)) for end in (share.value, share.low, share.high))
    return f"{value} of 100 texts ({low} to {high})"


def accuracy_text(verdict: Verdict) -> str:
    """The accuracy next to that of the most common class; empty if it is unknown.

    >>> accuracy_text(Verdict(run="r", data="d", texts=3, labels=(), lines=(), scores={"accuracy": 0.9}))
    '90.0 %'
    """
    if verdict.answer is not None and not verdict.answer.is_checked:
        return "not checked: the texts have no labels"
    if (accuracy := verdict.scores.get("accuracy")) is None:
        return ""
    own, common = format_number(accuracy, percent=True), verdict.answer and verdict.answer.most_common
    return own if common is None else f"{own} (most common class: {format_number(common, percent=True)})"


def remarks(answer: AuditAnswer, item: str = "word") -> tuple[str, ...]:
    """Moved information, wrong predictions, texts without an outcome and seeds that do not count, a sentence each."""
    sentences = (_moved(answer, item), answer.wrong_sentence, _uncounted(answer, item), _left_out(answer))
    return tuple(sentence for sentence in sentences if sentence)


def _moved(answer: AuditAnswer, item: str) -> str:
    if answer.moved_note:
        return f"Moved information was not measured. {answer.moved_note}"
    if answer.moved is None or answer.moved.value is None:
        return ""
    return (
        f"Moved information: in {per_100(answer.moved)}, of those in which a small set of {item}s decides, attention "
        f"misses and marks {item}s whose states carry information from other {item}s."
    )


def _uncounted(answer: AuditAnswer, item: str) -> str:
    if not answer.uncounted:
        return ""
    counts = [f"{count:,} with {UNCOUNTED[why].format(item=item)}" for why, count in answer.uncounted.items()]
    return f"Texts without an outcome: {', '.join(counts)}."


def _left_out(answer: AuditAnswer) -> str:
    if not answer.left_out:
        return ""
    runs = ", ".join(answer.left_out)
    return f"Left out, because they are not significantly better than a constant prediction: {runs}."
