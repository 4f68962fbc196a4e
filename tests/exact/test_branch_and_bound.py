from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.exact.hull_programs import Programs, attention_of, divergence, first_basis, overlap_loss, programs_of
from heedful.exact.several_classes import branched, chords, furthest_corners, largest_weights
from support.hulls import attentions, pulled_in, some_programs


def bounds(programs: Programs, weight: np.ndarray, rounds: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        return branched(
            programs, weight, largest_weights(programs), np.zeros(len(weight)), first_basis(programs), rounds=rounds
        ).bound.max(1)


@settings(max_examples=25)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.1, 0.4]))
def test_no_attention_within_eps_is_further_than_the_bound_or_exceeds_its_largest_weights(classes, seed, eps):
    programs, weight = some_programs(batch=5, count=6, classes=classes, seed=seed, eps=eps)
    with np.errstate(all="ignore"):
        largest = largest_weights(programs)
    upper = bounds(programs, weight, rounds=3)
    for draw in range(20):
        inside = pulled_in(programs, weight, attentions(weight, draw))
        assert (inside <= largest + 1e-9).all()
        assert (divergence(weight, inside) <= upper + 1e-9).all()


def test_more_rounds_lower_the_bound_and_what_is_known_prunes():
    programs, weight = some_programs(batch=11, count=9, classes=4, seed=1, eps=0.02)
    few, many = bounds(programs, weight, 0), bounds(programs, weight, 6)
    assert (many <= few + 1e-12).all()
    assert (few - many).mean() > 0.02
    with np.errstate(all="ignore"):
        nodes = branched(programs, weight, largest_weights(programs), few + 1e-3, first_basis(programs), rounds=3)
    # Nothing can be further than what is claimed to be known, so nothing is split.
    assert np.isinf(nodes.bound[:, 1:]).all()


def test_a_chord_is_above_the_divergence_between_its_ends_and_below_outside():
    weight = np.full((1, 5), 0.3)
    low, high = np.array([[0.0, 0.0, 0.2, 0.2, 0.5]]), np.array([[1.0, 0.4, 0.4, 1.0, 0.6]])
    slope, height = chords(weight, low, high)
    for share in np.linspace(0, 1, 21):
        chord, value = (slope - log(2)) * share + height, overlap_loss(weight, np.full((1, 5), share))
        between = (share >= low) & (share <= high)
        assert (chord[between] >= value[between] - 1e-12).all()
        assert (chord[~between] <= value[~between] + 1e-12).all()


def test_largest_weights_by_hand():
    # Each item is for another class; the margin may grow to ln(0.6 / 0.4), so weight x 2 - rest x 2 is at most that.
    logits = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    programs = programs_of(np.array([[0.5, 0.5]]), logits, np.array([[True, True]]), 0.1)
    assert largest_weights(programs) == pytest.approx(np.full((1, 2), (log(0.6 / 0.4) + 2) / 4))


def test_the_furthest_corners_are_those_of_the_text():
    programs, weight = some_programs(batch=3, count=7, classes=3, seed=5, eps=0.05)
    with np.errstate(all="ignore"):
        nodes = branched(programs, weight, largest_weights(programs), np.zeros(3), first_basis(programs), rounds=4)
        text, gains, corner = furthest_corners(nodes, weight, 2)
    assert text.tolist() == [0, 0, 1, 1, 2, 2]
    assert gains.shape == (6, 7)
    value = divergence(weight[text], attention_of(corner, 7)).reshape(3, 2)
    assert (value[:, 0] >= value[:, 1] - 1e-8).all()
