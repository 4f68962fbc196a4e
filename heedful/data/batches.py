"""The texts of an audit in batches, each read when it is its turn; and shards of them, which are audited apart."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from heedful.types import Batch

SHARD_WORDS = 2**12
"""Words after which a shard ends: about 200 texts of 20 words, a few seconds of work."""


@dataclass(frozen=True)
class Batches:
    """Batches that are read anew whenever they are called for, in a fixed order.

    Args:
        texts, words: how many texts and words each batch has.
        read: from the number of a batch to the batch.
        chosen: the numbers of those that are read; None: all.
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
    """Consecutive batches, by their numbers, that have so many words together: the last batch of each passes the mark.

    They follow from the texts alone, so that whoever does them, and how many at a time, changes no result.

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
