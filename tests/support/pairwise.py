"""Few rows for many parameters."""

from collections.abc import Hashable, Iterable
from itertools import combinations


def pairwise(rows: Iterable[tuple[Hashable, ...]]) -> list[tuple]:
    """Rows enough that any two values that share a row still share one."""
    pairs = {row: {*combinations(enumerate(row), 2)} for row in rows}
    left, chosen = set().union(*pairs.values()), []
    while left:
        chosen.append(max(pairs, key=lambda row: len(pairs[row] & left)))
        left -= pairs[chosen[-1]]
    return chosen
