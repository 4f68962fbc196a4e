"""Marks of people in a column of a file: where in each text they are, in whichever of six forms they were written.

Whatever the form (`rationale_forms`), a mark becomes [start, end) characters of its text, so that any tokenizer can be
laid over it.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from heedful.data.tokenizer import Span
from heedful.errors import DataError, SettingError

# Marks that are written as text: the text again with some of it in markers, or excerpts of it.

_MARKERS = (
    ("<mark>", "</mark>"),
    ("<b>", "</b>"),
    ("<em>", "</em>"),
    ("<strong>", "</strong>"),
    ("[[", "]]"),
    ("**", "**"),
)
"""What stands before and after marked words."""
_MARKED = re.compile("|".join(f"{re.escape(begin)}(.*?){re.escape(end)}" for begin, end in _MARKERS), flags=re.DOTALL)
_BETWEEN_EXCERPTS = re.compile(r"\s*[|\n]\s*")


@dataclass(frozen=True, slots=True)
class Matched:
    """[start, end) characters of what could be found in the text, and how many marks could not."""

    spans: tuple[Span, ...]
    unmatched: int = 0


def has_markers(written: str) -> bool:
    """Whether some of it stands in markers.

    >>> has_markers("a **good** film"), has_markers("a <mark>good</mark> film"), has_markers("a good film")
    (True, True, False)
    """
    return _MARKED.search(written) is not None


def match_marked_text(written: str, text: str) -> Matched:
    """Where in the text the marked parts of the same text, written again with markers, are.

    Case and space may differ. Where other things do, each part is looked for by itself.

    >>> match_marked_text("A [[good]]  film, [[really]].", "a good film, really.")
    Matched(spans=((2, 6), (13, 19)), unmatched=0)
    """
    plain, spans = _without_markers(written)
    characters, places = _folded(text)
    same, origins = _folded(plain)
    if same.replace(" ", "") != characters.replace(" ", ""):
        return match_excerpts((plain[start:end] for start, end in spans), text)
    there = [place for character, place in zip(characters, places, strict=True) if character != " "]
    here = [place for character, place in zip(same, origins, strict=True) if character != " "]
    marked = [[to for of, to in zip(here, there, strict=True) if start <= of < end] for start, end in spans]
    return Matched(tuple((inside[0], inside[-1] + 1) for inside in marked if inside))


def excerpts_of(written: str) -> list[str]:
    """The parts of a string that a bar or a line break separates.

    >>> excerpts_of("good film | well made")
    ['good film', 'well made']
    """
    return [part for part in _BETWEEN_EXCERPTS.split(written.strip()) if part]


def match_excerpts(excerpts: Iterable[str], text: str) -> Matched:
    """Where in the text each excerpt is: where it first stands as whole words; an equal one after that, if it can.

    Case and the width of spaces do not matter.

    >>> match_excerpts(["good", "good", "bad"], "Goodness, a good, GOOD  film")
    Matched(spans=((12, 16), (18, 22)), unmatched=1)
    """
    characters, places = _folded(text)
    spans: list[Span] = []
    unmatched, begins = 0, dict[str, int]()
    for excerpt in excerpts:
        wanted = " ".join(_folded(excerpt)[0].split())
        if not wanted:
            continue
        start = _find_words(characters, wanted, begins.get(wanted, 0))
        if start < 0 and wanted not in begins:
            unmatched += 1
        elif start >= 0:
            begins[wanted] = start + len(wanted)
            spans.append((places[start], places[start + len(wanted) - 1] + 1))
    return Matched(tuple(spans), unmatched)


def _find_words(text: str, wanted: str, begin: int) -> int:
    """The first place at which the words stand, and not as a part of longer ones; -1 where they do not."""
    start = text.find(wanted, begin)
    while start >= 0:
        end = start + len(wanted)
        cut_before = start > 0 and text[start - 1].isalnum() and wanted[0].isalnum()
        cut_after = end < len(text) and text[end].isalnum() and wanted[-1].isalnum()
        if not (cut_before or cut_after):
            return start
        start = text.find(wanted, start + 1)
    return -1


def _without_markers(written: str) -> tuple[str, list[Span]]:
    """What is written without its markers, and the characters of it that stood in them."""
    plain, spans, done = "", list[Span](), 0
    for match in _MARKED.finditer(written):
        inside = next(part for part in match.groups() if part is not None)
        plain += written[done : match.start()]
        spans.append((len(plain), len(plain) + len(inside)))
        plain += inside
        done = match.end()
    return plain + written[done:], spans


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in lower case, every run of spaces as one, and where in it each character came from."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace() and characters[-1:] == [" "]:
            continue
        for lower in " " if character.isspace() else character.lower():
            characters.append(lower)
            places.append(place)
    return "".join(characters), places


# The ways in which a column may write what people marked, and how to tell which of them it is.

Form = Literal["characters", "words", "word spans", "flags", "marked text", "excerpts"]

FORMS: dict[Form, str] = {
    "characters": "[start, end) spans of characters",
    "words": "the numbers of marked words, from 0, words being what spaces separate",
    "word spans": "[start, end) spans of words, words being what spaces separate",
    "flags": "a 0 or 1 for each word, words being what spaces separate",
    "marked text": "the text again with the marked words in <mark> </mark>, ** ** or [[ ]]",
    "excerpts": "excerpts of the text, a list or separated by |",
}
"""The ways in which marks may be written, and what each looks like."""

_NUMBER = r"\d{1,9}"
_RANGE = rf"{_NUMBER}\s*[:-]\s*{_NUMBER}"
_NUMBERS, _RANGES = (re.compile(rf"{part}(?:\s*[,;\s]\s*{part})*") for part in (_NUMBER, _RANGE))


def word_spans_of(text: str) -> list[Span]:
    """The characters of the words that spaces separate.

    >>> word_spans_of("so  good")
    [(0, 2), (4, 8)]
    """
    return [word.span() for word in re.finditer(r"\S+", text)]


def parse_values(values: Sequence[object]) -> list[object]:
    """The values as Python's own: strings that hold JSON, numbers or ranges are read; None where there is nothing.

    Where some strings are words, a number is a word too.

    >>> parse_values(["[[0, 4]]", " ", "3-5, 8-9"]), parse_values(["2, 3"]), parse_values(["in 1984", "1984"])
    ([[[0, 4]], None, [[3, 5], [8, 9]]], [[2, 3]], ['in 1984', '1984'])
    """
    parsed = [_parsed(value) for value in values]
    if not any(isinstance(value, str) for value in parsed):
        return parsed
    are_numbers = (isinstance(value, str) and _NUMBERS.fullmatch(value.strip()) for value in values)
    return [
        str(value).strip() if is_number else read
        for value, read, is_number in zip(values, parsed, are_numbers, strict=True)
    ]


def _parsed(value: object) -> object:
    if value is None or (isinstance(value, float) and value != value):
        return None
    if not isinstance(value, str):
        return list(value) if isinstance(value, tuple) else value
    written = value.strip()
    if not written:
        return None
    numbers = [int(number) for number in re.findall(_NUMBER, written)]
    if _NUMBERS.fullmatch(written):
        return numbers
    if _RANGES.fullmatch(written):
        return [[start, end] for start, end in zip(numbers[::2], numbers[1::2], strict=True)]
    if written[0] in "[{":
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            pass  # a text may begin with a bracket too
    return written


def form_of(values: Sequence[object], texts: Sequence[str], places: Sequence[str], column: str) -> Form:
    """The form that all values, as `parse_values` gives them, have in common.

    Pairs count words where none is beyond the last word and most would, as characters, cut words apart.

    Args:
        places: where each value is, for messages.

    >>> form_of([[[4, 8]]], ["not good"], ["line 2"], "why"), form_of([[1]], ["not good"], ["line 2"], "why")
    ('characters', 'words')
    """
    kinds: dict[str, str] = {}
    for value, place in zip(values, places, strict=True):
        if value is not None and (kind := _kind(value)):
            kinds.setdefault(kind, place)
    if "marked text" in kinds:  # a text in which nothing is marked has no markers
        kinds.pop("excerpts", None)
    if len(kinds) > 1 or "unknown" in kinds:
        seen = ", ".join(f"{kind} at {place}" for kind, place in kinds.items())
        raise DataError(
            f"column '{column}' must hold marks, written in the same way throughout; it holds {seen}. Write "
            f"{'; or '.join(FORMS.values())}."
        )
    given = [(value, text) for value, text in zip(values, texts, strict=True) if isinstance(value, list)]
    match next(iter(kinds), "excerpts"):
        case "numbers":
            return "flags" if _are_flags(given) else "words"
        case "pairs":
            return "word spans" if _are_word_spans(given) else "characters"
        case "marked text":
            return "marked text"
    return "excerpts"


def _kind(value: object) -> str:
    """What a value looks like; empty for an empty list, which any of them may be."""
    if isinstance(value, str):
        return "marked text" if has_markers(value) else "excerpts"
    kinds = {_entry_kind(entry) for entry in (value if isinstance(value, list) else [value])}
    return kinds.pop() if len(kinds) == 1 else "unknown" if kinds else ""


def _entry_kind(entry: object) -> str:
    match entry:
        case bool() | int():
            return "numbers"
        case str():
            return "excerpts"
        case {"start": int(), "end": int()} | [int(), int(), *_]:
            return "pairs"
    return "unknown"


def span_of(entry: object) -> Span:
    """The two ends that a pair, or what is written as {"start": 0, "end": 4}, names; a TypeError for anything else."""
    match entry:
        case {"start": int(start), "end": int(end)} | [int(start), int(end), *_]:
            return start, end
    raise TypeError(entry)


def _are_flags(given: Sequence[tuple[list, str]]) -> bool:
    """Whether each list has a 0 or 1 for every word; one that repeats itself tells flags from numbers of words."""
    flags = [value for value, text in given if value and len(value) == len(text.split()) and {*value} <= {0, 1}]
    is_sure = any(len({*value}) < len(value) or isinstance(value[0], bool) for value in flags)
    return is_sure and len(flags) == sum(bool(value) for value, _ in given)


def _are_word_spans(given: Sequence[tuple[list, str]]) -> bool:
    pairs = aligned = 0
    for value, text in given:
        words = word_spans_of(text)
        starts, ends = {start for start, _ in words}, {end for _, end in words}
        for start, end in map(span_of, value):
            if end > len(words):
                return False
            pairs += 1
            aligned += start in starts and end in ends
    return pairs > 0 and 2 * aligned < pairs


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
