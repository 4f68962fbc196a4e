"""From characters to tokens to ids, by the `tokenizers` library; all of its state is saved in `tokenizer.json`."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, product
from typing import get_args

from tokenizers import PreTokenizedString, Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel
from tokenizers.processors import TemplateProcessing

from heedful.errors import StoreError
from heedful.settings import TextSettings
from heedful.types import Example

PAD, UNKNOWN, START, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<start>", "<end>")

MAPPED = "qqq"
"""What a word with a digit becomes, where digits are mapped."""

Span = tuple[int, int]

_DAMAGED = "The run is damaged or foreign: delete its folder and train again."


class WordTokenizer:
    """Splits texts into words and gives each word of its vocabulary an id.

    >>> words = WordTokenizer.from_settings(TextSettings())
    >>> words.split("It isn't BAD!")
    (('it', 'isn', "'", 't', 'bad', '!'), ((0, 2), (3, 6), (6, 7), (7, 8), (9, 12), (12, 13)))
    >>> learnt = words.learn([("not", "bad"), ("bad",)])
    >>> learnt.ids(("bad", "film")), learnt.size
    ([4, 1], 6)
    """

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._lookup = {word: number for word, number in tokenizer.get_vocab().items() if number >= len(SPECIAL)}

    @classmethod
    def from_settings(cls, settings: TextSettings) -> "WordTokenizer":
        """A tokenizer that splits texts as the settings ask; its vocabulary is still empty."""
        changes: list[normalizers.Normalizer] = []
        if settings.lowercase:
            changes.append(normalizers.Lowercase())
        if settings.words == "alphanumeric":
            changes.append(normalizers.Replace(Regex(r"\W"), " "))
        if settings.digits == "map":
            changes.append(normalizers.Replace(Regex(r"\w*\d\w*"), MAPPED))
        word = r"\w+|[^\w\s]" if settings.words == "punctuation" else r"\S+"
        tokenizer = _word_level({})
        tokenizer.normalizer = normalizers.Sequence(changes)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(word), behavior="removed", invert=True)
        if settings.start_end:
            tokenizer.post_processor = TemplateProcessing(
                single=f"{SPECIAL[START]} $A {SPECIAL[END]}",
                special_tokens=[(SPECIAL[START], START), (SPECIAL[END], END)],
            )
        return cls(tokenizer)

    @classmethod
    def from_json(cls, content: str) -> "WordTokenizer":
        """The tokenizer that `to_json` wrote; raises if it splits texts as no settings of ours do."""
        try:
            tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # the library raises bare Exception
            raise StoreError(f"tokenizer.json cannot be read: {error}. {_DAMAGED}") from error
        if not isinstance(tokenizer.model, WordLevel) or tuple(map(tokenizer.id_to_token, range(4))) != SPECIAL:
            raise StoreError(
                "tokenizer.json is not one of Heedful's: it must be a word-level tokenizer with our four symbols. "
                f"{_DAMAGED}"
            )
        ids = tokenizer.get_vocab()
        if sorted(ids.values()) != list(range(len(ids))):
            raise StoreError(f"tokenizer.json must number its words 0 to {len(ids) - 1}, each once. {_DAMAGED}")
        if _without_words(tokenizer) not in _known_forms():
            raise StoreError(f"tokenizer.json is not one of Heedful's: it splits texts in no way of ours. {_DAMAGED}")
        return cls(tokenizer)

    def to_json(self) -> str:
        """Everything needed to split and encode texts again, in the library's own format."""
        return self._tokenizer.to_str()

    def split(self, text: str) -> tuple[tuple[str, ...], tuple[Span, ...]]:
        """The words of a text and the [start, end) characters of each."""
        pieces = PreTokenizedString(text)
        if self._tokenizer.normalizer is not None:
            pieces.normalize(self._tokenizer.normalizer.normalize)
        self._tokenizer.pre_tokenizer.pre_tokenize(pieces)
        splits = pieces.get_splits(offset_referential="original", offset_type="char")
        spans: list[Span] = []
        for word, (start, end), _ in splits:
            # The library gives a mapped word the span of its last character only; extend it to the others.
            while word.startswith(MAPPED) and start > (spans[-1][1] if spans else 0) and _in_word(text[start - 1]):
                start -= 1
            spans.append((start, end))
        return tuple(word for word, _, _ in splits), tuple(spans)

    def learn(self, texts: Iterable[Sequence[str]], min_count: int = 1) -> "WordTokenizer":
        """The same tokenizer with the words that occur at least min_count times: by frequency, then alphabetically."""
        counts = Counter(chain.from_iterable(texts))
        kept = (word for word, count in counts.items() if count >= min_count and word not in SPECIAL)
        words = sorted(kept, key=lambda word: (-counts[word], word))
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        tokenizer.model = _word_level({word: number for number, word in enumerate(words, start=len(SPECIAL))}).model
        return WordTokenizer(tokenizer)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The id of each token; words outside the vocabulary, and any that look like our symbols, are unknown."""
        return [self._lookup.get(token, UNKNOWN) for token in tokens]

    @property
    def words(self) -> list[str]:
        """The vocabulary in order of id, our four symbols first."""
        return [*SPECIAL, *sorted(self._lookup, key=self._lookup.__getitem__)]

    @property
    def size(self) -> int:
        """How many ids there are, our four symbols among them."""
        return len(SPECIAL) + len(self._lookup)

    @property
    def adds_start_end(self) -> bool:
        """Whether texts are wrapped in a start and an end symbol."""
        return self._tokenizer.post_processor is not None


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def learn_vocabulary(words: WordTokenizer, examples: Sequence[Example], min_count: int) -> WordTokenizer:
    """The tokenizer with the vocabulary of these examples: texts and queries."""
    return words.learn(chain((e.tokens for e in examples), (e.query for e in examples)), min_count)


def spans_in(text: str, tokens: Sequence[str]) -> tuple[Span, ...] | None:
    """The [start, end) characters of each token in the text they were cut from, which may go on after them.

    None if no setting of ours splits the text into these tokens.

    >>> spans_in("It isn't BAD!", ("it", "isn"))
    ((0, 2), (3, 6))
    >>> spans_in("It isn't BAD!", ("is", "n't"))
    """
    for tokenizer in _tokenizers():
        words, spans = tokenizer.split(text)
        if words[: len(tokens)] == tuple(tokens):
            return spans[: len(tokens)]
    return None


@cache
def _tokenizers() -> tuple[WordTokenizer, ...]:
    """One for each way of splitting texts, the default first."""
    return tuple(WordTokenizer.from_settings(settings) for settings in _ways_to_split(start_end=False))


def _ways_to_split(*, start_end: bool) -> list[TextSettings]:
    names = ("start_end", "words", "lowercase", "digits")
    words = get_args(TextSettings.model_fields["words"].annotation)
    choices = product((start_end,), words, (True, False), ("keep", "map"))
    return [TextSettings.model_validate(dict(zip(names, choice, strict=True))) for choice in choices]


def _without_words(tokenizer: Tokenizer) -> str:
    """All of a tokenizer but its vocabulary, as the library writes it."""
    described = json.loads(tokenizer.to_str())
    described["model"]["vocab"] = {}
    return json.dumps(described)


@cache
def _known_forms() -> frozenset[str]:
    """Every tokenizer that settings can give, its vocabulary aside."""
    every = [*_ways_to_split(start_end=False), *_ways_to_split(start_end=True)]
    return frozenset(_without_words(WordTokenizer.from_settings(settings)._tokenizer) for settings in every)


def _word_level(vocabulary: dict[str, int]) -> Tokenizer:
    symbols = {symbol: number for number, symbol in enumerate(SPECIAL)}
    return Tokenizer(WordLevel({**symbols, **vocabulary}, unk_token=SPECIAL[UNKNOWN]))
