"""The outcome of one text in words: what every view says about it. Imports no torch."""

from collections.abc import Iterable, Sequence

from heedful.schema import TextOutcome
from heedful.schema.rankings import ranking_title

BADGES = {"points": "points", "misses": "misses", "no_small_set": "no small set", None: "no outcome"}
"""The outcome in a word or two."""
WHY_NOT: dict[str | None, str] = {
    "many words": "many {item}s contribute",
    "default": "the model predicts this class unless something opposes it",
    "any words": "almost any {item}s are enough",
    "default or any words": "it is the model's default, or almost any {item}s are enough",
}
UNCOUNTED: dict[str | None, str] = {
    "one word": "The text has a single {item}, so there is nothing to choose from.",
    "undefined": "The model has no prediction for parts of this text, so the text has no outcome.",
}


def outcome_sentence(outcome: TextOutcome, item: str = "word") -> str:
    """The outcome, subject first.

    >>> outcome_sentence(TextOutcome(predicted="fine", outcome="misses"))
    'Attention misses the key words.'
    """
    if outcome.outcome is None:
        return UNCOUNTED[outcome.reason].format(item=item)
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


def top_words_sentence(outcome: TextOutcome, items: Sequence[str], item: str = "word") -> str:
    """The top words and what the model predicts from them; empty if they are the key words or none decide.

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
    alone, without = (f"{outcome.predicted} {part or 0.0:.2f}" for part in (outcome.top_alone, outcome.top_without))
    return (
        f"Top {item}{ending} of {ranking_title(outcome.ranking)}: {named}. Measured from chance, {has} {share} half of "
        f"the key {item}{possessive} effect. With {them} alone: {alone}; without {them}: {without}."
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
