"""Seeded draws that data sets share: generators, class labels in fixed proportion, and an order fair to every label."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import torch


def generator_of(*parts: str | int) -> torch.Generator:
    """A generator seeded by all the parts: another data set, split or seed draws independently.

    >>> first, again, other = generator_of("mock-1", 0), generator_of("mock-1", 0), generator_of("mock-1", 1)
    >>> first.initial_seed() == again.initial_seed(), first.initial_seed() == other.initial_seed()
    (True, False)
    """
    said = "|".join(map(str, parts))
    return torch.Generator().manual_seed(int.from_bytes(hashlib.sha256(said.encode()).digest()[:8]))


def labels_in_blocks(ratio: Sequence[int], count: int, generator: torch.Generator) -> list[int]:
    """So many class numbers in the given ratio: every block of sum(ratio) labels has it exactly, in random order.

    What comes first does not depend on count, so a smaller set is the beginning of a larger one.

    >>> sorted(labels_in_blocks((1, 2), 6, torch.Generator().manual_seed(0)))
    [0, 0, 1, 1, 1, 1]
    """
    block = [label for label, times in enumerate(ratio) for _ in range(times)]
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += [block[place] for place in torch.randperm(len(block), generator=generator).tolist()]
    return drawn[:count]


def stratified_order(labels: Sequence[str], generator: torch.Generator) -> list[int]:
    """The places of labels in a random order of which every beginning has the labels in about their own proportion.

    The j-th of the n places of one label is put at j / n, so the first of each label come first of all: a beginning as
    long as there are labels misses none.

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
