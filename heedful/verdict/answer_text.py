"""What is said next to the answer of an audit, in words: the same in every view. Imports no torch."""

from heedful.formatting import format_number
from heedful.schema import AuditAnswer, ClassAnswer, Interval, Verdict

QUESTION = "Can attention be shown as an explanation?"
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


def answered_classes(answer: AuditAnswer) -> list[ClassAnswer]:
    """Classes with enough texts for an answer, in the order of the labels."""
    return [each for each in answer.classes if each.answer != "Too few texts"]


def too_few_sentence(answer: AuditAnswer) -> str:
    """Classes with too few texts for an answer, with their number of texts; empty if there are none or no others."""
    few = [each.shares for each in answer.classes if each.answer == "Too few texts"]
    if not few or len(few) == len(answer.classes):
        return ""
    return f"Too few texts for an answer: {', '.join(f'{own.label} ({own.texts})' for own in few)}."


def recommendation_text(answer: AuditAnswer) -> str:
    """What to show, and on which texts that was chosen."""
    shown = answer.recommendation
    if shown is None:
        return ""
    return f"{shown.sentence} Chosen on {shown.chosen_on}." if shown.chosen_on else shown.sentence


def remarks(verdict: Verdict) -> tuple[str, ...]:
    """Moved information, wrong predictions, seeds that do not count and texts without an outcome, a sentence each."""
    if (answer := verdict.answer) is None:
        return ()
    item = verdict.item
    sentences = (_moved(answer, item), answer.wrong_sentence, _left_out(verdict, answer), _uncounted(answer, item))
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


def _left_out(verdict: Verdict, answer: AuditAnswer) -> str:
    if not answer.left_out:
        return ""
    seeds = {training.run: str(training.seed) for training in verdict.trainings if training.seed is not None}
    named = ", ".join(seeds.get(run, run) for run in answer.left_out)
    which = "Seed" if len(answer.left_out) == 1 else "Seeds"
    return f"{which} left out, not significantly better than a constant prediction: {named}."
