"""The words of a transformer's items: their numbers in a vocabulary, and texts written anew with others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor

from heedful.models.transformers.classifier import Classifier
from heedful.models.transformers.rewriting import rewritten, with_words
from heedful.models.transformers.texts import Text, read_text
from heedful.models.transformers.vocabulary import WordVocabulary
from heedful.types import Batch, Example


@dataclass(frozen=True)
class TextWords:
    """The words of texts that a classifier reads.

    Args:
        texts: all that were given to `read_texts`, which `Batch.index` numbers.
        examples: the same with the words that it returned.
    """

    classifier: Classifier
    texts: Sequence[Text]
    examples: Sequence[Example]
    vocabulary: WordVocabulary

    def numbers(self, batch: Batch) -> Int[Tensor, "batch item"]:
        """The number of each word in the vocabulary; -1 where there is none."""
        return self.vocabulary.of_items(batch, self.examples)

    def rewritten(self, batch: Batch, words: Sequence[Mapping[int, str]]) -> tuple[Batch, Bool[Tensor, " batch"]]:
        """The batch with new words in the place of others, by position; and the texts in which that could be done."""
        return rewritten(self.classifier, self.texts, batch, words)

    def tokens_of(self, number: int, words: Mapping[int, str]) -> list[tuple[int, ...]] | None:
        """The tokens of each word of a text with new words by position; None if it is then split into other words."""
        own = read_text(self.classifier.reader, self.texts[number], number)
        other = read_text(self.classifier.reader, with_words(self.texts[number], own, words), number)
        if len(other.words) != len(own.words) or other.second != own.second:
            return None
        return [
            tuple(token for token, owner in zip(other.tokens, other.owner, strict=True) if owner == word)
            for word in range(len(other.words))
        ]
