"""Human rationales in a column of a file: spans of characters, or word indices.

Both become [start, end) characters of the text in their row, so that any tokenizer can be laid over them.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from heedful.data.tokenizer import Span
from heedful.errors import DataError

FORMS = {
    "characters": 'spans of characters, "0:4, 10:14" or [[0, 4], [10, 14]]',
    "words": "word indices, [0, 3], counted from 0, of words separated by spaces",
}
"""The formats of rationales, with an example of each."""
CONVERT = (
    "To convert others in Python: text.find(excerpt) is the start of an excerpt; of a 0 or 1 for each word, "
    "[n for n, flag in enumerate(flags) if flag] are the words."
)
MOST_UNMATCHED = 0.5
"""A larger share of marks that are nowhere in their text is an error: they must belong to other texts."""


@dataclass(frozen=True)
class RationaleColumn:
    """What a column of marks says.

    Args:
        spans: [start, end) characters of each text, in order, apart from each other; None if a text has no rationale.
            An empty tuple means that an annotator marked nothing.
        notes: how the column was read, and what did not match, for the user to read.
    """

    spans: tuple[tuple[Span, ...] | None, ...]
    notes: tuple[str, ...] = ()


def read_rationales(
    values: Sequence[object], texts: Sequence[str], places: Sequence[str], column: str
) -> RationaleColumn:
    """The rationales in a column, as characters of the texts in their rows.

    Args:
        places: where each value is, for messages: "reviews.csv, line 3".

    >>> read_rationales(["[2]", "", "0"], ["not a bad film", "so so", "dull"], ["", "", ""], "why").spans
    (((6, 9),), None, ((0, 4),))
    """
    forms: dict[str, str] = {}
    spans: list[tuple[Span, ...] | None] = []
    marks, outside = 0, list[str]()
    for value, text, place in zip(values, texts, places, strict=True):
        marked = parse_marks(value, column, place)
        if marked is None:
            spans.append(None)
            continue
        words, inside = word_spans_of(text), list[Span]()
        for mark in marked:
            forms.setdefault("words" if isinstance(mark, int) else "characters", place)
            if isinstance(mark, int):
                start, end = words[mark] if 0 <= mark < len(words) else (-1, -1)
            else:
                start, end = mark
            if 0 <= start < end <= len(text):
                inside.append((start, end))
            elif not start == end >= 0:  # an empty span marks nothing
                outside.append(place)
            marks += not start == end >= 0
        spans.append(_merged(inside))
    _check(column, forms, marks, outside)
    _check_characters(column, spans, texts)
    given = sum(own is not None for own in spans)
    form = FORMS[next(iter(forms), "characters")]
    notes = [f"marks are column '{column}', read as {form}; {given} of {len(spans)} texts have them"]
    if outside:
        notes.append(
            f"{len(outside)} of {marks} marks in column '{column}' are nowhere in their text (first: {outside[0]})"
        )
    return RationaleColumn(tuple(spans), tuple(notes))


def parse_marks(value: object, column: str, place: str) -> list[int | Span] | None:
    """The word indices, or the spans, that a cell holds; None if it is empty.

    >>> parse_marks("[[0, 4]]", "why", ""), parse_marks("3:5, 8:9", "why", ""), parse_marks("2 3", "why", "")
    ([(0, 4)], [(3, 5), (8, 9)], [2, 3])
    >>> parse_marks(" ", "why", ""), parse_marks("[]", "why", "")
    (None, [])
    """
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return None
    try:
        parsed = _parsed(value.strip()) if isinstance(value, str) else value
        entries = list(parsed) if isinstance(parsed, list | tuple) else [parsed]
        marks = [entry if type(entry) is int else span_of(entry) for entry in entries]
        if all(isinstance(mark, int) for mark in marks) and len({*marks}) < len(marks):
            raise ValueError("a word stands twice")  # so these are flags
        return marks
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{place}: column '{column}' must hold {' or '.join(FORMS.values())}; it holds {value!r:.60}. {CONVERT}"
        ) from error


def word_spans_in(
    values: Sequence[object], texts: Sequence[str], places: Sequence[str], column: str
) -> list[tuple[Span, ...] | None] | None:
    """The [start, end) spans of words in a column of lists of pairs, as public sets have them; None for other marks.

    Words are what single spaces separate: `text.split(" ")`.
    """
    written = (value.strip() for value in values if isinstance(value, str))
    if not all(value.startswith("[") for value in written if value):
        return None
    parsed = [parse_marks(value, column, place) for value, place in zip(values, places, strict=True)]
    if any(isinstance(mark, int) for marks in parsed for mark in marks or ()):
        return None
    spans: list[tuple[Span, ...] | None] = []
    for marks, text, place in zip(parsed, texts, places, strict=True):
        words = text.count(" ") + 1
        pairs = tuple(mark for mark in marks or () if isinstance(mark, tuple))
        if wrong := [(start, end) for start, end in pairs if text.strip() and not 0 <= start <= end <= words]:
            raise DataError(
                f"{place}: column '{column}' must be a list of [start, end) spans over the {words} words of the text; "
                f'it holds {[*wrong[0]]}. To mark characters, write "start:end".'
            )
        spans.append(None if marks is None or not text.strip() else pairs)
    return spans


def _parsed(written: str) -> object:
    """Numbers and "start:end" spans, with commas, semicolons or spaces between them, or else JSON."""
    parts = re.split(r"[,;\s]+", written)
    if all(re.fullmatch(r"\d{1,9}", part) for part in parts):
        return [int(part) for part in parts]
    if all(re.fullmatch(r"\d{1,9}[:-]\d{1,9}", part) for part in parts):
        return [tuple(map(int, re.split("[:-]", part))) for part in parts]
    return json.loads(written)


def span_of(entry: object) -> Span:
    """The two ends that a pair, or what is written as {"start": 0, "end": 4}, names; a TypeError for anything else."""
    match entry:
        case {"start": int(start), "end": int(end)} | [int(start), int(end), *_]:
            return start, end
    raise TypeError(entry)


def word_spans_of(text: str) -> list[Span]:
    """The characters of the words that spaces separate.

    >>> word_spans_of("so  good")
    [(0, 2), (4, 8)]
    """
    return [word.span() for word in re.finditer(r"\S+", text)]


def marked_tokens(spans: Iterable[Span], tokens: Sequence[Span]) -> tuple[int, ...]:
    """The tokens, given by their characters in order, that share a character with a mark.

    >>> marked_tokens([(3, 5)], [(0, 2), (3, 6), (6, 7)])
    (1,)
    """
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    inside = {token for start, end in spans for token in range(bisect_right(ends, start), bisect_left(starts, end))}
    return tuple(sorted(inside))


def characters_of(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """The characters of [start, end) spans over `text.split(" ")`, empty ones aside.

    >>> characters_of("so very good", [(1, 3), (2, 2)])
    ((3, 12),)
    """
    starts = list(accumulate((len(word) + 1 for word in text.split(" ")), initial=0))
    return tuple((starts[first], starts[last] - 1) for first, last in spans if first < last)


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same characters as spans in order that neither overlap nor touch."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _check(column: str, forms: dict[str, str], marks: int, outside: Sequence[str]) -> None:
    if len(forms) > 1:
        seen = ", ".join(f"{form} at {place}" for form, place in forms.items())
        raise DataError(f"column '{column}' must write marks in the same way throughout; it holds {seen}.")
    if len(outside) > MOST_UNMATCHED * marks:
        raise DataError(
            f"column '{column}': {len(outside)} of {marks} rationales do not occur in the text of their row (first: "
            f"{outside[0]}). The column was read as {FORMS[next(iter(forms))]}. If they belong to other texts or this "
            "is the wrong column, choose another with --rationale."
        )


def _check_characters(column: str, spans: Sequence[Sequence[Span] | None], texts: Sequence[str]) -> None:
    """Refuse spans that, as characters, cut most words apart, and could count words."""
    pairs = cut = 0
    for marked, text in zip(spans, texts, strict=True):
        words = word_spans_of(text)
        for start, end in marked or ():
            if end > len(words):
                return
            pairs += 1
            cut += start not in {begin for begin, _ in words} or end not in {last for _, last in words}
    if 2 * cut > pairs:
        raise DataError(
            f"column '{column}' must hold {FORMS['characters']}; as such they cut words apart, so they seem to count "
            "words. Write the numbers of the words, or call the column 'rationale': its [start, end) pairs count words."
        )
