"""The words of texts by number, for what is counted over words: a transformer's own vocabulary is one of pieces."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.types import Batch, Example

UNKNOWN = -1
"""The number of a word that is not in the vocabulary, and of places without a word."""


@dataclass(frozen=True)
class WordVocabulary:
    """Different words, whatever their case, the most frequent first."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "WordVocabulary":
        """The words of these texts.

        >>> WordVocabulary.of([Example(("Not", "bad"), 0), Example(("not", "Good"), 1)]).words
        ('not', 'bad', 'good')
        """
        counts = Counter(word.casefold() for example in examples for word in example.tokens)
        return cls(tuple(sorted(counts, key=lambda word: (-counts[word], word))))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def of_items(self, batch: Batch, examples: Sequence[Example]) -> Int[Tensor, "batch item"]:
        """The number of each word of the batch.

        Args:
            examples: all texts that were read, which `batch.index` numbers.
        """
        texts = [examples[number].tokens for number in batch.index.tolist()]
        longest = max(map(len, texts))
        rows = [[self.numbers.get(word.casefold(), UNKNOWN) for word in text] for text in texts]
        return torch.tensor([[*row, *[UNKNOWN] * (longest - len(row))] for row in rows])

    def counts(self, examples: Iterable[Example], classes: int) -> Int[Tensor, "word classes"]:
        """How often each word occurs under each label; a text without a label counts under every one.

        >>> examples = [Example(("not", "bad"), 0), Example(("not", "good"), 1)]
        >>> WordVocabulary.of(examples).counts(examples, 2)
        tensor([[1, 1], [1, 0], [0, 1]])
        """
        counts = torch.zeros(len(self.words), classes, dtype=torch.long)
        for example in examples:
            for word in example.tokens:
                if (number := self.numbers.get(word.casefold())) is not None:
                    counts[number, example.label if example.label >= 0 else slice(None)] += 1
        return counts
