"""Is attention stable where a word is replaced by a synonym?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor, nn

from heedful.attribution.items import items_are_tokens
from heedful.battery.evidence import Context, Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.battery.stability_measures import (
    PerturbedOutput,
    moves,
    rerun_perturbed,
    stability_question,
    suffixes,
)
from heedful.data.batching import collate, encode_split, in_order
from heedful.data.sampling import random_order, seeded_generator
from heedful.data.synonyms import Kind, Synonym, Synonyms, find_synonyms, missing_sources
from heedful.data.tokenizer import WordTokenizer
from heedful.data.word_vectors import find_vectors
from heedful.errors import HeedfulError
from heedful.models.trace import trace
from heedful.settings import Count
from heedful.types import Batch, Example, Findings, Model, Trace

ARTICLES = ("a", "an")
HYPHEN = "-"


@dataclass(frozen=True)
class Replacements:
    """The synonyms of a vocabulary, by number.

    Args:
        token: the replacement of each token; the token itself if it has none.
        needs_other_article: whether one of the two words begins with a vowel and the other does not.
        is_article, is_hyphen: which tokens are `a` or `an`, and a hyphen.
    """

    token: Int[Tensor, " token"]
    needs_other_article: Bool[Tensor, " token"]
    is_article: Bool[Tensor, " token"]
    is_hyphen: Bool[Tensor, " token"]

    @classmethod
    def of(cls, vocabulary: Sequence[str], synonyms: Synonyms) -> "Replacements":
        """Those of the words of this vocabulary."""
        number = {word: place for place, word in enumerate(vocabulary)}
        new = [synonyms.pairs[word].word if word in synonyms.pairs else word for word in vocabulary]
        vowels = [(word[0] in "aeiou", other[0] in "aeiou") for word, other in zip(vocabulary, new, strict=True)]
        return cls(
            torch.tensor([number[word] for word in new]),
            torch.tensor([first != second for first, second in vowels]),
            torch.tensor([word in ARTICLES for word in vocabulary]),
            torch.tensor([word == HYPHEN for word in vocabulary]),
        )


def word_substitution(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    counts: Annotated[tuple[Count, ...], Field(min_length=1)] = (1,),
    synonyms: Kind = "both",
    vectors: str = "",
    min_similarity: float | None = None,
) -> Findings:
    """How far attention and prediction move when words, drawn at random, are replaced by synonyms.

    `js`, `tvd`, `flips`, `overlap` (see `moves`) for the first count, `js_2` ... for further ones; and `shuffled_js`,
    what shuffled attention would be at, in exact expectation. NaN in texts with fewer words that have a synonym in the
    vocabulary. Of items: attention for the first count and, if items are words, the replacement of each word that was
        replaced. Skipped if there is no source of synonyms, or words are not known.

    Hu et al. (2023, section 5.2, their K and N), who take the nearest neighbour in fastText's vectors. Ours by default
    must be WordNet's synonyms as well: see `find_synonyms`.

    Args:
        counts: how many words are replaced (the verdict speaks of the first); of two counts, the words of the smaller
            are among those of the larger.
        synonyms: WordNet's that word vectors confirm, WordNet's alone, or the nearest words by vectors alone.
        vectors: pretrained word vectors for that purpose; empty: those that the model began with.
        min_similarity: how similar a word and its synonym must be at least; None: as `MIN_SIMILARITY` has it.
    """
    known = evidence.context.once(known_replacements, synonyms, vectors, min_similarity)
    if isinstance(known, str):
        return Findings(skipped=known)
    replacements, source = known
    model, batch, words = evidence.model, evidence.trace.batch, evidence.context.item_words
    numbers, places = batch.tokens.cpu(), batch.attendable_mask.cpu()
    if words is None:
        replacements = _with_embeddings(replacements, model, batch)
    else:
        numbers, places = words.numbers(batch).cpu(), evidence.items
    chosen = chosen_places(numbers, places, replacements, counts, generator)
    new = replacements.token[numbers.clamp_min(0)]
    changed = [_rewritten(evidence.context, batch, new, place) for place in chosen]
    values = {"shuffled_js": evidence.shuffled_js}
    read = [_read(evidence, other) for other, _ in changed]
    enough = [place.sum(1).ge(count) & done for place, count, (_, done) in zip(chosen, counts, changed, strict=True)]
    for suffix, seen, done in zip(suffixes(counts), read, enough, strict=True):
        moved = moves(evidence, seen)
        values |= {f"{name}{suffix}": value.where(done, torch.nan) for name, value in moved.items()}
    shown = {"replaced_attention": read[0].attention.cpu().where(enough[0][:, None], torch.nan)}
    if words is not None or items_are_tokens(evidence.trace):
        shown["replacement"] = new.double().where(chosen[0] & changed[0][1][:, None], torch.nan)
    most = max(range(len(counts)), key=counts.__getitem__)
    return Findings(
        undefined_where(evidence.count < 2, values),
        items=shown,
        substitutions=_pairs(numbers, new, chosen[most] & changed[most][1][:, None], evidence.context.vocabulary),
        synonym_source=source,
    )


def _read(evidence: Evidence, other: Batch) -> PerturbedOutput | Trace:
    """What the model makes of the batch with other words."""
    embedding = getattr(evidence.model, "embedding", None)
    if evidence.variant_reader is None or not isinstance(embedding, nn.Embedding):
        return trace(evidence.model, other)
    changed = other.tokens != evidence.trace.batch.tokens
    return rerun_perturbed(evidence, changed, embedding(other.tokens[changed]))


def _rewritten(
    context: Context, batch: Batch, new: Int[Tensor, "batch place"], places: Bool[Tensor, "batch place"]
) -> tuple[Batch, Bool[Tensor, " batch"]]:
    """The batch with the new words at these places, and the texts in which that could be done."""
    if context.item_words is None:
        tokens = new.to(batch.tokens.device).where(places.to(batch.tokens.device), batch.tokens)
        return replace(batch, tokens=tokens), torch.ones(len(new), dtype=torch.bool)
    written = [
        {place: context.vocabulary[int(numbers[place])] for place in own.nonzero()[:, 0].tolist()}
        for numbers, own in zip(new, places, strict=True)
    ]
    other, done = context.item_words.rewritten(batch, written)
    return other, done.cpu()


def substituted(
    batch: Batch, replacements: Replacements, counts: Sequence[int], generator: torch.Generator
) -> list[tuple[Batch, Bool[Tensor, " batch"]]]:
    """The batch with `count` words of each text replaced, and the texts that had as many to replace."""
    tokens, context = batch.tokens.cpu(), Context()
    chosen = chosen_places(tokens, batch.attendable_mask.cpu(), replacements, counts, generator)
    new = replacements.token[tokens]
    return [
        (_rewritten(context, batch, new, places)[0], places.sum(1) >= count)
        for places, count in zip(chosen, counts, strict=True)
    ]


def chosen_places(
    numbers: Int[Tensor, "batch place"],
    places: Bool[Tensor, "batch place"],
    replacements: Replacements,
    counts: Sequence[int],
    generator: torch.Generator,
) -> list[Bool[Tensor, "batch place"]]:
    """Which words are replaced, drawn at random: for each count, that number per text, or as many as possible. Smaller
    sets are contained in larger ones.
    """
    known = replaceable(numbers, places, replacements)
    luck = torch.rand(known.shape, generator=generator).masked_fill(~known, -1.0)
    turn = luck.argsort(dim=1, descending=True, stable=True).argsort(1)
    return [known & (turn < count) for count in counts]


def replaceable(
    numbers: Int[Tensor, "batch place"], places: Bool[Tensor, "batch place"], replacements: Replacements
) -> Bool[Tensor, "batch place"]:
    """Which words can be replaced by a synonym in their position.

    Not parts of a compound (`feature - length`), nor words after an article that the synonym cannot follow.

    Args:
        numbers: token IDs of the words; -1 for a word outside the vocabulary.
        places: where there is a word that attention may weigh.
    """
    known = numbers.clamp_min(0)
    hyphen, article = (marked[known] & (numbers >= 0) for marked in (replacements.is_hyphen, replacements.is_article))
    is_dash = hyphen & (_before(hyphen) | _after(hyphen))
    in_compound = _before(hyphen & ~is_dash) | _after(hyphen & ~is_dash)
    is_fitting = ~in_compound & ~(_before(article) & replacements.needs_other_article[known])
    return places & (numbers >= 0) & is_fitting & (replacements.token[known] != known)


def _before(marked: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time"]:
    """The places of which the one before is marked."""
    return nn.functional.pad(marked, (1, 0))[:, :-1]


def _after(marked: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time"]:
    """The places of which the one after is marked."""
    return nn.functional.pad(marked, (0, 1))[:, 1:]


def known_replacements(
    context: Context, kind: Kind, vectors: str, min_similarity: float | None
) -> tuple[Replacements, str] | str:
    """The synonyms of the vocabulary and where they come from; or why there are none."""
    if not context.vocabulary:
        return "The words behind your model's tokens are not known, only their numbers, so none has a known synonym."
    if missing := missing_sources(kind, vectors or context.vectors):
        return missing
    if kind != "wordnet" and not vectors:
        try:
            find_vectors(context.vectors)
        except HeedfulError as error:
            return f"To find synonyms, the audit needs the word vectors that the model began with: {error}"
    synonyms = find_synonyms(context.vocabulary, kind, vectors or context.vectors, min_similarity)
    if not synonyms.pairs:
        return f"No word of the vocabulary has a synonym in it. {synonyms.source}"
    return Replacements.of(context.vocabulary, synonyms), synonyms.source


def _with_embeddings(replacements: Replacements, model: Model, batch: Batch) -> Replacements:
    """Without the words of this batch that have, or whose synonym has, a zero row as their embedding: no vector."""
    embedding = getattr(model, "embedding", None)
    if not isinstance(embedding, nn.Embedding):
        return replacements
    tokens = batch.tokens.unique().cpu()
    both = torch.stack([tokens, replacements.token[tokens]]).to(embedding.weight.device)
    missing = tokens[(embedding.weight[both] == 0).all(-1).any(0).cpu()]
    return replace(replacements, token=replacements.token.scatter(0, missing, missing))


def _pairs(
    numbers: Int[Tensor, "batch place"],
    new: Int[Tensor, "batch place"],
    places: Bool[Tensor, "batch place"],
    vocabulary: Sequence[str],
) -> list[tuple[str, str]]:
    """The words that were replaced, with their replacements, each pair once per text."""
    text, place = places.nonzero(as_tuple=True)
    replaced = torch.stack([text, numbers[text, place], new[text, place]], dim=1)
    pairs: list[list[int]] = replaced.unique(dim=0).tolist()
    return [(vocabulary[old], vocabulary[new]) for _, old, new in pairs]


TEST = BatteryTest(
    word_substitution,
    (
        stability_question(
            "word_substitution",
            "synonyms",
            "other words of the same meaning",
            "Replacing a word with a synonym",
        ),
    ),
)


# Words of a dataset and the synonyms that an audit would replace them with, for a person to judge.

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
