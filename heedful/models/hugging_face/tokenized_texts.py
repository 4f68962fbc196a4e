"""Texts, or pairs of texts, as batches for a transformer: all that an audit needs in addition to the model."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.data.batching import Batches, in_order, pad_marks
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, SettingError
from heedful.models.hugging_face.classifier import Classifier
from heedful.models.hugging_face.subwords import TextReader, TokenizedText
from heedful.types import Batch, Example

Text = str | tuple[str, str]
"""A text, or a pair such as premise and hypothesis."""

BATCH = 32
"""Texts in one batch, at most."""
TOKENS = 2**13
"""Tokens in one batch, padding included; a single text may be longer."""


@dataclass(frozen=True)
class ReadTexts:
    """Texts that a classifier can be audited on: in memory are only their words, whatever their number.

    Args:
        chosen: which of the given texts are read; those without any word are not.
        batches: batches of these, each read when needed, texts of similar length together; `Batch.index` says which of
            the given each is.
        examples: the given texts, those that are read with the words that attention is shown over.
        cut, empty: how many are longer than the model reads, and how many have no word.
        notes: the same in words, for the user to read.
    """

    chosen: tuple[int, ...]
    batches: Batches
    examples: tuple[Example, ...]
    cut: int
    empty: int
    notes: tuple[str, ...]


def read_texts(
    classifier: Classifier,
    texts: Sequence[Text],
    classes: Sequence[int],
    *,
    examples: Sequence[Example] = (),
    chosen: Sequence[int] | None = None,
) -> ReadTexts:
    """The texts as batches, with what was done to them.

    Args:
        classes: class of each text, as the model numbers them (`match_labels`).
        examples: the same texts as the data has them, whose rows, ids and rationales are kept.
        chosen: the texts to read; None: all.
    """
    if len(classes) != len(texts) or (examples and len(examples) != len(texts)):
        raise SettingError(
            f"classes and examples must be as many as texts; there are {len(texts)} texts, {len(classes)} classes and "
            f"{len(examples)} examples."
        )
    reader, wanted = classifier.reader, range(len(texts)) if chosen is None else chosen
    known = list(examples) or [
        Example((), label, text=_first(text)) for text, label in zip(texts, classes, strict=True)
    ]
    lengths: dict[int, int] = {}
    cut = 0
    for number in wanted:
        tokenized = read_text(reader, texts[number], number)
        if tokenized.words:
            lengths[number] = len(tokenized.tokens)
            cut += tokenized.is_cut
            known[number] = _example(tokenized, texts[number], classes[number], known[number])
    empty = len(wanted) - len(lengths)
    if not lengths:
        raise DataError(f"the texts must have a word at least; none of {len(wanted)} has. Is it the right column?")

    has_marks = any(known[number].annotators for number in lengths)

    blocks = by_length(lengths)

    def read(number: int) -> Batch:
        block = blocks[number]
        tokenized = [read_text(reader, texts[text], text) for text in block]
        batch = batch_of(tokenized, block, [classes[text] for text in block], classifier.network.device)
        return _with_marks(batch, [known[text] for text in block]) if has_marks else batch

    words = [sum(lengths[text] for text in block) for block in blocks]
    batches = Batches([len(block) for block in blocks], words, read)

    notes = [f"{cut} texts cut to the {reader.longest} tokens that the model reads"] if cut else []
    notes += [f"{empty} texts without any word left out"] if empty else []
    return ReadTexts(tuple(lengths), batches, tuple(known), cut, empty, tuple(notes))


def text_of(example: Example) -> Text:
    """The text of an example as it was written; with its query, where it has one, as a pair."""
    text = example.text or " ".join(example.tokens)
    return (text, example.query_text or " ".join(example.query)) if example.query else text


def read_text(reader: TextReader, text: Text, number: int) -> TokenizedText:
    """The text as tokens and words; raises if it contains invalid characters."""
    first, second = (text, None) if isinstance(text, str) else text
    for written in (first, second or ""):
        if any("\ud800" <= character <= "\udfff" for character in written):
            raise DataError(f"text {number} must be valid UTF-8, and is not: {written!r:.60}. Convert it.")
    return reader.read(first, second)


def by_length(lengths: dict[int, int]) -> list[list[int]]:
    """The indices of all texts, shortest first, in batches with limited numbers of texts and tokens.

    >>> by_length({7: 3, 2: 5000, 4: 2, 9: 4000})
    [[4, 7], [9], [2]]
    """
    numbers = list(lengths)
    return [[numbers[place] for place in block] for block in in_order([*lengths.values()], BATCH, TOKENS)]


def batch_of(
    texts: Sequence[TokenizedText], index: Sequence[int], classes: Sequence[int], device: torch.device | str = "cpu"
) -> Batch:
    """Texts as one padded batch, of which `sentence` says the word that each token belongs to."""
    longest = max(len(text.tokens) for text in texts)

    def padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
        return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], device=device)

    word_ids = padded([text.word_ids for text in texts], -1)
    lengths = torch.tensor([len(text.tokens) for text in texts], device=device)
    return Batch(
        index=torch.tensor(list(index), device=device),
        tokens=padded([text.tokens for text in texts], 0),
        mask=torch.arange(longest, device=device) < lengths[:, None],
        attendable_mask=word_ids >= 0,
        labels=torch.tensor(list(classes), device=device),
        sentence=word_ids,
    )


def _first(text: Text) -> str:
    return text if isinstance(text, str) else text[0]


def _example(tokenized: TokenizedText, text: Text, label: int, known: Example) -> Example:
    """The text with the words that attention is shown over; rationales apply to the words that they touch."""
    query = () if isinstance(text, str) else (text[1],)
    spans = spans_in(_first(text), known.tokens) if known.rationale is not None else None
    marks = None if spans is None else _marked(tokenized, spans, known.rationale or ())
    annotators = () if spans is None else tuple(_marked(tokenized, spans, own) for own in known.annotators)
    changes = {"rationale": marks, "annotators": annotators, "text": _first(text)}
    return replace(known, tokens=tokenized.words, label=label, query=query, sentences=(), **changes)


def _marked(tokenized: TokenizedText, spans: Sequence[Span], positions: Sequence[int]) -> tuple[int, ...]:
    """The words that share a character with a marked token."""
    marked = [spans[position] for position in positions]
    return tuple(
        number
        for number, (start, end) in enumerate(tokenized.spans[: tokenized.second])
        if any(begin < end and start < finish for begin, finish in marked)
    )


def _with_marks(batch: Batch, examples: Sequence[Example]) -> Batch:
    """The batch with each annotator's rationale, as a mask over the tokens of the marked words."""
    word_ids = batch.tokens if batch.sentence is None else batch.sentence
    rows: list[Tensor | None] = [None] * len(examples)
    for row, example in enumerate(examples):
        if example.annotators:
            marks = [torch.isin(word_ids[row].cpu(), torch.tensor(own, dtype=torch.long)) for own in example.annotators]
            rows[row] = torch.stack(marks).float()
    return replace(batch, marks=pad_marks(rows, word_ids.shape[1]).to(batch.tokens.device))


# Texts with some words replaced, read again: a word can have more subword tokens than the one it replaces.


def with_words(text: Text, tokenized: TokenizedText, new: Mapping[int, str]) -> Text:
    """The text with some words replaced, by their positions."""
    parts = [text] if isinstance(text, str) else list(text)
    for position in sorted(new, reverse=True):
        start, end = tokenized.spans[position]
        which = int(position >= tokenized.second)
        written = parts[which][start:end]
        # A byte-level word may begin with the space before it.
        space = written[: len(written) - len(written.lstrip())]
        parts[which] = parts[which][:start] + space + new[position] + parts[which][end:]
    return parts[0] if isinstance(text, str) else (parts[0], parts[1])


# The words of texts by number, for what is counted over words: a transformer's own vocabulary is one of pieces.

UNKNOWN = -1
"""The token ID of a word that is not in the vocabulary, and of positions without a word."""


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
        """The index of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def of_items(self, batch: Batch, examples: Sequence[Example]) -> Int[Tensor, "batch item"]:
        """The index of each word of the batch.

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


# The words of a transformer's items: their numbers in a vocabulary, and texts rewritten with others.


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
        """The index of each word in the vocabulary; -1 if it has none."""
        return self.vocabulary.of_items(batch, self.examples)

    def rewritten(self, batch: Batch, words: Sequence[Mapping[int, str]]) -> tuple[Batch, Bool[Tensor, " batch"]]:
        """The batch with some words replaced, by position; and the texts in which this was possible.

        A text that is not cut into the same number of words afterwards keeps its own, so that attention before and
        after is over the same items.
        """
        numbers: list[int] = batch.index.tolist()
        read = [self._read(number, new) for number, new in zip(numbers, words, strict=True)]
        done = [other is not None and bool(new) for (_, other), new in zip(read, words, strict=True)]
        texts = [own if other is None else other for own, other in read]
        device = batch.tokens.device
        return batch_of(texts, numbers, batch.labels.tolist(), device), torch.tensor(done, device=device)

    def tokens_of(self, number: int, words: Mapping[int, str]) -> list[tuple[int, ...]] | None:
        """The tokens of each word of a text with new words by position; None if it is then split into other words."""
        _, other = self._read(number, words)
        if other is None:
            return None
        return [
            tuple(token for token, word_ids in zip(other.tokens, other.word_ids, strict=True) if word_ids == word)
            for word in range(len(other.words))
        ]

    def _read(self, number: int, words: Mapping[int, str]) -> tuple[TokenizedText, TokenizedText | None]:
        """A text, and the same with new words by position; None if it is then split into other words."""
        own = read_text(self.classifier.reader, self.texts[number], number)
        other = read_text(self.classifier.reader, with_words(self.texts[number], own, words), number)
        return own, other if len(other.words) == len(own.words) and other.second == own.second else None


# A model's classes and the labels of the data, matched by name.


@dataclass(frozen=True)
class MatchedLabels:
    """Which class each label of the data is.

    Args:
        classes: class of each label, in the data's order.
        names: name of each class, in the order of the logits: as the data writes it, where it has the class.
        note: what the user should know of the match; empty if the names are the same.
    """

    classes: tuple[int, ...]
    names: tuple[str, ...]
    note: str = ""


def match_labels(
    model_labels: Sequence[str], data_labels: Sequence[str], renamed: Mapping[str, str] | None = None
) -> MatchedLabels:
    """The class of each label: of the same name, except for case, spaces, hyphens and underscores.

    A label that is a number, where all are, is the class of that number. The data may lack some classes, not have more.

    Args:
        renamed: what the data calls a class, by what the model calls it: {"LABEL_0": "negative"}.

    >>> match_labels(["NEGATIVE", "POSITIVE"], ["positive", "negative"])
    MatchedLabels(classes=(1, 0), names=('negative', 'positive'), note='')
    >>> match_labels(["LABEL_0", "LABEL_1"], ["negative", "positive"])
    Traceback (most recent call last):
    heedful.errors.DataError: the labels of the data must be classes of the model. The data has 'negative', 'positive';
    the model has 'LABEL_0', 'LABEL_1'. Not among them: 'negative', 'positive'. Rename ...
    """
    own = _renamed(model_labels, renamed or {})
    known: dict[str, list[int]] = {}
    for number, name in enumerate(own):
        known.setdefault(_plain(name), []).append(number)
    by_name = [known.get(_plain(label), []) for label in data_labels]
    if all(len(classes) == 1 for classes in by_name):
        return _named(own, data_labels, [classes[0] for classes in by_name])
    numbers = [int(label) for label in data_labels if re.fullmatch(r"[0-9]{1,6}", label)]
    if len(numbers) == len(data_labels) == len(set(numbers)) and max(numbers) < len(own):
        pairs = ", ".join(f"{label} as {own[number]}" for label, number in zip(data_labels, numbers, strict=True))
        note = f"labels of the data are read as numbers of the model's classes: {pairs}"
        return MatchedLabels(tuple(numbers), tuple(own), note)
    unknown = [label for label, classes in zip(data_labels, by_name, strict=True) if len(classes) != 1]
    raise DataError(
        f"the labels of the data must be classes of the model. The data has {_listed(data_labels)}; the model has "
        f"{_listed(own)}. Not among them: {_listed(unknown)}. Rename the labels of the data, or say what it calls each "
        f"class, as in {{'{own[0]}': '{unknown[0]}'}}, or correct `id2label` in the model's config.json."
    )


def _renamed(labels: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    if unknown := [label for label in renamed if label not in labels]:
        raise SettingError(f"renamed must name classes of the model, {_listed(labels)}; it names {_listed(unknown)}.")
    return [renamed.get(label, label) for label in labels]


def _named(own: Sequence[str], labels: Sequence[str], classes: Sequence[int]) -> MatchedLabels:
    written = {number: label for label, number in zip(labels, classes, strict=True)}
    if len(written) < len(labels):
        raise DataError(
            f"the labels of the data must be different classes of the model; {_listed(labels)} are not, since case, "
            "spaces, hyphens and underscores do not count. Rename them."
        )
    return MatchedLabels(tuple(classes), tuple(written.get(number, name) for number, name in enumerate(own)))


def _plain(label: str) -> str:
    """The label without what may differ.

    >>> _plain("Not_Entailment "), _plain("LABEL_1")
    ('not entailment', '1')
    """
    plain = re.sub(r"[\s_-]+", " ", label.casefold()).strip()
    return plain.removeprefix("label ") if re.fullmatch(r"label \d+", plain) else plain


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - 20} more" if len(labels) > 20 else ""
    return ", ".join(f"'{label}'" for label in labels[:20]) + more
