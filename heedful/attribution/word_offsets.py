"""Which words of a text a score is of: by characters, by the words as they are written, or by their numbers."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from heedful.data.tokenizer import Span

_SPECIAL = re.compile(r"\[(?:CLS|SEP|PAD|MASK)\]|</?s>|<pad>|<start>|<end>|<bos>|<eos>|<\|endoftext\|>")
_PIECE = re.compile(r"^(?:##|▁|Ġ)+|</w>$")
"""What tokenizers put before or after the pieces of words."""


def overlapping(span: Span, words: Sequence[Span]) -> Sequence[int]:
    """The numbers of the words, given by their characters in order, that share a character with the span.

    >>> list(overlapping((4, 8), [(0, 2), (3, 6), (7, 9), (10, 11)]))
    [1, 2]
    """
    start, end = span
    if start >= end:
        return []
    return range(bisect_right([last for _, last in words], start), bisect_left([first for first, _ in words], end))


def find_strings(strings: Sequence[str], text: str) -> list[Span | None]:
    """Where in the text each of these strings is, one after the other; None for those that are not there.

    Case does not matter, nor what tokenizers add to pieces of words (##ing, ▁the, Ġthe). A symbol such as [CLS] is not
    looked for: its span is the empty one.

    >>> find_strings(["[CLS]", "un", "##real", "▁Films", "xyz", "!"], "Unreal films!")
    [(0, 0), (0, 2), (2, 6), (7, 12), None, (12, 13)]
    """
    lowered = text.lower() if len(text.lower()) == len(text) else text
    spans: list[Span | None] = []
    place = 0
    for string in strings:
        wanted = _PIECE.sub("", string.strip()).strip()
        if not wanted or _SPECIAL.fullmatch(string.strip()):
            spans.append((place, place))
            continue
        start = lowered.find(wanted.lower() if lowered is not text else wanted, place)
        if start < 0:
            spans.append(None)
            continue
        place = start + len(wanted)
        spans.append((start, place))
    return spans


def numbered_words(where: Sequence[object] | None, scores: int, text: str, count: int) -> int:
    """1 if numbers of words go as far as the words that spaces separate, -1 if as far as ours, 0 if neither or both.

    Args:
        where: what the scores are of; None: the words in order.
        count: how many words the text has as we cut it.

    >>> numbered_words([0, 1], 2, "not good!", 3), numbered_words(None, 3, "not good!", 3)
    (1, -1)
    """
    numbers = range(scores) if where is None else where
    whole = [number for number in numbers if isinstance(number, int)]
    if not whole or len(whole) != len(numbers):
        return 0
    last = max(whole) + 1
    return (last == len(text.split())) - (last == count)
