"""Sequences as a tree, in which those that begin alike share a path: every distinct beginning is a node, once."""

from dataclasses import dataclass, replace

import numpy
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.attribution.recurrent_step import RecurrentStep, recurrent_step

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

SETTLED = {torch.float64: 1e-13, torch.float32: 1e-6}
"""A sequence has settled when state and memory differ from those of the whole text by no more, in any unit."""
BLOCK = 4
"""Tokens between two looks at which sequences have settled."""
NEVER = -2
"""Replaces the token before one that no whole text has."""


@dataclass(frozen=True)
class Direction:
    """One direction over the tokens of some texts.

    Args:
        step: the network, its inputs being words; `kind` says which word each token is.
        own: the columns of a state that are this direction's.
        before: the token that the whole text has before each in reading order; the number of tokens if it is the first.
        state, memory: state of the whole texts after each token; an extra last row is the state before any token.
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

    @property
    def count(self) -> int:
        """How many tokens the whole texts have."""
        return len(self.state) - 1

    def with_tokens(self, vectors: Float[Tensor, "new embed"]) -> "Direction":
        """The same with further tokens that no whole text has."""
        gates = recurrent_step(self.network, vectors.to(self.state)).input_gates
        number = len(self.step.input_gates) + torch.arange(len(vectors), device=vectors.device)
        return replace(
            self,
            step=replace(self.step, input_gates=torch.cat([self.step.input_gates, gates])),
            kind=torch.cat([self.kind, number]),
            before=numpy.concatenate([self.before, numpy.full(len(vectors), NEVER)]),
        )


@dataclass(frozen=True)
class States:
    """States by row, those of the whole texts' tokens first, and the row that each place of the sequences has.

    Args:
        tokens: the token after which each row is the state.
    """

    states: Float[Tensor, "row units"]
    tokens: Int[ndarray, " row"]
    rows: Int[ndarray, "sequence place"]


def read_tree(direction: Direction, sequences: Int[ndarray, "sequence place"]) -> States:
    """The states after every token of every sequence.

    A node has the state of the whole text where its parent has and the whole text goes on as it does; and where its own
    state, once computed, is the same up to `SETTLED`. All other nodes are read level by level.
    """
    tree = prefix_tree(_reversed(sequences) if direction.backward else sequences)
    device = direction.state.device
    known = numpy.where(tree.parents == NOTHING, direction.count, tree.tokens[tree.parents])
    departs = direction.before[tree.tokens] != known
    departures = numpy.diff(departs.nonzero()[0].searchsorted(tree.starts))
    rows, is_apart, place = tree.tokens.copy(), numpy.zeros_like(departs), numpy.zeros_like(tree.tokens)
    made, whole = direction.count, direction.state
    states = whole.new_empty(made + len(rows), whole.shape[1])
    states[:made] = whole[:made]
    state, memory, tokens = states[:0], direction.memory[:0], [numpy.arange(made)]
    for depth, count in enumerate(departures.tolist()):
        if not count and not len(state):
            continue
        level = slice(tree.starts[depth], tree.starts[depth + 1])
        parents = tree.parents[level]
        follows = is_apart[parents]
        on, off = follows.nonzero()[0], (departs[level] & ~follows).nonzero()[0]
        nodes = numpy.concatenate([on, off]) + level.start
        read = tree.tokens[nodes]
        sources = torch.from_numpy(place[parents[on]]).to(device), torch.from_numpy(known[level][off]).to(device)
        state = _selected((state, whole), sources, states[made : made + len(nodes)])
        memory = _selected((memory, direction.memory), sources, memory.new_empty(len(nodes), memory.shape[1]))
        direction.step.apply(direction.kind[torch.from_numpy(read).to(device)], state, memory)
        tokens.append(read)
        number = numpy.arange(len(nodes))
        rows[nodes], place[nodes], is_apart[nodes] = made + number, number, True
        if depth % BLOCK == BLOCK - 1:
            settled = nodes[_settled(direction, read, state, memory)]
            rows[settled], is_apart[settled] = tree.tokens[settled], False
            state = state if is_apart[nodes].any() else state[:0]
        made += len(nodes)
    of_places = numpy.append(rows, NOTHING)[tree.nodes]
    return States(
        states[:made],
        numpy.concatenate(tokens),
        _reversed(of_places, sequences) if direction.backward else of_places,
    )


def _selected(
    sources: tuple[Float[Tensor, "_ size"], Float[Tensor, "_ size"]],
    rows: tuple[Int[Tensor, " _"], Int[Tensor, " _"]],
    result: Float[Tensor, "some size"],
) -> Float[Tensor, "some size"]:
    """Rows of the one, and then of the other, written where the result stands."""
    for source, own, part in zip(sources, rows, result.split([len(rows[0]), len(rows[1])]), strict=True):
        torch.index_select(source, 0, own, out=part)
    return result


def _settled(
    direction: Direction,
    tokens: Int[ndarray, " new"],
    state: Float[Tensor, "new units"],
    memory: Float[Tensor, "new memory"],
) -> Bool[ndarray, " new"]:
    """Whether state and memory are those of the whole text after the same token."""
    is_own = tokens < direction.count
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
