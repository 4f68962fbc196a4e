"""Sequences as a tree, in which those that begin alike share a path: every distinct beginning is a node, once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.attribution.recurrent_step import RecurrentStep, recurrent_step
from heedful.attribution.reuse.reading import SETTLED

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


# One direction of a recurrent network over many sequences of tokens: every distinct beginning is read once.

BLOCK = 4
"""Tokens between two looks at which sequences have settled."""
NEVER = -2
"""In the place of the token before one that no whole text has."""


@dataclass(frozen=True)
class Direction:
    """One direction over the tokens of some texts.

    Args:
        step: the network, its inputs being words; `kind` says which word each token is.
        own: the columns of a state that are this direction's.
        before: the token that the whole text has before each in reading order; the number of tokens if it is the first.
        state, memory: of the whole texts after each token; a last row more is that before any.
        backward: whether texts are read from the end.
    """

    step: RecurrentStep
    network: torch.nn.RNNBase
    kind: Int[Tensor, " token"]
    own: slice
    before: Int[ndarray, " token"]
    state: Float[Tensor, "rows units"]
    memory: Float[Tensor, "rows memory"]
    backward: bool

    def rows_before(self, tokens: Int[Tensor, " some"]) -> Int[Tensor, " some"]:
        """The row of the whole text's state and memory with which each token is read."""
        return torch.from_numpy(self.before).to(tokens.device)[tokens]

    def to(self, precision: torch.dtype) -> "Direction":
        """The same in another precision."""
        step, state, memory = (part.to(precision) for part in (self.step, self.state, self.memory))
        return replace(self, step=step, state=state, memory=memory)

    def with_tokens(self, vectors: Float[Tensor, "new embed"]) -> "Direction":
        """The same with further tokens that no whole text has."""
        gates = recurrent_step(self.network, vectors).input_gates.to(self.step.input_gates)
        number = len(self.step.input_gates) + torch.arange(len(vectors), device=vectors.device)
        return replace(
            self,
            step=replace(self.step, input_gates=torch.cat([self.step.input_gates, gates])),
            kind=torch.cat([self.kind, number]),
            before=numpy.concatenate([self.before, numpy.full(len(vectors), NEVER)]),
        )


@dataclass(frozen=True)
class States:
    """States by row, those of the whole texts first, and the row that each place of the sequences has.

    Args:
        tokens: the token after which each row is the state; any for the state before all.
    """

    states: Float[Tensor, "rows units"]
    tokens: Int[ndarray, " rows"]
    rows: Int[ndarray, "sequence place"]


@dataclass
class _Walk:
    """How far a tree has been read.

    Args:
        rows: the row of each node's state.
        state, memory: those of the whole texts first, then those that were computed, with room for one a node.
        made: how many rows there are so far.
    """

    rows: Int[ndarray, " node"]
    state: Float[Tensor, "room units"]
    memory: Float[Tensor, "room memory"]
    made: int


def read_tree(direction: Direction, sequences: Int[ndarray, "sequence place"]) -> States:
    """The states after every token of every sequence.

    A node has the state of the whole text where its parent has and the whole text goes on as it does; and where its own
    state, once computed, is the same but for `SETTLED`.
    """
    tree = prefix_tree(_reversed(sequences) if direction.backward else sequences)
    whole = len(direction.state)
    state, memory = (_with_room(known, len(tree.tokens)) for known in (direction.state, direction.memory))
    walk = _Walk(numpy.empty(len(tree.tokens), dtype=numpy.int64), state, memory, whole)
    tokens = [numpy.minimum(numpy.arange(whole), max(0, whole - 2))]
    for depth, level in enumerate(tree.levels()):
        tokens.append(_read_level(direction, tree, walk, level, looks=depth % BLOCK == BLOCK - 1))
    rows = numpy.where(tree.nodes == NOTHING, NOTHING, walk.rows[tree.nodes.clip(0)] if len(tree.tokens) else NOTHING)
    return States(
        walk.state[: walk.made], numpy.concatenate(tokens), _reversed(rows, sequences) if direction.backward else rows
    )


def _with_room(known: Float[Tensor, "rows size"], more: int) -> Float[Tensor, "room size"]:
    """These rows, and room for more."""
    result = known.new_empty(len(known) + more, known.shape[1])
    result[: len(known)] = known
    return result


def _read_level(
    direction: Direction, tree: PrefixTree, walk: _Walk, level: slice, *, looks: bool
) -> Int[ndarray, " new"]:
    """Read the nodes of a level on from their parents; the tokens of those for which a state was computed."""
    tokens, whole = tree.tokens[level], len(direction.state)
    above = walk.rows[tree.parents[level]] if level.start else numpy.full(len(tokens), whole - 1)
    new = (direction.before[tokens] != above).nonzero()[0]
    read, above = tokens[new], above[new]
    device = direction.state.device
    at = torch.from_numpy(above).to(device)
    state, memory = walk.state.index_select(0, at), walk.memory.index_select(0, at)
    own = walk.made + numpy.arange(len(new))
    if len(new):
        direction.step.apply(direction.kind[torch.from_numpy(read).to(device)], state, memory)
        room = slice(walk.made, walk.made + len(new))
        walk.state[room], walk.memory[room] = state, memory
        if looks:
            own = numpy.where(_settled(direction, read, state, memory), read, own)
    walk.rows[level] = tokens
    walk.rows[level.start + new] = own
    walk.made += len(new)
    return read


def _settled(
    direction: Direction,
    tokens: Int[ndarray, " new"],
    state: Float[Tensor, "new units"],
    memory: Float[Tensor, "new memory"],
) -> Bool[ndarray, " new"]:
    """Whether state and memory are those of the whole text after the same token."""
    is_own = tokens < len(direction.state) - 1
    at = torch.from_numpy(numpy.where(is_own, tokens, 0)).to(state.device)
    pairs = ((state, direction.state), (memory, direction.memory))
    apart = [(own - whole.index_select(0, at)).abs().amax(1) for own, whole in pairs if own.shape[1]]
    return (torch.stack(apart).amax(0) <= SETTLED[state.dtype]).cpu().numpy() & is_own


def _reversed(
    values: Int[ndarray, "sequence place"], sequences: Int[ndarray, "sequence place"] | None = None
) -> Int[ndarray, "sequence place"]:
    """Each sequence from its end; what stands behind it stays there.

    Args:
        sequences: whose ends these are; the values themselves, if None.
    """
    lengths = ((values if sequences is None else sequences) != NOTHING).sum(1, keepdims=True)
    place = numpy.arange(values.shape[1])
    return numpy.take_along_axis(values, numpy.where(place < lengths, lengths - 1 - place, place), 1)
