"""What every view says about a whole audit besides its answer. Imports no torch."""

from collections.abc import Iterator

from heedful.formatting import format_number
from heedful.schema import AuditAnswer, ClassAnswer, Interval, Verdict

QUESTION = "Can attention be shown as an explanation?"
UNCOUNTED = {"one word": "with a single {item}", "undefined": "for which the model has no prediction of a part"}


def per_100(share: Interval) -> str:
    """A share with its interval, in words.

    >>> per_100(Interval(value=0.61, low=0.54, high=0.68))
    '61 of 100 texts (54 to 68)'
    """
    value, low, high = (round(100 * (end or 0.0)) for end in (share.value, share.low, share.high))
    return f"{value} of 100 texts ({low} to {high})"


def share_text(share: Interval) -> str:
    """A share with its interval, in texts of 100.

    >>> share_text(Interval(value=0.61, low=0.54, high=0.68)), share_text(Interval())
    ('61 (54 to 68)', '–')
    """
    if share.value is None or share.low is None or share.high is None:
        return "–"
    return f"{round(100 * share.value)} ({round(100 * share.low)} to {round(100 * share.high)})"


def accuracy_text(verdict: Verdict) -> str:
    """The accuracy next to that of always predicting the most common class; empty if it is unknown.

    >>> accuracy_text(Verdict(run="r", data="d", texts=9, labels=(), lines=(), scores={"accuracy": 0.97}))
    '97.0 %'
    """
    answer, accuracy = verdict.answer, verdict.scores.get("accuracy")
    if answer is not None and not answer.is_checked:
        return "not checked: the texts have no labels"
    if accuracy is None:
        return ""
    own, common = format_number(accuracy, percent=True), answer.most_common if answer is not None else None
    return own if common is None else f"{own} (most common class: {format_number(common, percent=True)})"


def accuracy_sentence(verdict: Verdict) -> str:
    """The same as a sentence."""
    if verdict.answer is not None and not verdict.answer.is_checked:
        return "Accuracy was not checked: the texts have no labels."
    text = accuracy_text(verdict)
    return f"Accuracy: {text}." if text else ""


def moved_sentence(answer: AuditAnswer, item: str = "word") -> str:
    """In how many texts attention misses because states carry information from other words; or why nobody knows."""
    if answer.moved_note:
        return f"Moved information was not measured. {answer.moved_note}"
    if answer.moved is None:
        return ""
    return (
        f"Moved information: in {per_100(answer.moved)} attention misses, but the states of its top {item}s give the "
        f"prediction; they carry information from other {item}s."
    )


def left_out_sentence(answer: AuditAnswer, verdict: Verdict) -> str:
    """Seeds that count nowhere, and why; empty if all count."""
    if not answer.left_out:
        return ""
    seeds = {training.run: str(training.seed) for training in verdict.trainings if training.seed is not None}
    named = ", ".join(seeds.get(run, run) for run in answer.left_out)
    which, are = ("Seed", "is") if len(answer.left_out) == 1 else ("Seeds", "are")
    return f"{which} {named} {are} left out: not significantly better than a constant prediction."


def uncounted_sentence(answer: AuditAnswer, item: str = "word") -> str:
    """How many texts have no outcome, and why; empty if all have one."""
    counts = [
        f"{count} {'text' if count == 1 else 'texts'} {UNCOUNTED[why].format(item=item)}"
        for why, count in answer.uncounted.items()
    ]
    return f"Not counted: {', '.join(counts)}." if counts else ""


def too_few_sentence(answer: AuditAnswer) -> str:
    """Classes with too few texts for an answer, named with their number of texts; empty if there are none."""
    few = [each.shares for each in answer.classes if each.answer == "Too few texts"]
    if not few or answer.headline in ("Too few texts", "Nothing to explain"):
        return ""
    return f"Too few texts for an answer: {', '.join(f'{own.label} ({own.texts})' for own in few)}."


def answered_classes(answer: AuditAnswer) -> list[ClassAnswer]:
    """Classes with enough texts for an answer, in the order of the labels."""
    return [each for each in answer.classes if each.answer != "Too few texts"]


def answer_sentences(verdict: Verdict) -> Iterator[str]:
    """What qualifies the answer, in order."""
    if (answer := verdict.answer) is None:
        return
    sentences = (
        moved_sentence(answer, verdict.item),
        answer.wrong_sentence,
        left_out_sentence(answer, verdict),
        uncounted_sentence(answer, verdict.item),
    )
    yield from (sentence for sentence in sentences if sentence)
