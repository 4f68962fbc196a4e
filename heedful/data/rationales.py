"""Marks of people in a column of a file: where in each text they are, in whichever of six forms they were written.

Whatever the form (`rationale_forms`), a mark becomes [start, end) characters of its text, so that any tokenizer can be
laid over it.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from heedful.data.marked_text import Matched, excerpts_of, match_excerpts, match_marked_text
from heedful.data.rationale_forms import FORMS, Form, form_of, parse_values, span_of, word_spans_of
from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError

MOST_UNMATCHED = 0.5
"""A larger share of marks that are nowhere in their text is an error: they must belong to other texts."""


@dataclass(frozen=True)
class RationaleColumn:
    """What a column of marks says.

    Args:
        spans: [start, end) characters of each text, in order, apart from each other; None where a text has no marks.
            An empty tuple says that somebody looked and marked nothing.
        notes: how the column was read, and what did not match, for the user to read.
    """

    form: Form
    spans: tuple[tuple[Span, ...] | None, ...]
    notes: tuple[str, ...] = ()


def read_rationales(
    values: Sequence[object], texts: Sequence[str], places: Sequence[str], column: str, form: str | None = None
) -> RationaleColumn:
    """The marks in a column, as characters of the texts beside them.

    Args:
        places: where each value is, for messages: "reviews.csv, line 3".
        form: one of FORMS; None: as the values look.

    >>> column = read_rationales(["[2]", "", "0"], ["not a bad film", "so so", "dull"], ["", "", ""], "why")
    >>> column.form, column.spans
    ('words', (((6, 9),), None, ((0, 4),)))
    """
    parsed = parse_values(values)
    chosen = form_of(parsed, texts, places, column) if form is None else _known(form)
    spans: list[tuple[Span, ...] | None] = []
    marks = unmatched = 0
    outside: list[str] = []
    for value, text, place in zip(parsed, texts, places, strict=True):
        matched = None if value is None else _matched(value, text, chosen, column, place)
        spans.append(None if matched is None else _merged(matched.spans))
        if matched is not None:
            marks += len(matched.spans) + matched.unmatched
            unmatched += matched.unmatched
            outside += [place] if matched.unmatched else []
    _check_matched(marks, unmatched, outside, column, chosen)
    return RationaleColumn(chosen, tuple(spans), tuple(_notes(column, chosen, spans, marks, unmatched, outside)))


def marked_tokens(spans: Iterable[Span], tokens: Sequence[Span]) -> tuple[int, ...]:
    """The tokens, given by their characters in order, that share a character with a mark.

    >>> marked_tokens([(3, 5)], [(0, 2), (3, 6), (6, 7)])
    (1,)
    """
    starts, ends = [start for start, _ in tokens], [end for _, end in tokens]
    inside = {token for start, end in spans for token in range(bisect_right(ends, start), bisect_left(starts, end))}
    return tuple(sorted(inside))


def _known(name: str) -> Form:
    for form in FORMS:
        if form == name:
            return form
    raise SettingError(f"the form of a rationale must be one of {', '.join(map(repr, FORMS))}; it was {name!r}.")


def _matched(value: object, text: str, form: Form, column: str, place: str) -> Matched:
    try:
        return _READERS[form](value, text)
    except TypeError as error:
        raise DataError(
            f"{place}: column '{column}' must hold {FORMS[form]}, as other rows do; it holds {_shown(value)}."
        ) from error


def _match_characters(value: object, text: str) -> Matched:
    return _inside([span_of(entry) for entry in _listed(value)], len(text), lambda start, end: (start, end))


def _match_word_spans(value: object, text: str) -> Matched:
    words = word_spans_of(text)
    spans = [span_of(entry) for entry in _listed(value)]
    return _inside(spans, len(words), lambda start, end: (words[start][0], words[end - 1][1]))


def _match_words(value: object, text: str) -> Matched:
    words = word_spans_of(text)
    spans = [(number, number + 1) for number in map(_whole, _listed(value))]
    return _inside(spans, len(words), lambda start, _: words[start])


def _match_flags(value: object, text: str) -> Matched:
    words, flags = word_spans_of(text), _listed(value)
    marked = [place for place, flag in enumerate(map(_whole, flags)) if flag]
    if len(flags) != len(words):  # nobody knows which words are meant
        return Matched((), len(marked))
    return Matched(tuple(words[place] for place in marked))


def _match_marked(value: object, text: str) -> Matched:
    if not isinstance(value, str):
        raise TypeError(value)
    return match_marked_text(value, text)


def _match_listed_excerpts(value: object, text: str) -> Matched:
    excerpts = excerpts_of(value) if isinstance(value, str) else _listed(value)
    if not all(isinstance(excerpt, str) for excerpt in excerpts):
        raise TypeError(value)
    return match_excerpts(excerpts, text)


_READERS: dict[Form, Callable[[object, str], Matched]] = {
    "characters": _match_characters,
    "words": _match_words,
    "word spans": _match_word_spans,
    "flags": _match_flags,
    "marked text": _match_marked,
    "excerpts": _match_listed_excerpts,
}


def _listed(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _inside(spans: Sequence[Span], most: int, characters: Callable[[int, int], Span]) -> Matched:
    """The characters of the spans that lie inside of the text; the others are counted, but for empty ones."""
    real = [(_whole(start), _whole(end)) for start, end in spans if start != end]
    kept = [characters(start, end) for start, end in real if 0 <= start < end <= most]
    return Matched(tuple(kept), len(real) - len(kept))


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same characters as spans in order that neither overlap nor touch."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _check_matched(marks: int, unmatched: int, outside: Sequence[str], column: str, form: Form) -> None:
    if unmatched > MOST_UNMATCHED * marks:
        raise DataError(
            f"column '{column}' must mark words of the text beside it; {unmatched} of {marks} marks are nowhere in "
            f"their text (first: {outside[0]}). It was read as {FORMS[form]}. Are these the marks of other texts, "
            "or is it the wrong column? Name another by --rationale."
        )


def _notes(
    column: str, form: Form, spans: Sequence[object], marks: int, unmatched: int, outside: Sequence[str]
) -> Iterable[str]:
    given = sum(own is not None for own in spans)
    yield f"marks are column '{column}', read as {FORMS[form]}; {given} of {len(spans)} texts have them"
    if unmatched:
        yield f"{unmatched} of {marks} marks in column '{column}' are nowhere in their text (first: {outside[0]})"


def _shown(value: object) -> str:
    return f"{json.dumps(value, default=str):.60}"
