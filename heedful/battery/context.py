"""What a test may need to know of the audit, beyond the batch at hand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heedful.types import Batch

Known = TypeVar("Known")


@runtime_checkable
class ItemWords(Protocol):
    """The words that items are, where an item is made of several tokens."""

    def numbers(self, batch: Batch) -> Int[Tensor, "batch item"]:
        """The number in the context's vocabulary of each item's word; -1 where it has none, or there is no item."""
        ...

    def rewritten(self, batch: Batch, words: Sequence[Mapping[int, str]]) -> tuple[Batch, Bool[Tensor, " batch"]]:
        """The batch with new words in the place of others, by position; and the texts in which that could be done."""
        ...

    def tokens_of(self, number: int, words: Mapping[int, str]) -> list[tuple[int, ...]] | None:
        """The tokens of each word of a text with new words by position; None if it is then split into other words."""
        ...


@dataclass(frozen=True, eq=False)
class Context:
    """What a test may need to know of the audit, beyond the batch at hand.

    Args:
        labels: what the classes are called.
        vocabulary: words by number; empty where nobody has them.
        token_counts: how often each token occurs under each label, in the training texts where these are at hand.
        item_words: the words of items that are made of several tokens; None where an item is a token, or no word.
        vectors: the pretrained word vectors that the model began with: a file, or a name under HEEDFUL_DATA.
    """

    task: str = "classification"
    labels: tuple[str, ...] = ()
    vocabulary: Sequence[str] = ()
    token_counts: Callable[[], Int[Tensor, "token classes"]] = lambda: torch.zeros(0, 2, dtype=torch.long)
    vectors: str = ""
    item_words: ItemWords | None = None
    computed: dict[tuple[object, ...], object] = field(default_factory=dict, repr=False)

    def once(self, function: Callable[..., Known], *arguments: object) -> Known:
        """What the function makes of this context and these arguments, computed when any batch first asks for it."""
        key = (function, *arguments)
        if key not in self.computed:
            self.computed[key] = function(self, *arguments)
        return self.computed[key]  # pyright: ignore[reportReturnType]
