from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.data.sampling import labels_in_blocks, seeded_generator, stratified_order


def test_a_generator_depends_on_every_part_and_takes_any_whole_number():
    names = (("a", 0), ("a", 1), ("b", 0), ("a", -1), ("a", 10**40))
    seeds = [seeded_generator(*parts).initial_seed() for parts in names]
    assert len(set(seeds)) == 5


def test_every_block_of_labels_has_the_ratio_and_the_order_is_random():
    labels = labels_in_blocks((5, 2), 700, torch.Generator().manual_seed(3))
    blocks = [tuple(labels[start : start + 7]) for start in range(0, 700, 7)]
    assert {tuple(sorted(block)) for block in blocks} == {(0, 0, 0, 0, 0, 1, 1)}
    assert len(set(blocks)) > 10


@given(st.integers(1, 40), st.integers(0, 40))
def test_fewer_labels_are_the_beginning_of_more(few, further):
    def labels(count):
        return labels_in_blocks((1, 2), count, torch.Generator().manual_seed(0))

    assert labels(few + further)[:few] == labels(few)


@given(st.lists(st.sampled_from("aaabc"), min_size=1, max_size=60), st.integers(0, 5))
def test_the_order_is_a_permutation_that_begins_with_one_of_each_label(labels, seed):
    order = stratified_order(labels, torch.Generator().manual_seed(seed))
    assert sorted(order) == list(range(len(labels)))
    kinds = len(set(labels))
    assert {labels[place] for place in order[:kinds]} == set(labels)


@given(st.lists(st.sampled_from("aaabc"), min_size=1, max_size=60), st.integers(0, 60))
def test_every_beginning_has_the_labels_in_their_proportion(labels, end):
    order = stratified_order(labels, torch.Generator().manual_seed(0))[:end]
    taken, counts = Counter(labels[place] for place in order), Counter(labels)
    for label, count in counts.items():
        # At a cut at share s of the order each label has between s n and s n + 1, and the shares differ by one place.
        assert abs(taken[label] - len(order) * count / len(labels)) < len(counts) + 1


def test_a_third_of_the_order_has_a_third_of_each_label():
    labels = ["a"] * 60 + ["b"] * 21 + ["c"] * 9
    order = stratified_order(labels, torch.Generator().manual_seed(0))
    assert Counter(labels[place] for place in order[:30]) == {"a": 20, "b": 7, "c": 3}


def test_the_order_of_a_label_is_shuffled_by_the_seed():
    labels = ["a"] * 50
    orders = [stratified_order(labels, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
