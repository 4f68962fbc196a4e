"""Seeded sampling that datasets share: generators, class labels in a fixed ratio, and a stratified order."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import torch


def seeded_generator(*parts: str | int) -> torch.Generator:
    """A generator seeded by a hash of all the parts: a different dataset, split, test or seed draws independently.

    >>> first, again, other = (seeded_generator("mock-1", seed) for seed in (0, 0, 1))
    >>> first.initial_seed() == again.initial_seed(), first.initial_seed() == other.initial_seed()
    (True, False)
    """
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8]))


def random_order(count: int, seed: int, most: int | None = None) -> list[int]:
    """The numbers from 0 to `count` - 1, or the first `most` of them, in an order determined by the seed."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:most].tolist()


def labels_in_blocks(ratio: Sequence[int], count: int, generator: torch.Generator) -> list[int]:
    """`count` class numbers in the given ratio: every block of sum(ratio) labels has it exactly, in random order.

    The first labels do not depend on `count`, so a smaller set is a prefix of a larger one.

    >>> sorted(labels_in_blocks((1, 2), 6, torch.Generator().manual_seed(0)))
    [0, 0, 1, 1, 1, 1]
    """
    block = [label for label, times in enumerate(ratio) for _ in range(times)]
    labels: list[int] = []
    while len(labels) < count:
        labels += [block[place] for place in torch.randperm(len(block), generator=generator).tolist()]
    return labels[:count]


def stratified_order(labels: Sequence[str], generator: torch.Generator) -> list[int]:
    """The positions of the labels in a random order; every prefix of it has the labels in about their own proportion.

    The j-th of the n positions of a label is ranked j / n, so the first of every label come before all others: a prefix
    as long as the number of labels misses none.

    >>> order = stratified_order(["a"] * 6 + ["b"] * 3, torch.Generator().manual_seed(0))
    >>> sorted("aaaaaabbb"[place] for place in order[:3]), sorted("aaaaaabbb"[place] for place in order[:6])
    (['a', 'a', 'b'], ['a', 'a', 'a', 'a', 'b', 'b'])
    """
    order: list[int] = torch.randperm(len(labels), generator=generator).tolist()
    counts = Counter(labels)
    seen: Counter[str] = Counter()
    rank = [0.0] * len(labels)
    for place in order:
        rank[place] = seen[labels[place]] / counts[labels[place]]
        seen[labels[place]] += 1
    return sorted(order, key=rank.__getitem__)
