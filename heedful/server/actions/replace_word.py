"""A word replaced by a synonym that the model knows."""

from collections.abc import Iterator

import torch

from heedful.battery.evidence import Context
from heedful.data.synonyms import FILE, Kind, find_synonyms, missing_sources
from heedful.data.tokenizer import WordTokenizer
from heedful.data.word_vectors import usual_vectors
from heedful.errors import DataError
from heedful.models.abilities import several_heads
from heedful.models.hugging_face.subwords import whole_words
from heedful.server.actions.action import SEAT, button
from heedful.server.contract import ActionResult, ActOptions
from heedful.server.text_state import divergence, prediction_change
from heedful.settings import TextSettings
from heedful.subjects.read_text import Reader, ReadText
from heedful.types import Model

NOT_INSTALLED = f"WordNet's synonyms are not installed. Put the file {FILE} into the folder that HEEDFUL_DATA names."


@button(
    "Replace a word by a synonym",
    "Do attention and prediction stay when a word is replaced by one of the same meaning?",
    SEAT,
    ("item",),
)
def replace_word(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Replace the requested word, or the most attended word that has a synonym, and read the text again."""
    place, word, source = _chosen(read, options.item)
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


def _chosen(read: ReadText, item: int | None) -> tuple[int, str, str]:
    """The place of the word to replace, its synonym, and the source of the synonym."""
    synonyms, source = read.evidence.context.once(_synonyms, read.evidence.model)
    count = min(len(read.words), read.second)
    if not synonyms:
        raise DataError(source or "no word of the model's vocabulary has a synonym in it.")
    if item is not None and item >= count:
        raise DataError(f"options.item must be the place of a word of the text, 0 to {count - 1}; it was {item}.")
    places = _by_attention(read) if item is None else iter((item,))
    known = ((place, read.words[place].casefold()) for place in places)
    if replaceable := next(((place, synonyms[word]) for place, word in known if word in synonyms), None):
        return *replaceable, source
    if item is None:
        raise DataError("text must have a word with a synonym in the model's vocabulary; it has none.")
    raise DataError(f"“{read.words[item]:.60}” has no synonym in the model's vocabulary. Choose another word.")


def _by_attention(read: ReadText) -> Iterator[int]:
    """The places of the text's words, those of the most attended items first."""
    weights = torch.tensor(read.listed(read.evidence.attention))
    for item in weights.argsort(descending=True, stable=True).tolist():
        yield from (place for place in read.items[item] if place < read.second)


def _synonyms(context: Context, model: Model) -> tuple[dict[str, str], str]:
    """The synonym of each word of the model's vocabulary that has one, and their source, or why there are none."""
    vocabulary, vectors = context.vocabulary, context.vectors or usual_vectors()
    if (heads := several_heads(model)) is not None:
        words = WordTokenizer.from_settings(TextSettings())
        vocabulary = whole_words(heads.classifier.reader.tokenizer, words)
    kind: Kind = "both" if vectors else "wordnet"
    if missing_sources(kind, vectors):
        return {}, NOT_INSTALLED
    if not vocabulary:
        return {}, ""
    pairs = find_synonyms(vocabulary, kind, vectors).pairs
    source = "a synonym by WordNet that word vectors confirm" if kind == "both" else "a synonym by WordNet"
    return {word: synonym.word for word, synonym in pairs.items()}, source


def _cased(word: str, like: str) -> str:
    """The word with a capital first letter, or all capitals, where the other has these.

    >>> _cased("fine", "Good"), _cased("fine", "GOOD"), _cased("fine", "good")
    ('Fine', 'FINE', 'fine')
    """
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
