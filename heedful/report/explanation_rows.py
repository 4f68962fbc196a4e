"""What an explanation shows, in the terminal as on the page: rows of weighted words, and sentences."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from unicodedata import category

from heedful.auditing.explanation import Explanation
from heedful.report.examples import PALE

OTHER = "Same answer, other attention"
FAINT = 0.05
"""Weights below this share of full colour are not marked as speaking against the decision."""
MOST_LISTED = 10
"""Items of the smallest set that are listed; all of them are marked."""
MOST_LABELS = 5
"""Answers that are listed beside the model's own."""
MOST_UNREAD = 300
"""Characters that are shown of what the model did not read."""
NOTES = {
    "attention": ("may be shown, says the audit", ""),
    "instead": ("recommended by the audit", "for comparison"),
    "nothing": ("not to be relied on", "not to be relied on"),
    "not audited": ("not audited", "not audited"),
}
"""What stands beside the ranking and beside attention, by the audit's advice."""

# A text may come from anywhere: control characters could move the cursor, and marks of direction reorder the line.
UNSAFE = {code: " " for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
UNSAFE |= {code: "" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


@dataclass(frozen=True)
class Token:
    """An item and its colour.

    Args:
        before: what stands between the item before and this one.
        strength: of the colour, from 0 to 1.
        value: the weight in words.
        against: whether it speaks against the decision.
        flips: whether it is in the smallest set that changes the decision.
    """

    before: str
    text: str
    strength: float
    value: str
    against: bool
    flips: bool


@dataclass(frozen=True)
class Row:
    """One ranking over a text.

    Args:
        rest: what stands after the last item.
        heaviest: the items of the largest weights, in words.
    """

    name: str
    note: str
    tokens: tuple[Token, ...]
    rest: str
    heaviest: str

    @property
    def description(self) -> str:
        """Every item with its weight, for those who do not see colours."""
        return f"{self.name}. " + "; ".join(f"{token.text}: {token.value}" for token in self.tokens)


def rows_of(explanation: Explanation) -> list[Row]:
    """The ranking to show, attention beside it, and the most different attention with the same answer."""
    note, beside = NOTES[explanation.guidance.action]
    rows = [_row(explanation, explanation.guidance.name.capitalize(), note, explanation.weights)]
    if explanation.ranking != "attention":
        rows.append(_row(explanation, "Attention", beside, explanation.attention))
    if other := explanation.other_attention:
        probability = format_probability(other.probability)
        answers = f"answers {explanation.predicted} with {probability}"
        # Where the decision was closer than eps, the other attention may tip it.
        tips = f"gives {explanation.predicted} {probability}, just below another"
        note = answers if other.predicted == explanation.predicted else tips
        rows.append(_row(explanation, OTHER, note, other.weights))
    return rows


def prediction(explanation: Explanation) -> str:
    """What the model answers, and how sure it is of each answer."""
    others = [label for label in explanation.probabilities if label != explanation.predicted]
    ranked = sorted(others, key=lambda label: -explanation.probabilities[label])
    listed = [f"{label} {format_probability(explanation.probabilities[label])}" for label in ranked[:MOST_LABELS]]
    more = [f"{len(ranked) - MOST_LABELS} more"] if len(ranked) > MOST_LABELS else []
    return f"with probability {format_probability(explanation.probability)} ({', '.join(listed + more)})"


def format_probability(probability: float) -> str:
    """Two decimals, or three near 0 and 1: no answer is certain.

    >>> [format_probability(p) for p in (0.5, 0.997, 0.99999, 1e-9)]
    ['0.50', '0.997', 'above 0.999', 'below 0.001']
    """
    if probability > 0.9995:
        return "above 0.999"
    if probability < 0.0005:
        return "below 0.001"
    return f"{probability:.2f}" if 0.005 <= probability < 0.995 else f"{probability:.3f}"


def sentences_of(explanation: Explanation) -> list[str]:
    """What would change the decision, and how different attention could be."""
    if len(explanation.items) < 2:
        return []
    return [_smallest(explanation), _other(explanation)]


def definitions(explanations: Sequence[Explanation]) -> str:
    """What the sentences mean by erasing, and by the same answer."""
    item = explanations[0].item
    erase = f"To erase {'an' if item == 'item' else 'a'} {item} is to give its attention to the others, in proportion."
    eps = {each.other_attention.eps for each in explanations if each.other_attention}
    if not eps:
        return erase
    return (
        f"{erase} The most different attention is the furthest from the model's, by Jensen-Shannon divergence (JSD, in "
        f"nats), that moves the prediction by at most {max(eps):g}."
    )


def is_signed(explanations: Sequence[Explanation]) -> bool:
    """Whether some weights may speak against a decision."""
    return any(explanation.is_signed for explanation in explanations)


def _smallest(explanation: Explanation) -> str:
    smallest, is_exact = explanation.smallest_set, explanation.solver == "exact"
    if smallest is None:
        if is_exact:
            return f"Whichever {explanation.item}s are erased, the decision stays the same."
        return f"No set of {explanation.item}s was found whose erasure changes the decision."
    listed = ", ".join(_quoted(explanation.items[place]) for place in smallest.positions[:MOST_LISTED])
    more = len(smallest.positions) - MOST_LISTED
    listed += f" and {more} more" if more > 0 else ""
    count = f"{len(smallest.positions)} of {len(explanation.items)} {explanation.item}s"
    proof = "no smaller set does" if is_exact else "a smaller set may exist"
    becomes = f"{smallest.becomes} (probability {format_probability(smallest.probability)})"
    return f"Erasing {listed} ({count}) changes the decision to {becomes}; {proof}."


def _other(explanation: Explanation) -> str:
    other = explanation.other_attention
    if other is None:
        return "No other attention with the same answer was found."
    which = "The most different attention found" if other.solver == "search" else "The most different attention"
    reaches = "reaches at least" if other.solver == "bound" else "reaches"
    probability = format_probability(other.probability)
    answer = f"with the same answer (probability {probability})"
    if other.predicted != explanation.predicted:
        answer = f"within {other.eps:g} of the prediction ({explanation.predicted} {probability}, just below another)"
    return f"{which} {answer} {reaches} {100 * other.share:.0f} % of the maximum divergence (JSD {other.js:.2f})."


def _row(explanation: Explanation, name: str, note: str, weights: Sequence[float]) -> Row:
    sizes = [abs(weight) if isfinite(weight) else 0.0 for weight in weights]
    full = max(max(sizes), PALE * sum(sizes) / len(sizes))
    flips = set(explanation.smallest_set.positions) if explanation.smallest_set else set()
    gaps, rest = _between(explanation.text, explanation.items)
    tokens = tuple(
        Token(
            before=printable(before),
            text=_named(item),
            strength=round(size / full, 3) if full > 0 else 0.0,
            value=_written(weight),
            against=weight < -FAINT * full,
            flips=place in flips,
        )
        for place, (before, item, weight, size) in enumerate(zip(gaps, explanation.items, weights, sizes, strict=True))
    )
    return Row(name, note, tokens, printable(rest), _heaviest(explanation, weights, sizes))


def _heaviest(explanation: Explanation, weights: Sequence[float], sizes: Sequence[float]) -> str:
    order = sorted((place for place, size in enumerate(sizes) if size > 0), key=lambda place: -sizes[place])[:3]
    if not order:
        return "undefined" if all(map(isnan, weights)) else f"0 for every {explanation.item}"
    listed = (f"{_quoted(explanation.items[place])}\N{NO-BREAK SPACE}{_written(weights[place])}" for place in order)
    return f"most: {', '.join(listed)}"


def _written(weight: float) -> str:
    return f"{weight:.2g}" if isfinite(weight) else "undefined"


def printable(text: str) -> str:
    r"""The text without the characters that control a terminal or reorder a line.

    >>> printable("red\x1b[0m \u202eeulb")
    'red [0m eulb'
    """
    return text.translate(UNSAFE)


def _named(item: str) -> str:
    """The item as it can be printed; by the numbers of its characters where nothing of it can."""
    return printable(item) if printable(item).strip() else _numbered(item)


def _quoted(item: str) -> str:
    """The item in quotation marks, not too long; by the numbers of its characters where none can be seen alone."""
    is_visible = any(category(character)[0] not in "CMZ" for character in item)
    return f"“{_cut(printable(item) if is_visible else _numbered(item), 40)}”"


def _numbered(item: str) -> str:
    return " ".join(f"U+{ord(character):04X}" for character in item)


def _between(text: str, items: Sequence[str]) -> tuple[list[str], str]:
    """What stands before each item in the text, and after the last; spaces where the items are not in it.

    >>> _between("It isn't BAD!", ["It", "isn", "'", "t", "BAD"])
    (['', ' ', '', '', ' '], '!')
    """
    places = list(_places(text, items))
    if len(places) < len(items):
        return ["", *[" "] * (len(items) - 1)], ""
    ends = [0, *(start + len(item) for start, item in zip(places, items, strict=True))]
    gaps = [re.sub(r"\s+", " ", text[end:start]) for end, start in zip(ends, places, strict=False)]
    return [gaps[0].lstrip(), *gaps[1:]], _cut(re.sub(r"\s+", " ", text[ends[-1] :]).rstrip(), MOST_UNREAD)


def _places(text: str, items: Sequence[str]) -> Iterator[int]:
    """Where each item stands in the text, in order, up to the first that does not."""
    end = 0
    for item in items:
        start = text.find(item, end)
        if start < 0:
            return
        yield start
        end = start + len(item)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
