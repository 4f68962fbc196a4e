"""A word replaced by a similar one: a synonym, or the nearest by the model's own embeddings."""

from collections.abc import Iterator

import torch
from torch import nn

from heedful.battery.evidence import Context
from heedful.data.synonyms import Kind, find_synonyms, missing_sources
from heedful.data.tokenizer import SPECIAL, WordTokenizer
from heedful.data.word_vectors import nearest_rows, usual_vectors
from heedful.errors import DataError
from heedful.models.abilities import several_heads
from heedful.models.hugging_face.subwords import whole_words
from heedful.server.actions.action import SEAT, button
from heedful.server.contract import ActionResult, ActOptions
from heedful.server.text_state import divergence, prediction_change
from heedful.settings import TextSettings
from heedful.subjects.read_text import Reader, ReadText
from heedful.types import Model

NEAREST = 20
"""So many nearest words are searched for one that is a word."""


Similar = tuple[str, str]
"""A word that may stand for another, and its source, as part of a sentence."""


@button(
    "Replace a word by a similar one",
    "Do attention and prediction stay when a word gives way to one of the same meaning?",
    SEAT,
    ("item",),
)
def replace_word(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """The text with a word replaced, read anew: the word asked for, or the most attended that has a similar one."""
    place, (word, source) = _chosen(read, options.item)
    start, end = read.spans[place]
    written = _cased(word, read.words[place])
    space = read.text[start:end][: len(read.text[start:end]) - len(read.text[start:end].lstrip())]
    text = read.text[:start] + space + written + read.text[end:]
    other = reader(text, read.query)
    reached = prediction_change(read, other.evidence.trace.logits.cpu())
    is_same = other.count == read.count and torch.equal(other.evidence.items, read.evidence.items)
    item = next((number for number, words in enumerate(read.items) if place in words), None)
    return ActionResult(
        **dict(reached),
        action=replace_word.name,
        solver="exact",
        sentence=f"With “{written:.60}” for “{read.words[place]:.60}”, {source}: {reached.move}",
        paper=replace_word.paper,
        attention=read.listed(other.evidence.attention) if is_same else None,
        jsd=divergence(read, other.evidence.attention) if is_same else None,
        items=None if item is None else [item],
        text=text,
        replaced=(read.words[place], written),
    )


def _chosen(read: ReadText, item: int | None) -> tuple[int, Similar]:
    """The place of the word that is replaced, and what stands for it."""
    if item is not None:
        if item >= min(len(read.words), read.second):
            raise DataError(
                f"options.item must be the place of a word of the text, 0 to {min(len(read.words), read.second) - 1}; "
                f"it was {item}."
            )
        if (similar := _synonym(read, item) or _nearest(read, item)) is None:
            raise DataError(
                f"options.item must be a word that has a similar one in the model's vocabulary; “"
                f"{read.words[item]:.60}” has none. Choose another word."
            )
        return item, similar
    # A synonym of a little-attended word is better than a mere neighbour of the most attended.
    for find in (_synonym, _nearest):
        for place in _by_attention(read):
            if (similar := find(read, place)) is not None:
                return place, similar
    raise DataError("text must have a word that has a similar one in the model's vocabulary; it has none.")


def _by_attention(read: ReadText) -> Iterator[int]:
    """The places of the text's words, those of the most attended items first."""
    weights = torch.tensor(read.listed(read.evidence.attention))
    for item in weights.argsort(descending=True, stable=True).tolist():
        yield from (place for place in read.items[item] if place < read.second)


def _synonym(read: ReadText, place: int) -> Similar | None:
    """A synonym of the word that the model knows; None where none is known."""
    word = read.words[place].casefold()
    synonyms, source = read.evidence.context.once(_synonyms, read.evidence.model)
    return (synonyms[word], source) if word in synonyms else None


def _synonyms(context: Context, model: Model) -> tuple[dict[str, str], str]:
    """The synonym of each word of the model's vocabulary that has one, and where they come from."""
    vocabulary, vectors = context.vocabulary, context.vectors or usual_vectors()
    if (heads := several_heads(model)) is not None:
        words = WordTokenizer.from_settings(TextSettings())
        vocabulary = whole_words(heads.classifier.reader.tokenizer, words)
    kind: Kind = "both" if vectors else "wordnet"
    if not vocabulary or missing_sources(kind, vectors):
        return {}, ""
    pairs = find_synonyms(vocabulary, kind, vectors).pairs
    source = "a synonym by WordNet that word vectors confirm" if kind == "both" else "a synonym by WordNet"
    return {word: synonym.word for word, synonym in pairs.items()}, source


def _nearest(read: ReadText, place: int) -> Similar | None:
    """The nearest word by the model's own embeddings; None where it has none, or does not know the word."""
    embedding, vocabulary = getattr(read.evidence.model, "embedding", None), read.evidence.context.vocabulary
    if not isinstance(embedding, nn.Embedding) or not vocabulary or not read.known[place]:
        return None
    batch = read.evidence.trace.batch
    token = int(batch.tokens[0][batch.attendable_mask[0]][place])
    matrix = embedding.weight.detach().cpu()
    if not bool(matrix[token].any()):
        return None
    _, rows = nearest_rows(matrix, torch.tensor([token]), NEAREST)
    near = (int(row) for row in rows[0] if int(row) >= len(SPECIAL) and bool(matrix[int(row)].any()))
    nearest = next(near, None)
    return None if nearest is None else (vocabulary[nearest], "the nearest word by the model's own embeddings")


def _cased(word: str, like: str) -> str:
    """The word with a capital first letter, or all capitals, where the other has these.

    >>> _cased("fine", "Good"), _cased("fine", "GOOD"), _cased("fine", "good")
    ('Fine', 'FINE', 'fine')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
