"""The ways in which a column may write what people marked, and how to tell which of them it is."""

import json
import re
from collections.abc import Sequence
from typing import Literal

from heedful.data.marked_text import has_markers
from heedful.data.tokenizer import Span
from heedful.errors import DataError

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
