import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from torch import Tensor
from torch.testing import assert_close

from heedful.exact.ball import (
    project_on_simplex,
    steepest_free,
    steepest_in_box,
    steepest_on_simplex,
    steepest_zero_sum,
)
from support.exact_strategies import any_rows, padded

NORMS = ["l1", "l2", "linf"]
SETS = ["free", "zero_sum", "box", "simplex"]
RADII = st.sampled_from([0.0, 0.05, 0.4, 3.0])
ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


def steepest(kind: str, direction: Tensor, attention: Tensor, items: Tensor, radius: float, norm) -> Tensor:
    if kind == "free":
        return steepest_free(direction, items, radius, norm)
    if kind == "zero_sum":
        return steepest_zero_sum(direction, items, radius, norm)
    by_set = {"box": steepest_in_box, "simplex": steepest_on_simplex}[kind]
    return by_set(direction, attention, items, radius, norm)


def bounds_of(kind: str, weight: np.ndarray) -> list[tuple[float | None, float | None]]:
    if kind in ("free", "zero_sum"):
        return [(None, None)] * len(weight)
    return [(-a, 1 - a if kind == "box" else None) for a in weight]


def most_by_program(kind: str, direction: np.ndarray, weight: np.ndarray, radius: float, norm: str) -> float:
    """The largest sum, by a linear program over perturbation and, beside it, the size of each entry."""
    n, unit = len(weight), np.eye(len(weight))
    rows = [np.hstack([unit, -unit]), np.hstack([-unit, -unit])]
    right = np.zeros(2 * n)
    sizes = (0, radius) if norm == "linf" else (0, None)
    if norm == "l1":
        rows, right = [*rows, np.append(np.zeros(n), np.ones(n))[None]], np.append(right, radius)
    keeps_sum = kind in ("zero_sum", "simplex")
    total = np.append(np.ones(n), np.zeros(n))[None] if keeps_sum else None
    bounds = [*bounds_of(kind, weight), *[sizes] * n]
    cost = np.append(-direction, np.zeros(n))
    return -linprog(cost, np.vstack(rows), right, total, [0.0] if keeps_sum else None, bounds).fun


def most_by_search(kind: str, direction: np.ndarray, weight: np.ndarray, radius: float) -> float:
    """The largest sum in a round ball, by a general solver."""
    constraints = [{"type": "ineq", "fun": lambda x: radius**2 - x @ x, "jac": lambda x: -2 * x}]
    if kind in ("zero_sum", "simplex"):
        constraints.append({"type": "eq", "fun": lambda x: x.sum(), "jac": np.ones_like})
    start, bounds = np.zeros(len(weight)), bounds_of(kind, weight)
    scale = max(np.abs(direction).max(), 1e-9)
    solution = minimize(
        lambda x: -(direction / scale) @ x,
        start,
        jac=lambda x: -direction / scale,
        bounds=bounds,
        constraints=constraints,
    )
    return -solution.fun * scale


@settings(max_examples=120)
@given(rows=any_rows(max_items=6), radius=RADII, kind=st.sampled_from(SETS), norm=st.sampled_from(NORMS))
def test_it_is_in_its_set(kind, norm, rows, radius):
    direction = rows.item_logits[..., 1] - rows.item_logits[..., 0]
    perturbation = steepest(kind, direction, rows.attention, rows.items, radius, norm)
    assert (perturbation[~rows.items] == 0).all()
    assert (torch.linalg.vector_norm(perturbation, ORDERS[norm], dim=-1) <= radius * (1 + 1e-12) + 1e-15).all()
    if kind in ("zero_sum", "simplex"):
        assert_close(perturbation.sum(-1), torch.zeros(len(perturbation)).double(), atol=1e-12, rtol=0)
    if kind in ("box", "simplex"):
        assert (rows.attention + perturbation >= -1e-12).all()
        assert (rows.attention + perturbation <= 1 + 1e-12).all()


@settings(max_examples=100)
@given(rows=any_rows(max_items=6), radius=RADII, kind=st.sampled_from(SETS), norm=st.sampled_from(["l1", "linf"]))
def test_it_adds_as_much_as_a_linear_program_finds(kind, norm, rows, radius):
    direction = rows.item_logits[..., 1] - rows.item_logits[..., 0]
    perturbation = steepest(kind, direction, rows.attention, rows.items, radius, norm)
    for row, real in enumerate(rows.items):
        ours = float(direction[row, real] @ perturbation[row, real])
        program = most_by_program(kind, direction[row, real].numpy(), rows.attention[row, real].numpy(), radius, norm)
        assert ours == pytest.approx(program, abs=1e-7)


@settings(max_examples=50)
@given(rows=any_rows(max_items=5, min_items=2), radius=st.sampled_from([0.05, 0.4, 3.0]), kind=st.sampled_from(SETS))
def test_in_a_round_ball_it_adds_as_much_as_a_general_solver_finds(kind, rows, radius):
    direction = rows.item_logits[..., 1] - rows.item_logits[..., 0]
    perturbation = steepest(kind, direction, rows.attention, rows.items, radius, "l2")
    for row, real in enumerate(rows.items):
        ours = float(direction[row, real] @ perturbation[row, real])
        searched = most_by_search(kind, direction[row, real].numpy(), rows.attention[row, real].numpy(), radius)
        scale = max(1.0, float(direction[row, real].abs().max()))
        # The solver meets its own constraints to 1e-6 or so, and may stop short of the optimum by more.
        assert searched - 1e-5 * scale <= ours
        assert ours <= searched + 5e-3 * scale


@settings(max_examples=25)
@given(any_rows(max_items=5, min_items=2), st.sampled_from([0.05, 0.4, 3.0]))
def test_on_the_simplex_in_a_round_ball_the_conditions_of_the_optimum_hold(rows, radius):
    # Where weight is left, moved = step x (direction - level): two such items give the step, and no third disagrees.
    direction = rows.item_logits[..., 1] - rows.item_logits[..., 0]
    perturbation = steepest_on_simplex(direction, rows.attention, rows.items, radius, "l2")
    for row, real in enumerate(rows.items):
        moved, slope, weight = perturbation[row, real], direction[row, real], rows.attention[row, real]
        if torch.linalg.vector_norm(moved) < radius * (1 - 1e-9):
            assert_close(slope @ (weight + moved), slope.max(), atol=1e-9, rtol=0)
            continue
        inside = weight + moved > 1e-9
        level, step = torch.linalg.lstsq(
            torch.stack([torch.ones_like(slope), slope], -1)[inside], moved[inside].unsqueeze(-1)
        ).solution.flatten()
        assert_close(moved[inside], level + step * slope[inside], atol=1e-7, rtol=1e-6)
        assert (level + step * slope[~inside] <= -weight[~inside] + 1e-7).all()


@given(any_rows(max_items=6))
def test_at_radius_1_it_adds_the_dual_norm(rows):
    direction = (rows.item_logits[..., 1] - rows.item_logits[..., 0]).where(rows.items, 0.0)
    for row, real in enumerate(rows.items):
        slope = direction[row, real].numpy()
        free = {"l1": np.abs(slope).max(), "l2": np.linalg.norm(slope), "linf": np.abs(slope).sum()}
        centred, middled = slope - slope.mean(), slope - np.median(slope)
        summed = {"l1": np.ptp(slope) / 2, "l2": np.linalg.norm(centred), "linf": np.abs(middled).sum()}
        for norm in NORMS:
            for kind, dual in (("free", free), ("zero_sum", summed)):
                perturbation = steepest(kind, direction, rows.attention, rows.items, 1.0, norm)
                assert float(direction[row] @ perturbation[row]) == pytest.approx(dual[norm], abs=1e-9)


@given(any_rows(max_items=6), st.integers(0, 99))
def test_the_projection_is_nearer_than_any_other_point_of_the_simplex(rows, seed):
    generator = torch.Generator().manual_seed(seed)
    point = torch.randn(rows.items.shape, generator=generator, dtype=torch.float64)
    projected = project_on_simplex(point, rows.items, torch.ones(len(point), 1).double())
    assert_close(projected.sum(-1), torch.ones(len(point)).double())
    assert (projected >= 0).all()
    for row, real in enumerate(rows.items):
        others = torch.rand(500, int(real.sum()), generator=generator, dtype=torch.float64).log().neg()
        others = others / others.sum(-1, keepdim=True)
        nearest = torch.linalg.vector_norm(others - point[row, real], dim=-1).min()
        assert torch.linalg.vector_norm(projected[row, real] - point[row, real]) <= nearest + 1e-12


@settings(max_examples=80)
@given(rows=any_rows(), kind=st.sampled_from(SETS), norm=st.sampled_from(NORMS))
def test_padding_changes_nothing(kind, norm, rows):
    wide = padded(rows)
    perturbations = [
        steepest(kind, batch.item_logits[..., 1] - batch.item_logits[..., 0], batch.attention, batch.items, 0.3, norm)
        for batch in (rows, wide)
    ]
    assert_close(perturbations[1][:, : rows.items.shape[1]], perturbations[0], atol=1e-9, rtol=0)


def test_a_negative_radius_is_refused():
    for radius in (-0.1, float("nan")):
        with pytest.raises(ValueError, match=f"radius must be 0 or more; it was {radius}. It bounds how far"):
            steepest_free(torch.ones(1, 2), torch.ones(1, 2).bool(), radius, "l2")


def test_a_projection_stays_on_its_device():
    point = torch.empty(2, 3, device="meta")
    projected = project_on_simplex(point, torch.ones_like(point, dtype=torch.bool), torch.ones(2, 1, device="meta"))
    assert projected.device.type == "meta"
