"""The tree of sequences against the set of their beginnings."""

import numpy
import pytest

from heedful.attribution.prefix_tree import NOTHING, prefix_tree


def random_sequences(seed, rows=13, places=6, words=3):
    draw = numpy.random.default_rng(seed)
    sequences = draw.integers(0, words, (rows, places))
    return numpy.where(numpy.arange(places) < draw.integers(0, places + 1, (rows, 1)), sequences, NOTHING)


@pytest.mark.parametrize("seed", range(5))
def test_every_distinct_beginning_is_a_node_once(seed):
    sequences = random_sequences(seed)
    tree = prefix_tree(sequences)
    beginnings = {tuple(row[: end + 1]) for row in sequences.tolist() for end in range(len(row)) if row[end] != NOTHING}
    assert len(tree.tokens) == len(beginnings)
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens.tolist(), tree.parents.tolist(), strict=True):
        paths.append(((*paths[parent], token)) if parent != NOTHING else (token,))
    for row, nodes in zip(sequences.tolist(), tree.nodes.tolist(), strict=True):
        for end, node in enumerate(nodes):
            assert (node == NOTHING) == (row[end] == NOTHING)
            assert node == NOTHING or paths[node] == tuple(row[: end + 1])


def test_levels_hold_the_nodes_of_one_depth():
    tree = prefix_tree(random_sequences(0))
    for start, end in zip(tree.starts[1:-1].tolist(), tree.starts[2:].tolist(), strict=True):
        assert (tree.parents[start:end] < start).all() and (tree.parents[start:end] != NOTHING).all()


def test_no_sequences_have_no_nodes():
    assert len(prefix_tree(numpy.full((2, 3), NOTHING)).tokens) == 0
