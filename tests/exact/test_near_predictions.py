import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.exact.near_predictions import NearPredictions, convex_part, furthest_change, largest_margins, moved, near

EPS = [0.01, 0.1, 0.4]


def some_predictions(n: int, classes: int, seed: int, eps: float) -> tuple[NearPredictions, np.random.Generator]:
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, classes)) * random.choice([0.3, 2.0, 6.0], size=(n, 1))
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return near(log_p, eps), random


def directions(random: np.random.Generator, around: NearPredictions) -> np.ndarray:
    """Directions in which the reach has a bound: classes that may vanish count for nothing less."""
    direction = random.normal(size=around.p.shape)
    direction = np.where(around.vanishing, np.abs(direction), direction)
    solid = ~around.vanishing
    # What is needed for a sum of 0 is taken from a class that may not vanish.
    direction[np.arange(len(direction)), solid.argmax(1)] -= direction.sum(1)
    return direction[solid.any(1) & (np.where(around.vanishing, direction, 0).min(1) >= 0)]


@pytest.mark.parametrize("eps", EPS)
@settings(max_examples=40)
@given(classes=st.sampled_from([2, 3, 5, 7]), seed=st.integers(0, 999))
def test_no_prediction_within_eps_reaches_further(eps, classes, seed):
    around, random = some_predictions(1, classes, seed, eps)
    direction = directions(random, around)
    if not len(direction):
        return
    change = furthest_change(around, direction)
    assert moved(around, change) <= eps + 1e-9
    reach = (direction * change).sum()
    drawn = random.dirichlet(np.full(classes, 0.3), size=4000)
    share = random.random((4000, 1)) ** 3
    drawn = around.p + share * (drawn - around.p)
    inside = drawn[(np.abs(drawn - around.p).sum(1) / 2 <= eps) & (drawn.min(1) > 0)]
    assert ((np.log(inside) - around.log_p) @ direction[0] <= reach + 1e-9).all()


def test_the_reach_is_attained_by_hand():
    # Two classes share the rise: 0.2 -> 0.25 each; the third falls by all of it.
    around = near(np.log([[0.2, 0.2, 0.6]]), 0.1)
    change = furthest_change(around, np.array([[1.0, 1.0, -2.0]]))
    assert np.exp(change + around.log_p) == pytest.approx(np.array([[0.25, 0.25, 0.5]]))
    # The first is far steeper and takes all.
    change = furthest_change(around, np.array([[2.0, 0.1, -2.1]]))
    assert np.exp(change + around.log_p) == pytest.approx(np.array([[0.3, 0.2, 0.5]]))


@settings(max_examples=40)
@given(classes=st.sampled_from([2, 3, 5, 7]), seed=st.integers(0, 999), eps=st.sampled_from(EPS))
def test_rises_are_level_and_sum_to_eps(classes, seed, eps):
    around, random = some_predictions(5, classes, seed, eps)
    slope = np.maximum(random.normal(size=(5, classes)), 0)
    slope[:, 0] += 0.1
    change = furthest_change(around, slope - np.eye(classes)[-1] * slope.sum(1, keepdims=True) * 9)
    for p, own, rise in zip(around.p, slope[:, :-1], np.expm1(change) * around.p, strict=True):
        # Where the last class may vanish, no fall has a bound and nothing changes.
        if not rise.any():
            continue
        low, high = 0.0, (1 + eps) / own.max()
        for _ in range(100):
            level = (low + high) / 2
            low, high = (level, high) if np.maximum(own * level - p[:-1], 0).sum() < eps else (low, level)
        assert rise[:-1] == pytest.approx(np.maximum(own * low - p[:-1], 0), abs=1e-9)


def test_a_class_that_may_vanish_is_not_asked_to_fall():
    around = near(np.log([[0.05, 0.35, 0.6]]), 0.1)
    assert around.vanishing.tolist() == [[True, False, False]]
    change = furthest_change(around, np.array([[-1.0, 1.0, 0.0]]))
    assert (change == 0).all()
    assert np.isinf(largest_margins(around)[0, 1, 0])


@pytest.mark.parametrize("eps", EPS)
@settings(max_examples=40)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_margins_keep_their_limits(eps, classes, seed):
    around, random = some_predictions(1, classes, seed, eps)
    drawn = around.p + random.random((2000, 1)) * (random.dirichlet(np.ones(classes), size=2000) - around.p)
    inside = drawn[np.abs(drawn - around.p).sum(1) / 2 <= eps]
    grown = np.log(inside) - around.log_p
    margins = grown[:, :, None] - grown[:, None]
    assert (
        margins[:, ~np.eye(classes, dtype=bool)] <= largest_margins(around)[0][~np.eye(classes, dtype=bool)] + 1e-9
    ).all()


@pytest.mark.parametrize("eps", EPS)
@settings(max_examples=40)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999))
def test_mixtures_of_a_convex_part_are_within_eps(eps, classes, seed):
    around, random = some_predictions(1, classes, seed, eps)
    # A fall that is within eps: of one class, or shared.
    fallen = random.dirichlet(np.ones(classes)) * np.minimum(eps, around.p[0]) * random.random()
    part = convex_part(around, -np.log1p(-fallen / around.p))
    direction = random.normal(size=(50, classes))
    direction -= direction.mean(1, keepdims=True)
    change = furthest_change(part.take(np.zeros(50, dtype=int)), direction)
    mixture = random.dirichlet(np.full(50, 0.1), size=200) @ change
    assert (moved(around.take(np.zeros(200, dtype=int)), mixture) <= eps + 1e-9).all()


def test_how_far_a_prediction_moves_by_hand():
    around = near(np.log([[0.5, 0.5]]), 0.1)
    assert moved(around, np.log([[0.75 / 0.5, 0.25 / 0.5]])) == pytest.approx(0.25)
    assert moved(around, np.array([[7.0, 7.0]])) == pytest.approx(0)
