"""Examples as padded tensors, bucketed by length."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from heedful.data.tokenizer import END, PAD, START, WordTokenizer
from heedful.types import Batch, Example

# The texts of an audit in batches, each read when it is its turn; and shards of them, which are audited apart.

SHARD_WORDS = 2**12
"""Words after which a shard ends: about 200 texts of 20 words, a few seconds of work."""


@dataclass(frozen=True)
class Batches:
    """Batches that are read again whenever they are needed, in a fixed order.

    Args:
        texts, words: how many texts and words each batch has.
        read: function from the index of a batch to the batch.
        chosen: indices of the batches to read; None: all.
    """

    texts: Sequence[int]
    words: Sequence[int]
    read: Callable[[int], Batch]
    chosen: range | None = None

    def __call__(self) -> Iterator[Batch]:
        """The batches, each read now."""
        return map(self.read, range(len(self.words)) if self.chosen is None else self.chosen)

    def part(self, chosen: range) -> "Batches":
        """The batches of these numbers alone."""
        return replace(self, chosen=chosen)


def shards_of(words: Sequence[int], most: int | None = None) -> list[range]:
    """Consecutive batches, by index, with at least `most` words together: the last batch of each shard reaches the
    limit.

    They follow from the texts alone, so the workers, and their number, change no result.

    Args:
        words: how many words each batch has.
        most: words of a shard; None: SHARD_WORDS.

    >>> shards_of([5, 4, 9, 1, 2], most=8)
    [range(0, 2), range(2, 3), range(3, 5)]
    """
    shards, start, total = [], 0, 0
    for number, count in enumerate(words):
        total += count
        if total >= (most or SHARD_WORDS) or number == len(words) - 1:
            shards.append(range(start, number + 1))
            start, total = number + 1, 0
    return shards


# Annotators' rationales, as tensors aligned with the tokens of a batch.


def encode_marks(
    annotators: Sequence[Sequence[int]], tokens: int, *, framed: bool = False
) -> Float[Tensor, "annotator time"]:
    """1 at the tokens that each annotator marked, 0 at the others.

    Args:
        annotators: positions of marked tokens, of each annotator.
        tokens: how many the text has.
        framed: whether a start and an end symbol surround it, which are in no rationale.

    >>> encode_marks([(0, 2), ()], 3)
    tensor([[1., 0., 1.], [0., 0., 0.]])
    """
    marks = torch.zeros(len(annotators), tokens)
    for row, positions in zip(marks, annotators, strict=True):
        row[list(positions)] = 1
    return torch.nn.functional.pad(marks, (1, 1)) if framed else marks


def pad_marks(rows: Sequence[Float[Tensor, "_ _"] | None], width: int) -> Float[Tensor, "batch annotator time"]:
    """The marks of several texts as one tensor: NaN for annotators that a text does not have, 0 on padding.

    Args:
        rows: as `encode_marks` gives them; None for a text without rationales.
        width: tokens of the longest text of the batch.

    >>> pad_marks([torch.tensor([[1.0, 0.0]]), None], 3)
    tensor([[[1., 0., 0.]], [[nan, nan, nan]]])
    """
    most = max((len(row) for row in rows if row is not None), default=0)
    padded = torch.full((len(rows), max(1, most), width), torch.nan)
    for place, row in enumerate(rows):
        if row is not None:
            padded[place, : len(row)] = torch.nn.functional.pad(row, (0, width - row.shape[1]))
    return padded


MOST_PADDED = 2**24
"""Ids that a split may have, padded to its longest text, to be kept so from one epoch to the next: 128 MiB of them."""


@dataclass(frozen=True)
class EncodedSplit:
    """A split with its words encoded as ids, from which batches are made.

    Args:
        texts: ids of each text, with its start and end symbols if the tokenizer adds them.
        sentences: index of each token's sentence; empty if the examples have no sentence boundaries.
        framed: whether the first and the last id of each text are a start and an end symbol.
        marks: annotators' rationales of each text, None for a text without any; empty if no text has one.
    """

    texts: tuple[Int[Tensor, " _"], ...]
    queries: tuple[Int[Tensor, " _"], ...]
    sentences: tuple[Int[Tensor, " _"], ...]
    labels: Int[Tensor, " text"]
    framed: bool
    marks: tuple[Float[Tensor, "_ _"] | None, ...] = ()

    @property
    def lengths(self) -> list[int]:
        """How many ids each text has."""
        return [len(text) for text in self.texts]

    @cached_property
    def length_of(self) -> Int[Tensor, " text"]:
        """How many ids each text has, as a tensor, counted once."""
        return torch.tensor(self.lengths, dtype=torch.long)

    @cached_property
    def padded(self) -> Int[Tensor, "text longest"] | None:
        """All texts padded to the longest, once for all epochs; None if that would take too much memory."""
        if not self.texts or len(self.texts) * max(self.lengths) > MOST_PADDED:
            return None
        return pad_sequence(list(self.texts), batch_first=True, padding_value=PAD)


def encode_split(examples: Sequence[Example], words: WordTokenizer, *, marked: bool | None = None) -> EncodedSplit:
    """The examples with every token replaced by its id.

    Args:
        marked: whether any text of the whole split has a human rationale; None: decided by these texts.
    """
    framed = words.adds_start_end

    def ids(tokens: Sequence[str]) -> Tensor:
        numbers = words.ids(tokens)
        return torch.tensor([START, *numbers, END] if framed else numbers)

    return EncodedSplit(
        texts=tuple(ids(e.tokens) for e in examples),
        queries=tuple(ids(e.query) for e in examples if e.query),
        sentences=tuple(_sentence_numbers(e, framed) for e in examples if e.sentences),
        labels=torch.tensor([e.label for e in examples], dtype=torch.long),
        framed=framed,
        marks=_marks(examples, framed) if (any(e.annotators for e in examples) if marked is None else marked) else (),
    )


def _marks(examples: Sequence[Example], framed: bool) -> tuple[Tensor | None, ...]:
    return tuple(encode_marks(e.annotators, len(e.tokens), framed=framed) if e.annotators else None for e in examples)


def _sentence_numbers(example: Example, framed: bool) -> Tensor:
    begins = torch.zeros(len(example.tokens), dtype=torch.long)
    begins[list(example.sentences[1:])] = 1
    numbers = begins.cumsum(0)
    return torch.cat([numbers[:1], numbers, numbers[-1:]]) if framed else numbers


def collate(split: EncodedSplit, index: Sequence[int], imposed_attention: Sequence[Tensor] | None = None) -> Batch:
    """The chosen texts as one padded batch.

    Args:
        imposed_attention: attention to impose, for each text of the split.
    """
    rows = torch.tensor(list(index))
    lengths = split.length_of[rows]
    tokens = _tokens(split, rows, int(lengths.max()))
    place = torch.arange(tokens.shape[1])
    mask = place < lengths[:, None]
    attendable_mask = mask & (place > 0) & (place < lengths[:, None] - 1) if split.framed else mask
    batch = Batch(rows, tokens, mask, attendable_mask, split.labels[rows])
    if split.queries:
        queries = pad_sequence([split.queries[i] for i in index], batch_first=True, padding_value=PAD)
        query_lengths = torch.tensor([len(split.queries[i]) for i in index])
        batch = replace(batch, query_tokens=queries, query_mask=torch.arange(queries.shape[1]) < query_lengths[:, None])
    if split.sentences:
        batch = replace(batch, sentence=pad_sequence([split.sentences[i] for i in index], batch_first=True))
    if split.marks:
        batch = replace(batch, marks=pad_marks([split.marks[i] for i in index], tokens.shape[1]))
    if imposed_attention is not None:
        batch = replace(batch, imposed_attention=pad_items([imposed_attention[i] for i in index], batch))
    return batch


def _tokens(split: EncodedSplit, rows: Int[Tensor, " batch"], longest: int) -> Int[Tensor, "batch time"]:
    """The ids of these texts, padded to the longest of them."""
    if split.padded is None:
        return pad_sequence([split.texts[i] for i in rows.tolist()], batch_first=True, padding_value=PAD)
    return split.padded[:, :longest].index_select(0, rows)


def pad_items(rows: Sequence[Float[Tensor, " _"]], batch: Batch) -> Float[Tensor, "batch item"]:
    """Values of items, a ragged row for each text of the batch, as one tensor of the batch's number of items."""
    items = batch.tokens.shape[1] if batch.sentence is None else int(batch.sentence.max()) + 1
    padded = pad_sequence(list(rows), batch_first=True)
    return torch.nn.functional.pad(padded, (0, items - padded.shape[1]))


def bucketed(lengths: Sequence[int], size: int, generator: torch.Generator) -> list[list[int]]:
    """Every text once, in batches of texts of similar length, in random order.

    Lengths are jittered by up to a tenth before sorting, so that batches differ from epoch to epoch
    (the scheme of Jain and Wallace's code).

    >>> batches = bucketed([9, 1, 8, 2, 1], 2, torch.Generator().manual_seed(0))
    >>> sorted(sorted(batch) for batch in batches)
    [[0], [1, 4], [2, 3]]
    """
    known = torch.tensor(lengths, dtype=torch.float64)
    jitter = 1 + 0.2 * (torch.rand(len(known), generator=generator, dtype=torch.float64) - 0.5)
    order = (known * jitter).argsort(stable=True).tolist()
    blocks = [order[start : start + size] for start in range(0, len(order), size)]
    return [blocks[i] for i in torch.randperm(len(blocks), generator=generator).tolist()]


def in_order(lengths: Sequence[int], size: int, tokens: int | None = None) -> list[list[int]]:
    """Every text once, shortest first, in batches: the cheapest order for reading a split.

    Args:
        size: how many texts a batch has at most.
        tokens: how many tokens, padding included; one text may have more by itself.

    >>> in_order([9, 1, 8, 2, 1], 2), in_order([9, 1, 8, 2, 1], 3, tokens=4)
    ([[1, 4], [3, 2], [0]], [[1, 4], [3], [2], [0]])
    """
    return [block.tolist() for block in blocks_in_order(lengths, size, tokens)]


def blocks_in_order(lengths: Sequence[int], size: int, tokens: int | None = None) -> list[Int[Tensor, " text"]]:
    """The same as tensors, which for many texts take less room."""
    known = torch.tensor(lengths, dtype=torch.long)
    known, order = known.sort(stable=True)
    if tokens is None:
        return list(order.split(size)) if len(order) else []
    blocks, number = [], torch.arange(1, size + 1)
    while len(order):
        ahead = known[:size]
        count = max(1, int((number[: len(ahead)] * ahead <= tokens).sum()))
        blocks.append(order[:count])
        order, known = order[count:], known[count:]
    return blocks


def read(
    split: EncodedSplit, size: int, device: torch.device, imposed_attention: Sequence[Tensor] | None = None
) -> Iterator[Batch]:
    """The whole split in batches on a device, shortest texts first."""
    for index in in_order(split.lengths, size):
        yield to_device(collate(split, index, imposed_attention), device)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with every tensor on that device."""
    return _each(batch, lambda tensor: tensor.to(device))


def rows_of_batch(batch: Batch, rows: Int[Tensor, " row"]) -> Batch:
    """The batch of these rows, in this order, each as often as it is named."""
    return _each(batch, lambda tensor: tensor[rows])


def _each(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    """The batch with every tensor changed."""
    tensors = {part.name: getattr(batch, part.name) for part in fields(batch)}
    return replace(batch, **{name: change(tensor) for name, tensor in tensors.items() if tensor is not None})
