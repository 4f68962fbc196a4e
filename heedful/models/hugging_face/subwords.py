"""Texts as a fast tokenizer cuts them: pieces for the model, grouped to the words that attention is shown over."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from heedful.data.tokenizer import Span, WordTokenizer
from heedful.errors import SettingError
from heedful.models.hugging_face.model_files import FastTokenizer, HuggingFaceModel, longest_text

# Words as the pieces that a pretrained transformer reads, in windows where a text is longer than it reads.

WORD_MARKS = ("\u0120", "\u2581")
"""What stands before the first piece of a word: in byte-level vocabularies, and in those of sentencepiece."""


def encode(tokenizer: FastTokenizer, text: str, second: str | None = None, most: int | None = None) -> Any:
    """A text, or a pair of texts, as the tokenizer splits it, truncated to `most` tokens if given."""
    cut: dict[str, Any] = (
        {"truncation": "longest_first", "max_length": most} if most is not None else {"truncation": False}
    )
    return tokenizer(text, second, return_offsets_mapping=True, verbose=False, **cut)


@dataclass(frozen=True)
class Window:
    """A stretch of a text as the transformer reads it at once.

    Args:
        pieces: their ids, special tokens among them.
        owner: index of the text's word that each subword token belongs to; -1 for special tokens.
    """

    pieces: tuple[int, ...]
    word_ids: tuple[int, ...]


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
        if missing := set(range(len(words))) - set(window.word_ids):
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
        encoded = encode(self.tokenizer, text, None, self.longest if is_cut else None)
        word_ids = [
            # A piece may begin with the space before its word, and be that space alone.
            numbers[bisect_right(starts, end - 1) - 1] if end > start and text[end - 1] != " " else -1
            for start, end in encoded["offset_mapping"]
        ]
        return Window(tuple(encoded["input_ids"]), tuple(word_ids))

    def _parts(self, window: Window, words: int) -> list[range]:
        """The words of a text in stretches whose pieces fit into a window together, or that are single words."""
        assert self.longest is not None
        sizes = [0] * words
        for number in window.word_ids:
            if number >= 0:
                sizes[number] += 1
        room = self.longest - sum(number < 0 for number in window.word_ids)
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


@dataclass(frozen=True)
class TokenizedText:
    """A text, or a pair of texts, as tokens and words.

    Args:
        tokens: id + vocabulary size x segment.
        owner: index of the word that each token belongs to; -1 for special tokens.
        words: as they are written, those of a pair's second text after those of the first.
        spans: the [start, end) characters of each word in its text.
        second: how many of the words are of the first text.
        is_cut: whether the text is longer than the model reads.
    """

    tokens: tuple[int, ...]
    word_ids: tuple[int, ...]
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    second: int
    is_cut: bool


@dataclass(frozen=True)
class TextReader:
    """Cuts texts into tokens and words.

    Args:
        vocabulary: how many ids the model has embeddings for.
        longest: how many tokens it reads at most; None: any number.
        special: ids of symbols that are no words wherever they stand: start, end, separator, padding.
    """

    tokenizer: FastTokenizer
    vocabulary: int
    longest: int | None
    special: frozenset[int]

    @classmethod
    def of(
        cls,
        tokenizer: FastTokenizer,
        module: HuggingFaceModel,
        *,
        vocabulary: int,
        longest: int | None = None,
    ) -> "TextReader":
        """The reader of a tokenizer for a model.

        Args:
            longest: how many tokens are read at most; None: what tokenizer and model say.
        """
        names = ("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "pad_token_id")
        special = frozenset(number for name in names if (number := getattr(tokenizer, name, None)) is not None)
        most = longest_text(tokenizer, module)
        if longest is not None and longest < 1:
            raise SettingError(f"longest must be at least 1 token; it was {longest}.")
        if longest is not None and most is not None and longest > most:
            raise SettingError(f"longest must be at most the {most} tokens that the model reads; it was {longest}.")
        return cls(tokenizer, vocabulary, longest or most, special)

    def read(self, text: str, second: str | None = None) -> TokenizedText:
        """The text, or the pair of texts, as the model reads it."""
        encoded = encode(self.tokenizer, text, second)
        is_cut = self.longest is not None and len(encoded["input_ids"]) > self.longest
        if is_cut:
            encoded = encode(self.tokenizer, text, second, self.longest)
        ids = encoded["input_ids"]
        if ids and max(ids) >= self.vocabulary:
            raise SettingError(
                f"tokenizer must fit the model; it numbers a token {max(ids)}, and the model has embeddings for "
                f"{self.vocabulary}. Are tokenizer and model from the same folder?"
            )
        segments = encoded.get("token_type_ids") or [0] * len(ids)
        keys = self._word_of_each(encoded, (text, second or ""))
        order = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
        spans = _spans(encoded["offset_mapping"], keys, order)
        texts = [(text, second or "")[sequence] for sequence, _ in order]
        names = (written[start:end] for written, (start, end) in zip(texts, spans, strict=True))
        return TokenizedText(
            tokens=tuple(number + self.vocabulary * segment for number, segment in zip(ids, segments, strict=True)),
            word_ids=tuple(-1 if key is None else order[key] for key in keys),
            words=tuple(name.strip() or name for name in names),
            spans=spans,
            second=sum(sequence == 0 for sequence, _ in order),
            is_cut=is_cut,
        )

    def _word_of_each(self, encoded: Any, texts: tuple[str, str]) -> list[tuple[int, int] | None]:
        """The text (0 or 1) and the word that each token belongs to; None for special tokens."""
        parts = encoded.sequence_ids()
        words = encoded.word_ids()
        keys = [
            None if part is None or word is None or number in self.special else (part, word)
            for part, word, number in zip(parts, words, encoded["input_ids"], strict=True)
        ]
        for sequence, text in enumerate(texts):
            is_whole = len({key for key in keys if key is not None and key[0] == sequence}) == 1
            if is_whole and len(text.split()) > 1:
                keys = _at_spaces(keys, sequence, text, encoded["offset_mapping"])
        return keys


def _at_spaces(
    keys: Sequence[tuple[int, int] | None], sequence: int, text: str, offsets: Sequence[Span]
) -> list[tuple[int, int] | None]:
    """The words of one text, separated by spaces: for tokenizers that take a text for a single word."""
    split: list[tuple[int, int] | None] = []
    word, covered = -1, 0
    for key, (start, end) in zip(keys, offsets, strict=True):
        if key is None or key[0] != sequence:
            split.append(key)
            continue
        # The space before a word is a token's first character, or of no token at all.
        is_apart = covered < start and text[start - 1].isspace()
        word += word < 0 or is_apart or text[start:end][:1].isspace()
        covered = end
        split.append((sequence, word))
    return split


def _spans(
    offsets: Sequence[Span], keys: Sequence[tuple[int, int] | None], order: dict[tuple[int, int], int]
) -> tuple[Span, ...]:
    """The characters of each word, from its first piece to its last."""
    spans: list[Span | None] = [None] * len(order)
    for (start, end), key in zip(offsets, keys, strict=True):
        if key is not None:
            known = spans[order[key]]
            spans[order[key]] = (start, end) if known is None else (min(known[0], start), max(known[1], end))
    return tuple(span for span in spans if span is not None)
