"""Texts, or pairs of texts, as batches for a transformer: all that an audit needs beside the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from heedful.data.batches import Batches
from heedful.data.batching import in_order
from heedful.data.marks import pad_marks
from heedful.data.tokenizer import Span, spans_in
from heedful.errors import DataError, SettingError
from heedful.models.transformers.classifier import Classifier
from heedful.models.transformers.words import TextReader, TokenizedText
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
        batches: of these, each read when it is its turn, texts of similar length together; `Batch.index` says which of
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
        classes: of each text, as the model numbers them (`match_labels`).
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
    """The text as tokens and words; refused where it holds what is no character."""
    first, second = (text, None) if isinstance(text, str) else text
    for written in (first, second or ""):
        if any("\ud800" <= character <= "\udfff" for character in written):
            raise DataError(f"text {number} must be valid UTF-8, and is not: {written!r:.60}. Convert it.")
    return reader.read(first, second)


def by_length(lengths: dict[int, int]) -> list[list[int]]:
    """The numbers of all texts, shortest first, in batches that hold so many texts and tokens at most.

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

    owner = padded([text.owner for text in texts], -1)
    lengths = torch.tensor([len(text.tokens) for text in texts], device=device)
    return Batch(
        index=torch.tensor(list(index), device=device),
        tokens=padded([text.tokens for text in texts], 0),
        mask=torch.arange(longest, device=device) < lengths[:, None],
        attendable=owner >= 0,
        labels=torch.tensor(list(classes), device=device),
        sentence=owner,
    )


def _first(text: Text) -> str:
    return text if isinstance(text, str) else text[0]


def _example(tokenized: TokenizedText, text: Text, label: int, known: Example) -> Example:
    """The text with the words that attention is shown over; marks of people go to the words that they touch."""
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
    """The batch with what each annotator marked, beside the tokens of the marked words."""
    owner = batch.tokens if batch.sentence is None else batch.sentence
    rows: list[Tensor | None] = [None] * len(examples)
    for row, example in enumerate(examples):
        if example.annotators:
            marks = [torch.isin(owner[row].cpu(), torch.tensor(own, dtype=torch.long)) for own in example.annotators]
            rows[row] = torch.stack(marks).float()
    return replace(batch, marks=pad_marks(rows, owner.shape[1]).to(batch.tokens.device))
