"""Words of a data set and the synonyms that an audit would put in their place, for a person to judge."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.auditing.audited_texts import random_order
from heedful.battery.word_substitution import Replacements, substituted
from heedful.data.batching import collate, encode_split, in_order
from heedful.data.draws import seeded_generator
from heedful.data.synonyms import Synonym, Synonyms
from heedful.data.tokenizer import WordTokenizer
from heedful.types import Example

BATCH = 256
WORDS_AROUND = 6


@dataclass(frozen=True)
class Pair:
    """A word of a text, its synonym, and the words around it."""

    word: str
    synonym: Synonym
    before: str
    after: str


def drawn_pairs(examples: Sequence[Example], words: WordTokenizer, synonyms: Synonyms, seed: int) -> list[Pair]:
    """One word of each text that has any to replace, drawn as an audit draws it; the texts in random order."""
    replacements = Replacements.of(words.words, synonyms)
    split, generator = encode_split(examples, words), seeded_generator("audit", seed, "word_substitution")
    pairs: dict[int, Pair] = {}
    for index in in_order(split.lengths, BATCH):
        batch = collate(split, index)
        changed, _ = substituted(batch, replacements, (1,), generator)[0]
        for row, place in (changed.tokens != batch.tokens).nonzero().tolist():
            tokens, at = examples[index[row]].tokens, place - split.framed
            before, after = tokens[max(0, at - WORDS_AROUND) : at], tokens[at + 1 : at + 1 + WORDS_AROUND]
            pairs[index[row]] = Pair(tokens[at], synonyms.pairs[tokens[at]], " ".join(before), " ".join(after))
    return [pairs[text] for text in random_order(len(examples), seed) if text in pairs]
