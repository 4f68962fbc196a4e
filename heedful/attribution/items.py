"""What an item of a trace is made of: the token itself, or all the tokens of a sentence."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.errors import SettingError
from heedful.types import Trace


def items_are_tokens(trace: Trace) -> bool:
    """Whether items stand just where `Batch.attendable` says; else they are what `Batch.sentence` numbers."""
    return torch.equal(trace.encoded.items, trace.batch.attendable)


def item_of_token(trace: Trace) -> Int[Tensor, "batch time"]:
    """The number of the item that each token is part of; -1 for padding, and for what is part of none.

    A start or end symbol that is read inside a sentence is part of it; one that is read beside tokens is part of none.
    """
    batch, items = trace.batch, trace.encoded.items
    if items_are_tokens(trace):
        return torch.arange(items.shape[1], device=items.device).expand_as(items).where(items, -1)
    count = 0 if batch.sentence is None else int(batch.sentence.where(batch.mask, -1).max()) + 1
    if batch.sentence is None or count != items.shape[1]:
        raise SettingError(
            "items of a trace must be the tokens that `Batch.attendable` marks, or be numbered by `Batch.sentence`; "
            f"the trace has {items.shape[1]} items, the batch {batch.tokens.shape[1]} tokens and {count} sentences. "
            "Set `Batch.sentence` to the number of the item that each token is part of."
        )
    return batch.sentence.where(batch.mask, -1)


def items_with(trace: Trace, tokens: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch item"]:
    """The items that some of these tokens are part of."""
    owner = item_of_token(trace)
    found = torch.zeros_like(trace.encoded.items, dtype=torch.long)
    return found.scatter_add(1, owner.clamp_min(0), (tokens & (owner >= 0)).long()) > 0
