"""Which texts are audited, and the batches in which a run reads them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from heedful.data.batching import Batches, blocks_in_order, collate, encode_split, to_device
from heedful.settings import AuditSettings
from heedful.training.trained import Trained
from heedful.types import Batch, Example

TEXTS, TOKENS = 64, 2**13
"""Texts and tokens, padding included, of a batch at most."""
SOME = 500
"""Texts that are encoded at a time."""


def chosen_texts(count: int, settings: AuditSettings) -> Sequence[int]:
    """Which of so many texts of a split are audited: all, or as many as the settings allow."""
    most = settings.examples or count
    return range(count) if most >= count else sorted(random_order(count, settings.seed, most))


def batches_of_run(
    trained: Trained,
    examples: Sequence[Example],
    texts: Sequence[int],
    device: torch.device,
    imposed_attention: Sequence[Tensor] | None = None,
) -> Batches:
    """The chosen texts in batches as a finished run reads them.

    Args:
        imposed_attention: of all texts, for a model with frozen attention.
    """
    sizes, words, block = batches_by_length(examples, texts)
    is_marked = any(example.annotators for example in examples)

    def read(number: int) -> Batch:
        index = block(number)
        split = encode_split([examples[text] for text in index], trained.words, marked=is_marked)
        imposed = None if imposed_attention is None else [imposed_attention[text] for text in index]
        batch = replace(collate(split, range(len(index)), imposed), index=torch.tensor(index))
        return to_device(batch, device)

    return Batches(sizes, words, read)


def batches_by_length(
    examples: Sequence[Example], texts: Sequence[int]
) -> tuple[list[int], list[int], Callable[[int], list[int]]]:
    """The chosen texts in batches, shortest first: how many texts and words each has, and from its number to them."""
    lengths = [len(examples[text].tokens) for text in texts]
    blocks = blocks_in_order(lengths, TEXTS, TOKENS)
    words = [sum(lengths[place] for place in block.tolist()) for block in blocks]
    return [len(block) for block in blocks], words, lambda number: [texts[place] for place in blocks[number].tolist()]


def random_order(count: int, seed: int, most: int | None = None) -> list[int]:
    """So many numbers from 0 on, or the first of them, in an order that the seed decides."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:most].tolist()
