"""Perturbed weights: against corners of the ball, active sets, or a linear program."""

from collections.abc import Callable
from itertools import product
from math import inf

import numpy as np
import torch
from brute_force_erasures import subsets
from random_cases import NORMS, ORDER, RADIUS, Cases, Outcome, difference, wrong
from scipy.optimize import linprog
from scipy.sparse import block_diag
from torch import Tensor

import heedful.exact as exact


def most_in_ball(direction: Tensor, norm: exact.Norm, zero_sum: bool) -> Tensor:
    """The largest sum of direction x change in the ball of radius 1, by its corners (for l2 by its length)."""
    count = direction.shape[-1]
    if norm == "l2":
        return (direction - direction.mean(-1, keepdim=True) if zero_sum else direction).norm(dim=-1)
    unit = torch.eye(count).double()
    if norm == "l1":
        corners = (unit[:, None] - unit).reshape(-1, count) / 2 if zero_sum else torch.cat([unit, -unit])
    else:
        corners = torch.tensor(list(product([-1.0, 0.0, 1.0], repeat=count))).double()
        zeros = (corners == 0).sum(-1)
        corners = corners[(corners.sum(-1) == 0) & (zeros <= 1)] if zero_sum else corners[zeros == 0]
    return (direction @ corners.T).amax(-1)


def programs(cost: Tensor, weight: Tensor, limit: tuple[Tensor, Tensor], norm: exact.Norm, on_simplex: bool) -> Tensor:
    """Minima of cost[:n] @ x + cost[n] x |x - weight| with limit[0] @ (x, size) <= limit[1], all in one program."""
    n, count = weight.shape
    sizes = np.eye(count) if norm == "l1" else np.ones((count, 1))
    rows = np.block([[np.eye(count), -sizes], [-np.eye(count), -sizes]])
    extra = sizes.shape[1]

    def spread(values: Tensor) -> np.ndarray:
        return torch.cat([values[:, :count], values[:, count:].expand(n, extra)], 1).numpy()

    matrix = block_diag([np.vstack([rows, row]) for row in spread(limit[0])], format="csr")
    right = torch.cat([weight, -weight, limit[1][:, None]], 1).flatten().numpy()
    total = block_diag([np.concatenate([np.ones(count), np.zeros(extra)])[None]] * n, format="csr")
    equal = (total, weight.sum(-1).numpy()) if on_simplex else (None, None)
    bounds = ([(0, 1)] * count + [(0, None)] * extra) * n
    result = linprog(spread(cost).ravel(), matrix, right, *equal, bounds, method="highs")
    return torch.from_numpy((result.x.reshape(n, -1) * spread(cost)).sum(1))


def furthest_in_box_l2(score: Tensor, weight: Tensor) -> Tensor:
    """The largest sum of score x change: each weight goes to 0, to 1, or in proportion to its score."""
    kinds = torch.tensor(list(product([-1, 0, 1], repeat=score.shape[1])))
    fixed = torch.where(kinds == -1, -weight.unsqueeze(1), (1 - weight).unsqueeze(1)).where(kinds != 0, 0.0)
    free = score.unsqueeze(1).where(kinds == 0, 0.0)
    budget = RADIUS**2 - fixed.square().sum(-1)
    step = budget.clamp_min(0).sqrt() / free.norm(dim=-1).clamp_min(1e-300)
    change = fixed + step.unsqueeze(-1) * free
    after = weight.unsqueeze(1) + change
    allowed = (budget >= -1e-15) & ((after >= -1e-12) & (after <= 1 + 1e-12)).all(-1)
    return (change * score.unsqueeze(1)).sum(-1).where(allowed, -inf).amax(-1)


def changes_on_simplex(score: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each set of weights that go to 0: the least change, the score's direction among the rest, and the rest."""
    free = subsets(score.shape[1])[1:]
    size = free.sum(-1, keepdim=True)
    gone = weight.unsqueeze(1).where(~free, 0.0)
    change = torch.where(free, gone.sum(-1, keepdim=True) / size, -gone)
    mean = (score.unsqueeze(1) * free).sum(-1, keepdim=True) / size
    apart = (score.unsqueeze(1) - mean).where(free, 0.0)
    return change, apart.where(apart.norm(dim=-1, keepdim=True) > 1e-9, 0.0), free


def furthest_on_simplex_l2(score: Tensor, weight: Tensor) -> Tensor:
    """The largest sum of score x change on the simplex."""
    change, apart, _ = changes_on_simplex(score, weight)
    budget = RADIUS**2 - change.square().sum(-1)
    step = budget.clamp_min(0).sqrt() / apart.norm(dim=-1).clamp_min(1e-300)
    change = change + step.unsqueeze(-1) * apart
    allowed = (budget >= -1e-15) & (weight.unsqueeze(1) + change >= -1e-12).all(-1)
    return (change * score.unsqueeze(1)).sum(-1).where(allowed, -inf).amax(-1)


def nearest_on_simplex(gap: Tensor, weight: Tensor, margin: Tensor, norm: exact.Norm) -> Tensor:
    """The distance to the nearest distribution that takes the margin away; each text must have such a distribution."""
    if norm != "l2":
        size = torch.cat([torch.zeros_like(gap), torch.ones_like(gap[:, :1])], 1)
        limit = torch.cat([gap, torch.zeros_like(gap[:, :1])], 1)
        return programs(size, weight, (limit, (gap * weight).sum(-1) - margin), norm, on_simplex=True)
    change, apart, _ = changes_on_simplex(gap, weight)
    missing = -margin.unsqueeze(-1) - (change * gap.unsqueeze(1)).sum(-1)
    length = apart.square().sum(-1)
    change = change + (missing / length).where(length > 0, 0.0).unsqueeze(-1) * apart
    allowed = (weight.unsqueeze(1) + change >= -1e-12).all(-1) & ((length > 0) | (missing.abs() < 1e-12))
    return change.norm(dim=-1).where(allowed, inf).amin(-1)


def check_certificates(cases: Cases) -> list[Outcome]:
    scores = cases.logits - cases.empty.unsqueeze(1)
    u = (cases.attention.unsqueeze(1) @ scores)[:, 0] + cases.empty
    decision = u.argmax(-1)
    radius = {(set_, norm): torch.full_like(u[:, 0], inf) for set_ in range(3) for norm in NORMS}
    unsure = torch.zeros_like(decision).bool()
    for k in range(u.shape[-1]):
        margin = u.gather(1, decision[:, None])[:, 0] - u[:, k]
        gap = scores.gather(2, decision[:, None, None].expand(-1, cases.count, 1))[..., 0] - scores[..., k]
        room = (gap * cases.attention).sum(-1) - gap.amin(-1) - margin
        rival = decision != k
        # A margin of rounding, or a rival that can draw level but not win: either answer will do.
        unsure |= rival & ((room.abs() < 1e-9) | ((margin > 0) & (margin < 1e-12)))
        reached = rival & (room > 1e-9)
        for norm in NORMS:
            for set_ in (0, 1):
                most = most_in_ball(gap, norm, zero_sum=set_ == 1)
                own = (margin / most).where(rival & (most > 1e-12), inf)
                radius[set_, norm] = torch.minimum(radius[set_, norm], own)
            if reached.any():
                near = nearest_on_simplex(gap[reached], cases.attention[reached], margin[reached], norm)
                radius[2, norm][reached] = torch.minimum(radius[2, norm][reached], near)
    tested = (exact.certified_radius, exact.certified_radius_zero_sum, exact.certified_radius_on_simplex)
    outcomes: list[Outcome] = []
    for set_, function in enumerate(tested):
        # On a scale from 0 to 1, where infinity is 1.
        apart = [
            (1 / (1 + function(*cases.full, norm)) - 1 / (1 + radius[set_, norm])).abs().where(~unsure, 0.0)
            for norm in NORMS
        ]
        outcomes.append((function.__name__, torch.stack(apart).amax(0), 1e-6))
    return outcomes


def furthest(score: Tensor, weight: Tensor, function: Callable[..., exact.WorstCase], norm: exact.Norm) -> Tensor:
    """The largest sum of score x change that the set of perturbations allows."""
    if function in (exact.worst_case_free, exact.worst_case_zero_sum):
        return RADIUS * most_in_ball(score, norm, zero_sum=function is exact.worst_case_zero_sum)
    on_simplex = function is exact.worst_case_on_simplex
    if norm == "l2":
        return furthest_on_simplex_l2(score, weight) if on_simplex else furthest_in_box_l2(score, weight)
    none, size = torch.zeros_like(score), torch.ones_like(score[:, :1])
    limit = torch.cat([none, size], 1), torch.full_like(score[:, 0], RADIUS)
    least = programs(torch.cat([-score, 0 * size], 1), weight, limit, norm, on_simplex)
    return -least - (score * weight).sum(-1)


def check_worst_cases(cases: Cases) -> list[Outcome]:
    empty = cases.empty[:, 1] - cases.empty[:, 0]
    score = cases.logits[..., 1] - cases.logits[..., 0] - empty.unsqueeze(-1)
    u = (cases.attention * score).sum(-1) + empty
    outcomes: list[Outcome] = []
    for function in (
        exact.worst_case_free,
        exact.worst_case_zero_sum,
        exact.worst_case_in_box,
        exact.worst_case_on_simplex,
    ):
        for norm in NORMS:
            worst = function(*cases.full, RADIUS, norm)
            high = u + furthest(score, cases.attention, function, norm)
            low = u - furthest(-score, cases.attention, function, norm)

            def loss(reached: Tensor) -> Tensor:
                return torch.logaddexp(reached, torch.zeros_like(reached)) - u.sigmoid() * reached

            change = worst.perturbation[:, 1:-1]
            most, own = torch.maximum(loss(low), loss(high)), loss(u + (change * score).sum(-1))
            keeps = change.norm(ORDER[norm], dim=-1) <= RADIUS * (1 + 1e-9)
            numbers = torch.stack([worst.low, worst.high, worst.bce, worst.kl, own], 1)
            reference = torch.stack([low, high, most, most - loss(u), most], 1)
            outcomes.append((function.__name__, difference(numbers, reference) + wrong(keeps), 1e-6))
    return outcomes
