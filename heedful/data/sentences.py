"""Where sentences begin: rules that work on ordinary text and on text with spaces around its punctuation."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from heedful.data.tokenizer import Span

_ENDS = ".!?…؟।"
_CLOSING = "\"')]}”’»"
_OPENING = "\"'`([{“‘«"
_WIDE_END = re.compile("[。！？]+[」』”’）]*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_DOTTED = re.compile(r"(?:\w\.)+\w")
# fmt: off
_NEVER_LAST = frozenset((
    "approx", "ave", "capt", "cf", "ch", "col", "dept", "dr", "eq", "fig", "fr", "gen", "gov", "hon", "lt", "mr", "mrs",
    "ms", "mt", "pp", "pres", "prof", "rep", "rev", "sen", "sgt", "st", "vol", "vs",
))
_SELDOM_LAST = frozenset((
    "al", "apr", "aug", "bros", "co", "corp", "dec", "est", "etc", "feb", "inc", "jan", "jr", "ltd", "nov", "oct",
    "sept", "sr",
))
# fmt: on


def sentence_starts(text: str, spans: Sequence[Span]) -> tuple[int, ...]:
    r"""The position, among the tokens at these spans, at which each sentence begins: increasing, from 0.

    A sentence ends at . ! ? or an ellipsis (with the quotes and brackets that close behind it), and at a blank line.
    Not at an abbreviation, an initial or inside a number; not at an ellipsis, or a quotation, that goes on in lower
    case; and it has at least one letter or digit. The text can be lowercase, and punctuation can be surrounded by
    spaces, as in older datasets.
    Serrano and Smith (2019, arXiv:1906.03731) cut with a parser instead.

    >>> text = "Mr. Fox paid 3.50 for it. Why? He won't say..."
    >>> spans = [word.span() for word in re.finditer(r"\S+", text)]
    >>> sentence_starts(text, spans)
    (0, 6, 7)
    """
    begins = [start for start, _ in spans]
    firsts = {bisect_left(begins, place) for place in _between_words(text, sorted({*_breaks(text)}))}
    return tuple(sorted({0, *firsts} & set(range(len(spans)))))


def _between_words(text: str, breaks: Iterable[int]) -> Iterator[int]:
    """The breaks that leave a letter or digit on both sides."""
    last = max((word.start() for word in re.finditer(r"\w+", text)), default=0)
    start = 0
    for place in breaks:
        if place <= last and re.search(r"\w", text[start:place]):
            yield place
            start = place


def _breaks(text: str) -> Iterator[int]:
    """The characters at which a new sentence may begin."""
    yield from (mark.end() for pattern in (_WIDE_END, _BLANK_LINE) for mark in pattern.finditer(text))
    places = list(re.finditer(r"\S+", text))
    words = [place.group() for place in places]
    quotes = list(accumulate((word.count('"') for word in words), initial=0))
    first = number = 0
    while number < len(words):
        after = number + 1
        if words[number].rstrip(_CLOSING).endswith(tuple(_ENDS)):
            while after < len(words) and _trails(words[after], quotes[after]):
                after += 1
            # The last three words suffice, also to see whether the word before the mark is the sentence's first.
            end = words[max(first, number - 2) : number + 1]
            if after < len(words) and _is_end(end, words[number + 1 : after], words[after]):
                yield places[after].start()
                first = after
        number = after


def _trails(word: str, quotes_before: int) -> bool:
    """Whether a word still belongs to the end of the sentence before it: more marks, or something that closes."""
    if word == '"':
        return quotes_before % 2 == 1
    return word == "''" or not word.strip(_ENDS) or not word.strip(")]}”’»")


def _is_end(sentence: Sequence[str], trail: Sequence[str], after: str) -> bool:
    """Whether the mark on the sentence's last word ends it, given the marks that trail and the word after them."""
    stop = sentence[-1].rstrip(_CLOSING)
    body = stop.rstrip(_ENDS)
    marks = stop[len(body) :] + "".join(word for word in trail if word[0] in _ENDS)
    is_pause = "…" in marks or ".." in marks
    is_quoted = any(mark in sentence[-1][len(stop) :] + "".join(trail) for mark in "\"'”’»")
    if (is_pause or is_quoted) and _starts_lower(after):
        return False
    if marks != ".":
        return True
    stands_alone = not body
    before = [*sentence[:-1]] if stands_alone else [*sentence[:-1], body]
    return not (before and _is_abbreviated(before[-1].lstrip(_OPENING).lower(), after, len(before) == 1, stands_alone))


def _is_abbreviated(word: str, after: str, is_first: bool, stands_alone: bool) -> bool:
    if word in _SELDOM_LAST:
        return _starts_lower(after)
    if word == "no":
        return after[0].isdigit()
    if word.isdigit():
        # "1. Open it" at the start of a sentence, or a spaced decimal number.
        return is_first or (stands_alone and after[0].isdigit())
    is_initial = len(word) == 1 and word.isalpha() and word != "i"
    return is_initial or word in _NEVER_LAST or _DOTTED.fullmatch(word) is not None


def _starts_lower(word: str) -> bool:
    return word.lstrip(_OPENING)[:1].islower()
