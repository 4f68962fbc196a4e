"""Which tokens make up each item of a trace: a single token, or all the tokens of a sentence."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import SettingError
from heedful.types import Trace


def items_are_tokens(trace: Trace) -> bool:
    """Whether the items are exactly the tokens of `Batch.attendable_mask`; if not, `Batch.sentence` numbers them."""
    return torch.equal(trace.encoded.items, trace.batch.attendable_mask)


def maps_tokens(trace: Trace) -> bool:
    """Whether it is known which item each token belongs to; else a model has its own `delete`."""
    batch, items = trace.batch, trace.encoded.items
    if items_are_tokens(trace):
        return True
    return batch.sentence is not None and int(batch.sentence.where(batch.mask, -1).max()) + 1 == items.shape[1]


def item_of_token(trace: Trace) -> Int[Tensor, "batch time"]:
    """The index of the item that each token belongs to; -1 for padding, and for tokens that belong to none.

    A start or end symbol inside a sentence belongs to that sentence; where items are tokens it belongs to none.
    """
    batch, items = trace.batch, trace.encoded.items
    if items_are_tokens(trace):
        return torch.arange(items.shape[1], device=items.device).expand_as(items).where(items, -1)
    count = 0 if batch.sentence is None else int(batch.sentence.where(batch.mask, -1).max()) + 1
    if batch.sentence is None or count != items.shape[1]:
        raise SettingError(
            "items of a trace must be the tokens that `Batch.attendable_mask` marks, or be numbered by "
            f"`Batch.sentence`; the trace has {items.shape[1]} items, the batch {batch.tokens.shape[1]} "
            f"tokens and {count} sentences. "
            "To remove words, the audit needs one of the two: `Batch.sentence`, the index of the item that each token "
            "belongs to; or a method `delete(batch, keep)` of the model, which returns the batch with the kept items."
        )
    return batch.sentence.where(batch.mask, -1)


def items_with(trace: Trace, tokens: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch item"]:
    """The items that contain at least one of these tokens."""
    word_ids = item_of_token(trace)
    counts = torch.zeros_like(trace.encoded.items, dtype=torch.long)
    return counts.scatter_add(1, word_ids.clamp_min(0), (tokens & (word_ids >= 0)).long()) > 0


def sum_by_item(trace: Trace, tokens: Float[Tensor, "batch time"]) -> Float[Tensor, "batch item"]:
    """The sum over the tokens of each item; NaN if the tokens of items are not known."""
    if not maps_tokens(trace):
        return tokens.new_full(trace.encoded.items.shape, torch.nan)
    word_ids = item_of_token(trace)
    # An extra last column collects the tokens that belong to no item.
    sums = tokens.new_zeros(len(word_ids), trace.encoded.items.shape[1] + 1)
    return sums.scatter_add(1, word_ids.where(word_ids >= 0, sums.shape[1] - 1), tokens)[:, :-1]


# Chunks of texts of similar length, so that little of what is computed is padding.


def of_similar_length(lengths: Int[Tensor, " batch"], most: int) -> Iterator[Int[Tensor, " some"]]:
    """The indices of all texts, longest first, in chunks of at most `most` tokens (or one text), padding included.

    >>> from torch import tensor
    >>> [chunk.tolist() for chunk in of_similar_length(tensor([3, 8, 4, 2]), 8)]
    [[1], [2, 0], [3]]
    """
    order = lengths.argsort(descending=True, stable=True)
    known = lengths[order].tolist()
    begin = 0
    while begin < len(known):
        end = begin + max(1, most // max(1, known[begin]))
        yield order[begin:end]
        begin = end
