"""Marks that are written as text: the text again with some of it in markers, or excerpts of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from heedful.data.tokenizer import Span

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
