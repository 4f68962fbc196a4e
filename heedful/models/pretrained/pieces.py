"""Words as the pieces that a pretrained transformer reads, in windows where a text is longer than it reads."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from heedful.data.tokenizer import WordTokenizer
from heedful.models.pretrained.hugging_face import FastTokenizer

WORD_MARKS = ("\u0120", "\u2581")
"""What stands before the first piece of a word: in byte-level vocabularies, and in those of sentencepiece."""


@dataclass(frozen=True)
class Window:
    """A stretch of a text as the transformer reads it at once.

    Args:
        pieces: their ids, special tokens among them.
        owner: the number of the text's word that each piece belongs to; -1 for special tokens.
    """

    pieces: tuple[int, ...]
    owner: tuple[int, ...]


@dataclass(frozen=True)
class PieceReader:
    """Cuts words into pieces.

    Args:
        longest: how many pieces the transformer reads at most, special tokens among them; None: any number.
    """

    tokenizer: FastTokenizer
    longest: int | None

    @property
    def unknown(self) -> str:
        """What stands for a word that is not known, or that has no piece."""
        return str(self.tokenizer.unk_token or self.tokenizer.mask_token or "?")

    def read(self, words: Sequence[str]) -> tuple[Window, ...]:
        """The windows of a text: a single one, or as few as it takes, each of whole words.

        Every word has a piece at least.
        """
        window = self._window(words, range(len(words)))
        if missing := set(range(len(words))) - set(window.owner):
            words = [self.unknown if number in missing else word for number, word in enumerate(words)]
            window = self._window(words, range(len(words)))
        if self.longest is None or len(window.pieces) <= self.longest:
            return (window,)
        return tuple(self._window(words, numbers, is_cut=True) for numbers in self._parts(window, len(words)))

    def _window(self, words: Sequence[str], numbers: range, *, is_cut: bool = False) -> Window:
        """Some neighbouring words by their numbers; a word that is longer than a window is cut."""
        chosen = [words[number] for number in numbers]
        starts = [0, *accumulate(len(word) + 1 for word in chosen)]
        text = " ".join(chosen)
        encoded: Any = self.tokenizer(
            text,
            truncation=is_cut,
            max_length=self.longest if is_cut else None,
            return_offsets_mapping=True,
            verbose=False,
        )
        owner = [
            # A piece may begin with the space before its word, and be that space alone.
            numbers[bisect_right(starts, end - 1) - 1] if end > start and text[end - 1] != " " else -1
            for start, end in encoded["offset_mapping"]
        ]
        return Window(tuple(encoded["input_ids"]), tuple(owner))

    def _parts(self, window: Window, words: int) -> list[range]:
        """The words of a text in stretches whose pieces fit into a window together, or that are single words."""
        assert self.longest is not None
        sizes = [0] * words
        for number in window.owner:
            if number >= 0:
                sizes[number] += 1
        room = self.longest - sum(number < 0 for number in window.owner)
        begins, used = [0], 0
        for number, size in enumerate(sizes):
            if used and used + size > room:
                begins.append(number)
                used = 0
            used += size
        return [range(begin, end) for begin, end in zip(begins, [*begins[1:], words], strict=True)]


def whole_words(tokenizer: FastTokenizer, words: WordTokenizer) -> list[str]:
    """The words that the transformer knows as a single piece and that ours takes for a word as well."""
    pieces = tokenizer.get_vocab()
    is_marked = any(piece.startswith(WORD_MARKS) for piece in pieces)
    known = (piece.lstrip("".join(WORD_MARKS)) for piece in pieces if piece.startswith(WORD_MARKS) or not is_marked)
    special = set(tokenizer.all_special_tokens)
    return sorted({word for word in known if word not in special and words.split(word)[0] == (word,)})
