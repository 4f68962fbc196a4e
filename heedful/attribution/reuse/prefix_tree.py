"""Sequences as a tree, in which those that begin alike share a path: every distinct beginning is a node, once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy
from jaxtyping import Int
from numpy import ndarray

NOTHING = -1
"""What stands behind the end of a sequence."""


@dataclass(frozen=True)
class PrefixTree:
    """The tree of some sequences; its nodes are numbered level by level.

    Args:
        tokens: that each node adds to the beginning that its parent is.
        parents: the number of each node's parent; `NOTHING` on the first level.
        starts: the first node of each level, and the number of all nodes.
        nodes: for each sequence, the node at which it is after each of its tokens; `NOTHING` behind its end.
    """

    tokens: Int[ndarray, " node"]
    parents: Int[ndarray, " node"]
    starts: Int[ndarray, " level_or_end"]
    nodes: Int[ndarray, "sequence place"]

    def levels(self) -> Iterator[slice]:
        """The nodes of each level, from the first tokens on."""
        for start, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield slice(start, end)


def prefix_tree(sequences: Int[ndarray, "sequence place"]) -> PrefixTree:
    """The tree of sequences of numbers from 0 on; `NOTHING` fills the shorter up, on the right.

    >>> tree = prefix_tree(numpy.array([[3, 4, 5], [3, 4, -1], [7, 4, 5]]))
    >>> tree.tokens.tolist(), tree.parents.tolist(), tree.nodes.tolist()
    ([3, 7, 4, 4, 5, 5], [-1, -1, 0, 1, 2, 3], [[0, 2, 4], [0, 2, -1], [1, 3, 5]])
    """
    order = _in_order(sequences)
    ranked = sequences[order]
    shared = numpy.logical_and.accumulate(ranked[1:] == ranked[:-1], axis=1)
    is_new = (ranked != NOTHING) & ~numpy.pad(shared, ((1, 0), (0, 0)))
    # Level by level, and on each level in the order of the sequences, so that a number repeats until a new one comes.
    by_level = is_new.T
    numbers = numpy.where(by_level, by_level.ravel().cumsum().reshape(by_level.shape) - 1, NOTHING)
    numbers = numpy.where(ranked.T != NOTHING, numpy.maximum.accumulate(numbers, axis=1), NOTHING)
    above = numpy.concatenate([numpy.full_like(numbers[:1], NOTHING), numbers[:-1]])
    nodes = numpy.empty_like(sequences)
    nodes[order] = numbers.T
    starts = numpy.concatenate([[0], by_level.sum(1).cumsum()])
    return PrefixTree(ranked.T[by_level], above[by_level], starts, nodes)


def _in_order(sequences: Int[ndarray, "sequence place"]) -> Int[ndarray, " sequence"]:
    """The order in which sequences that begin alike stand together: lexicographic, by their bytes."""
    if not sequences.size:
        return numpy.arange(len(sequences))
    keys = numpy.ascontiguousarray(sequences + 1, dtype=">u4")
    return keys.view(f"S{keys.strides[0]}")[:, 0].argsort(kind="stable")
