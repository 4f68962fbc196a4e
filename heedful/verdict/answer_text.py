"""The answer of an audit and the outcomes of its texts as every view shows them. Imports no torch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heedful.formatting import format_number
from heedful.schema import AuditAnswer, ClassAnswer, Interval, RankingShare, TextOutcome, Verdict
from heedful.schema.rankings import ranking_title

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
    '90.0%'
    """
    if verdict.answer is not None and not verdict.answer.is_checked:
        return "not checked: the texts have no labels"
    if (accuracy := verdict.scores.get("accuracy")) is None:
        return ""
    own, common = format_number(accuracy, percent=True), verdict.answer and verdict.answer.most_common
    return own if common is None else f"{own} (most common class: {format_number(common, percent=True)})"


KINDS = {"Yes": "points", "For some texts": "some", "No": "misses", "No small set decides": "no_small_set"}
"""The color and shape of an answer on a page: that of the outcome of one text, where there is one."""
DEPENDS = "It depends on the class"


def answer_badge(answer: str) -> tuple[str, str]:
    """The color and shape of an answer or a headline, and its word.

    >>> answer_badge("Yes"), answer_badge("It depends on the class: fine: Yes, hateful: No")
    (('points', 'Yes'), ('some', 'It depends on the class'))
    """
    if answer.startswith(DEPENDS):
        return "some", DEPENDS
    return KINDS.get(answer, "none"), answer


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


# The outcome of one text, in words.

BADGES = {"points": "points", "misses": "misses", "no_small_set": "no small set", None: "no outcome"}
"""The outcome in a word or two."""
WHY_NOT: dict[str | None, str] = {
    "many words": "many {item}s contribute",
    "default": "the model predicts this class unless something opposes it",
    "any words": "almost any {item}s are enough",
    "default or any words": "it is the model's default, or almost any {item}s are enough",
}
WITHOUT_OUTCOME: dict[str | None, str] = {
    "one word": "The text has a single {item}, so there is nothing to choose from.",
    "undefined": "The model has no prediction for parts of this text, so the text has no outcome.",
}


def outcome_sentence(outcome: TextOutcome, item: str = "word") -> str:
    """The outcome, subject first.

    >>> outcome_sentence(TextOutcome(predicted="fine", outcome="misses"))
    'Attention misses the key words.'
    """
    if outcome.outcome is None:
        return WITHOUT_OUTCOME[outcome.reason].format(item=item)
    if outcome.outcome == "no_small_set":
        return f"No small set of {item}s decides this prediction: {WHY_NOT[outcome.reason].format(item=item)}."
    name = ranking_title(outcome.ranking)
    verb = "points to" if outcome.outcome == "points" else "misses"
    return f"{name[0].upper()}{name[1:]} {verb} the key {item}s."


def key_words_sentence(outcome: TextOutcome, items: Sequence[str], item: str = "word") -> str:
    """The key words by name; empty if there are none.

    >>> key_words_sentence(TextOutcome(predicted="bad", key_words=(1, 3)), ("a", "dull", "sad", "film"))
    'Key words: dull, film.'
    """
    if not outcome.key_words:
        return ""
    named = listed_words(items[place] for place in outcome.key_words)
    if outcome.outcome == "no_small_set":
        return f"The {item}s with the largest effect: {named}."
    return f"Key {item}{'s' if len(outcome.key_words) > 1 else ''}: {named}."


def listed_words(words: Iterable[str]) -> str:
    """Words with commas; punctuation in quotes.

    >>> listed_words(("rude", "."))
    'rude, “.”'
    """
    return ", ".join(word if any(letter.isalnum() for letter in word) else f"“{word}”" for word in words)


def prediction_sentence(outcome: TextOutcome, item: str = "word") -> str:
    """What the model predicts from the key words alone, and without them; empty if there are none.

    >>> prediction_sentence(TextOutcome(predicted="hateful", key_words=(1, 2), alone_predicted="hateful",
    ...     alone_probability=0.97, without_predicted="fine", without_probability=0.61))
    'With these words alone: hateful 0.97; without them: fine 0.61.'
    """
    if not outcome.key_words:
        return ""
    several = len(outcome.key_words) > 1
    which, them = (f"these {item}s", "them") if several else (f"this {item}", "it")
    alone = f"{outcome.alone_predicted} {outcome.alone_probability or 0.0:.2f}"
    without = f"{outcome.without_predicted} {outcome.without_probability or 0.0:.2f}"
    return f"With {which} alone: {alone}; without {them}: {without}."


def top_words_sentence(
    outcome: TextOutcome, items: Sequence[str], item: str = "word", *, with_effect: bool = True
) -> str:
    """The top words and what the model predicts from them; empty if they are the key words or none decide.

    Args:
        with_effect: whether to compare their effect with that of the key words.

    >>> top_words_sentence(TextOutcome(predicted="bad", outcome="misses", top_words=(0, 3), key_words=(1, 3),
    ...     top_alone=0.5, top_without=0.9), ("a", "dull", "sad", "film"))
    "Top words of attention: a, film. Measured from chance, they have less than half of the key words' effect. With \
them alone: bad 0.50; without them: bad 0.90."
    """
    is_judged = outcome.outcome in ("points", "misses") and outcome.top_words
    if not is_judged or set(outcome.top_words) == set(outcome.key_words):
        return ""
    ending, possessive, has, them = (
        ("s", "s'", "they have", "them") if len(outcome.top_words) > 1 else ("", "'s", "it has", "it")
    )
    named = listed_words(items[place] for place in outcome.top_words)
    share = "at least" if outcome.outcome == "points" else "less than"
    effect = f" Measured from chance, {has} {share} half of the key {item}{possessive} effect." if with_effect else ""
    alone, without = (f"{outcome.predicted} {part or 0.0:.2f}" for part in (outcome.top_alone, outcome.top_without))
    return (
        f"Top {item}{ending} of {ranking_title(outcome.ranking)}: {named}.{effect} With {them} alone: {alone}; without "
        f"{them}: {without}."
    )


def moved_sentence(outcome: TextOutcome, item: str = "word") -> str:
    """What attention's top words carry if they miss; empty unless it is information from other words."""
    if not outcome.is_moved:
        return ""
    return (
        f"The prediction is about as probable from the states of the top {item}s as from the whole text, and less "
        f"probable from these {item}s alone: the states carry information from other {item}s."
    )


def outcome_sentences(outcome: TextOutcome, items: Sequence[str], item: str = "word") -> tuple[str, ...]:
    """All that is said about the outcome, in order."""
    sentences = (
        outcome_sentence(outcome, item),
        key_words_sentence(outcome, items, item),
        prediction_sentence(outcome, item),
        top_words_sentence(outcome, items, item),
        moved_sentence(outcome, item),
    )
    return tuple(sentence for sentence in sentences if sentence)


def example_lines(outcome: TextOutcome, items: Sequence[str], item: str = "word") -> tuple[str, ...]:
    """What a page says next to a text whose badge shows the outcome and whose key words are outlined.

    The key words and what the model predicts from them are one line; if they are missed, the top words have another.

    >>> alone, without = ("bad", 0.97), ("fine", 0.61)
    >>> example_lines(TextOutcome(predicted="bad", outcome="points", key_words=(1,), alone_predicted=alone[0],
    ...     alone_probability=alone[1], without_predicted=without[0], without_probability=without[1]), ("a", "dull"))
    ('Key word: dull. With this word alone: bad 0.97; without it: fine 0.61.',)
    """
    is_reason = outcome.outcome in ("no_small_set", None)
    about = outcome_sentence(outcome, item) if is_reason else ""
    key = (about, key_words_sentence(outcome, items, item), prediction_sentence(outcome, item))
    top = top_words_sentence(outcome, items, item, with_effect=False) if outcome.outcome == "misses" else ""
    moved = f" Their states carry information from other {item}s." if outcome.is_moved else ""
    lines = (" ".join(filter(None, key)), top and top + moved)
    return tuple(filter(None, lines))


# Which classes and rankings page and notebook list, and a bar of outcomes.


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


def share_bar(own: ClassAnswer) -> ShareBar | None:
    """The bar of all texts or of one class; None if there is nothing to show."""
    points, luck, none = own.shares.points.value, own.shares.luck, own.shares.no_small_set.value
    if own.answer == "Nothing to explain" or none is None:
        return None
    parts = [("no-small-set", "no small set", none)]
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
