import numpy as np
import pytest
from scipy.optimize import linprog

import heedful.exact.simplex_method as simplex_method
from heedful.exact.simplex_method import Programs, solve, table_size


def some_programs(n: int, count: int, classes: int, eps: float, seed: int) -> Programs:
    random = np.random.default_rng(seed)
    slope = random.normal(size=(n, count, classes))
    # The room of an attention, so that the program has a solution for any eps.
    room = np.einsum("ni,nic->nc", random.dirichlet(np.ones(count), n), slope)
    return Programs(random.normal(size=(n, count)), slope, room, eps)


def excess(programs: Programs, x: np.ndarray) -> np.ndarray:
    return (np.einsum("ni,nic->nc", x, programs.slope) - programs.room).clip(0).sum(1)


def reference(programs: Programs, number: int) -> float:
    """The largest objective, by another solver."""
    count, classes = programs.slope.shape[1:]
    rows = np.block([[programs.slope[number].T, -np.eye(classes)], [np.zeros(count), np.ones(classes)]])
    cost = np.concatenate([-programs.objective[number], np.zeros(classes)])
    weights = np.concatenate([np.ones(count), np.zeros(classes)])[None]
    result = linprog(cost, rows, [*programs.room[number], programs.eps], weights, [1.0])
    return -result.fun


@pytest.mark.parametrize(("count", "classes"), [(2, 3), (7, 2), (5, 5), (11, 3)])
@pytest.mark.parametrize("eps", [0.001, 0.3])
def test_it_agrees_with_another_solver_from_any_first_item(count, classes, eps):
    programs = some_programs(n=13, count=count, classes=classes, eps=eps, seed=count)
    for first in range(count):
        x = solve(programs, np.full(13, first))
        assert (x >= 0).all()
        assert x.sum(1) == pytest.approx(1)
        assert (excess(programs, x) <= eps + 1e-9).all()
        best = [reference(programs, number) for number in range(13)]
        assert (x * programs.objective).sum(1) == pytest.approx(best, abs=1e-9)


def test_equal_items_are_no_trouble():
    programs = some_programs(n=3, count=1, classes=2, eps=0.1, seed=0)
    objective, slope = (np.repeat(part, 5, 1) for part in programs[:2])
    alike = Programs(objective, slope, programs.room, 0.1)
    x = solve(alike, np.array([0, 2, 4]))
    assert (x * alike.objective).sum(1) == pytest.approx(programs.objective[:, 0])


def test_where_eps_cannot_be_kept_it_is_exceeded_least():
    # Every item exceeds the room, the second by least.
    slope = np.array([[[4.0], [2.0], [3.0]]])
    x = solve(Programs(np.array([[9.0, 0.0, 5.0]]), slope, np.zeros((1, 1)), 0.5), np.array([0]))
    assert x.tolist() == [[0, 1, 0]]


def test_it_changes_no_argument_and_solves_each_program_as_if_alone():
    programs = some_programs(n=5, count=7, classes=3, eps=0.1, seed=1)
    before = [np.copy(part) for part in programs[:3]]
    together = solve(programs, np.zeros(5, dtype=int))
    assert all(np.array_equal(part, copy) for part, copy in zip(programs[:3], before, strict=True))
    for number in range(5):
        objective, slope, room = (part[number : number + 1] for part in before)
        own = Programs(objective, slope, room, 0.1)
        assert solve(own, np.zeros(1, dtype=int))[0] == pytest.approx(together[number])


def test_a_program_that_takes_too_long_is_left_at_a_distribution(monkeypatch):
    monkeypatch.setattr(simplex_method, "STEPS", 1)
    x = solve(some_programs(n=5, count=11, classes=3, eps=0.1, seed=2), np.zeros(5, dtype=int))
    assert (x >= 0).all()
    assert x.sum(1) == pytest.approx(1)


def test_the_size_of_a_table():
    table, _ = simplex_method._first_table(some_programs(1, 7, 3, 0.1, 0), np.array([0]))
    assert table[0].size == table_size(7, 3)
