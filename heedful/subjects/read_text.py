"""A text as a model reads it: words, items, and the evidence that tests use."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.evidence import Evidence
from heedful.data.tokenizer import Span
from heedful.errors import SettingError
from heedful.schema import TextOutcome
from heedful.subjects.checks import SUM_TOLERANCE
from heedful.types import Example


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribedText:
    """What is known of a text before a model computes anything.

    Args:
        words: as they are written.
        spans: the [start, end) characters of each word in the text; of a query's words, in the query.
        known: whether the model knows each word.
        items: the places of the words that each item is made of.
        labels: what the items are called; empty: they are numbered.
        item: name of an item: "word", "sentence" or "item".
        notes: what a reader should know of the text.
        second: how many words are of the text, not of the query.
        example: the text as an audit takes it.
    """

    text: str = ""
    query: str = ""
    words: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    known: tuple[bool, ...] = ()
    items: tuple[tuple[int, ...], ...] = ()
    labels: tuple[str, ...] = ()
    item: str = "item"
    notes: tuple[str, ...] = ()
    second: int = sys.maxsize
    example: Example = Example((), 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadText(DescribedText):
    """A text, as the model reads it.

    Args:
        evidence: evidence of a batch of this text alone.
        marks: positions of the words in the human rationale; None if there is none.
        outcomes: by ranking, once they are computed.
    """

    evidence: Evidence
    marks: tuple[int, ...] | None = None
    outcomes: dict[str, TextOutcome] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self.items)

    @property
    def real(self) -> Bool[Tensor, " item"]:
        """Where in the evidence there is an item."""
        return self.evidence.items[0]

    def listed(self, values: Float[Tensor, "1 item"]) -> list[float]:
        """Values of the evidence's items as a list over `items`."""
        return values[0, self.real].tolist()

    def weights(self, given: Sequence[float], name: str = "attention") -> Float[Tensor, "1 item"]:
        """Weights over `items` as the evidence has them; raises if they are not attention over this text."""
        if len(given) != self.count:
            raise SettingError(
                f"{name} must have a weight for each of the text's {self.count} items; it has {len(given)}. Read the "
                "text again: it may have been another."
            )
        total = sum(given)
        if abs(total - 1) > SUM_TOLERANCE:
            raise SettingError(f"{name} must sum to 1; it sums to {total:.6g}. Divide each weight by that sum.")
        own = self.evidence.attention
        return torch.zeros_like(own).masked_scatter(self.evidence.items, torch.tensor(given, dtype=own.dtype))


Reader = Callable[[str, str], ReadText]
"""From a text and its query to the text as a model reads it."""


def written(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
