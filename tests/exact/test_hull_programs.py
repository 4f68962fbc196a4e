import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import heedful.exact.hull_programs as hull_programs
from heedful.exact.hull_programs import (
    BASE,
    NEAR,
    Gains,
    NearPredictions,
    Programs,
    attention_of,
    convex_part,
    first_basis,
    furthest_change,
    largest_margins,
    maximise,
    moved,
    near,
    near_column,
    proven_bound,
)
from support.hulls import attentions, pulled_in, some_programs

SIZES = [(2, 3), (5, 4), (7, 3), (11, 5)]


def reference(programs: Programs, gains: np.ndarray, text: int, number: int = 3000) -> float:
    """The largest sum by another solver, with many near predictions as columns: those furthest in random directions."""
    random, near = np.random.default_rng(0), programs.near.take(np.full(number, text))
    direction = random.normal(size=near.p.shape) * random.choice([0.1, 1.0], size=near.p.shape)
    direction = np.where(near.vanishing, np.abs(direction), direction)
    direction[:, -1] -= direction.sum(1)
    columns = near_column(furthest_change(near, direction))
    endless = near_column(-np.eye(near.p.shape[1]))[near.vanishing[0]]
    endless[:, -1] = 0
    every = np.concatenate([programs.columns[text], columns, endless])
    cost = np.concatenate([-gains[text], np.zeros(len(columns) + len(endless))])
    right = np.zeros(every.shape[1])
    right[-2:] = 1
    return -linprog(cost, A_eq=every.T, b_eq=right).fun


@pytest.mark.parametrize(("count", "classes"), SIZES)
def test_it_agrees_with_another_solver(count, classes):
    for eps in (0.01, 0.1):
        programs, _ = some_programs(batch=5, count=count, classes=classes, seed=count, eps=eps)
        gains = np.random.default_rng(1).normal(size=(5, count))
        basis = maximise(programs, Gains(gains), first_basis(programs))
        value, bound = (attention_of(basis, count) * gains).sum(1), proven_bound(programs, Gains(gains), basis).bound
        assert bound == pytest.approx(value, abs=1e-5)
        other = [reference(programs, gains, text) for text in range(5)]
        # The other has only some of the near predictions.
        assert (value >= np.array(other) - 1e-6).all()
        assert value == pytest.approx(other, abs=2e-3)


@settings(max_examples=30)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.1, 0.4]))
def test_no_attention_within_eps_is_above_the_bound_from_any_corner(classes, seed, eps):
    programs, weight = some_programs(batch=7, count=6, classes=classes, seed=seed, eps=eps)
    gains = Gains(np.random.default_rng(seed).normal(size=(7, 6)))
    first = first_basis(programs)
    proofs = [proven_bound(programs, gains, basis) for basis in (first, maximise(programs, gains, first))]
    for draw in range(20):
        inside = pulled_in(programs, weight, attentions(weight, seed=draw))
        for bound, below in proofs:
            assert ((inside * gains.item).sum(1) <= bound - (inside * below).sum(1) + 1e-9).all()


@settings(max_examples=30)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from([0.01, 0.1, 0.4]))
def test_the_first_corner_is_the_base_and_every_corner_is_one(classes, seed, eps):
    programs, _ = some_programs(batch=3, count=5, classes=classes, seed=seed, eps=eps)
    basis = first_basis(programs)
    assert (basis.weight > 0).all()
    assert basis.weight[:, 0] == pytest.approx(1) and (basis.kind[:, 0] == BASE).all()
    basis = maximise(programs, Gains(np.random.default_rng(seed).normal(size=(3, 5))), basis)
    right = np.zeros(classes + 1)
    right[-2:] = 1
    assert (basis.weight[:, None] @ basis.columns)[:, 0] == pytest.approx(np.tile(right, (3, 1)), abs=1e-7)
    assert (basis.weight >= 0).all()
    assert (basis.kind != BASE).all()


def test_items_that_are_not_usable_get_no_weight():
    programs, _ = some_programs(batch=3, count=7, classes=3, seed=0, eps=0.1)
    programs = programs._replace(usable=np.arange(7)[None] % 3 != np.arange(3)[:, None])
    gains = np.where(programs.usable, 0.0, 9.0)
    basis = maximise(programs, Gains(gains), first_basis(programs))
    assert (attention_of(basis, 7)[~programs.usable] == 0).all()


def test_each_program_is_solved_as_if_alone_and_no_argument_is_changed():
    programs, _ = some_programs(batch=9, count=11, classes=4, seed=3, eps=0.05)
    gains, first = np.random.default_rng(0).normal(size=(9, 11)), first_basis(programs)
    before = [part.copy() for part in (*first, programs.columns, gains)]
    together = maximise(programs, Gains(gains), first)
    for part, copy in zip((*first, programs.columns, gains), before, strict=True):
        assert np.array_equal(part, copy)
    for text in range(9):
        row = np.array([text])
        alone = maximise(programs.take(row), Gains(gains[row]), first.take(row))
        assert np.array_equal(alone.kind[0], together.kind[text])
        assert alone.weight[0] == pytest.approx(together.weight[text], abs=1e-12)


def test_a_program_that_takes_too_long_has_a_bound_all_the_same(monkeypatch):
    programs, weight = some_programs(batch=5, count=11, classes=5, seed=2, eps=0.05)
    gains = Gains(np.random.default_rng(0).normal(size=(5, 11)))
    solved = proven_bound(programs, gains, maximise(programs, gains, first_basis(programs))).bound
    monkeypatch.setattr(hull_programs, "STEPS", 3)
    basis = maximise(programs, gains, first_basis(programs))
    assert (basis.kind == NEAR).any()
    assert (proven_bound(programs, gains, basis).bound >= solved - 1e-5).all()
    assert (attention_of(basis, 11) >= 0).all() and (attention_of(basis, 11).sum(1) <= 1 + 1e-9).all()


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


@settings(max_examples=80)
@given(classes=st.sampled_from([2, 3, 5, 7]), seed=st.integers(0, 999), eps=st.sampled_from(EPS))
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


@settings(max_examples=80)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from(EPS))
def test_margins_keep_their_limits(eps, classes, seed):
    around, random = some_predictions(1, classes, seed, eps)
    drawn = around.p + random.random((2000, 1)) * (random.dirichlet(np.ones(classes), size=2000) - around.p)
    inside = drawn[np.abs(drawn - around.p).sum(1) / 2 <= eps]
    grown = np.log(inside) - around.log_p
    margins = grown[:, :, None] - grown[:, None]
    assert (
        margins[:, ~np.eye(classes, dtype=bool)] <= largest_margins(around)[0][~np.eye(classes, dtype=bool)] + 1e-9
    ).all()


@settings(max_examples=80)
@given(classes=st.sampled_from([2, 3, 5]), seed=st.integers(0, 999), eps=st.sampled_from(EPS))
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
