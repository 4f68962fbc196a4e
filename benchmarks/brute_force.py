"""Every function of heedful.exact against brute force or an independent solver, on new random cases.

Texts of up to five items, so that all subsets, permutations, pairs and corners can be listed. A third of them have
weights in sixteenths and logits in halves, so that ties are exact; a third have equal items; erasures also get very
sharp weights. What is returned as the largest or least must not be beaten by anything tried here, and the attention
returned with it must keep its limits and attain it. Minutes for 10,000 cases; exit code 1 if a case fails.

    OMP_NUM_THREADS=1 python benchmarks/brute_force.py [--cases 10000] [--seed 0] [--only first_flip,frozen_optimum]
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations, product
from math import inf, log, nan

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from scipy.sparse import block_diag
from torch import Tensor
from torch.nn.functional import pad

import heedful.exact as exact

BATCH, LONGEST, EPS, RADIUS = 500, 5, 0.05, 0.15
NORMS: tuple[exact.Norm, ...] = ("l1", "l2", "linf")
ORDER = {"l1": 1, "l2": 2, "linf": inf}
# The lower end of the bracket is a search: what random attentions may beat it by.
LOWER_END = 0.02


@dataclass(frozen=True)
class Cases:
    """Texts of the same length, without padding."""

    attention: Tensor
    logits: Tensor
    empty: Tensor
    log_attention: Tensor
    generator: torch.Generator

    @property
    def count(self) -> int:
        """Items in each text."""
        return self.attention.shape[1]

    @property
    def items(self) -> Tensor:
        """With a place without an item on either side, as in all that is passed to the functions under test."""
        return pad(torch.ones_like(self.attention).bool(), (1, 1))

    @property
    def linear(self) -> tuple[Tensor, Tensor, Tensor]:
        """Attention, item logits, items."""
        return pad(self.attention, (1, 1)), pad(self.logits, (0, 0, 1, 1), value=nan), self.items

    @property
    def full(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Attention, item logits, empty logits, items."""
        attention, logits, items = self.linear
        return attention, logits, self.empty, items

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers."""
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)


Outcome = tuple[str, Tensor, float]
"""A label, the deviation of each case, and how large it may be."""


def draw_cases(size: int, count: int, classes: int, generator: torch.Generator) -> Cases:
    """Random texts: exact ties, no ties, and equal items, in turn."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def choice(values: list[float], *shape: int) -> Tensor:
        places = torch.randint(len(values), shape, generator=generator)
        return torch.tensor(values, dtype=torch.float64)[places]

    smooth = (choice([0.0, 1.0, 4.0], size, 1) * normal(size, count)).softmax(-1)
    sixteenths = torch.nn.functional.one_hot(torch.randint(count, (size, 16), generator=generator), count).double()
    halves = [i / 2 for i in range(-6, 7)]
    free = choice([0.5, 2.0, 6.0], size, 1, 1) * normal(size, count, classes)
    copied = torch.rand(size, count, 1, generator=generator) < 0.6
    kind = torch.arange(size)[:, None] % 3
    attention = torch.where(kind == 0, sixteenths.mean(1), smooth)
    equal = torch.where(copied, free[:, :1], free)
    logits = torch.where(
        kind[..., None] == 0, choice(halves, size, count, classes), torch.where(kind[..., None] == 1, free, equal)
    )
    empty = torch.where(kind == 0, choice(halves, size, classes), normal(size, classes))
    sharp = torch.where(
        kind == 1,
        choice([1.0, 30.0, 3000.0], size, 1) * normal(size, count),
        choice([0.0, 0.0, -1.0, -40.0, -800.0, -5000.0, -inf], size, count),
    )
    log_attention = torch.where(torch.rand(size, 1, generator=generator) < 0.5, attention.log(), sharp)
    return Cases(attention, logits, empty, log_attention, generator)


def difference(value: Tensor, reference: Tensor) -> Tensor:
    """The largest absolute difference of each case; undefined equals undefined, and infinite equals infinite."""
    apart = (value - reference).abs().nan_to_num(inf)
    same = (value.isnan() & reference.isnan()) | (value == reference)
    return apart.where(~same, 0.0).flatten(1).amax(-1) if value.ndim > 1 else apart.where(~same, 0.0)


def wrong(statement: Tensor) -> Tensor:
    """Infinite where a statement is false."""
    return torch.where(statement, 0.0, inf).double()


def js(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon divergence, by its definition."""
    m = (p + q) / 2
    return (torch.xlogy(p, p) + torch.xlogy(q, q) - 2 * torch.xlogy(m, m)).sum(-1) / 2


def moved(cases: Cases, points: Tensor) -> Tensor:
    """How far attentions [n point item] move the prediction."""
    base = (cases.attention.unsqueeze(1) @ cases.logits).softmax(-1)
    return ((points @ cases.logits).softmax(-1) - base).abs().sum(-1) / 2


def trials(cases: Cases, number: int, shares: int) -> Tensor:
    """Attentions to try: pairs of items on a grid of shares, and random attentions from sparse to uniform."""
    unit = torch.eye(cases.count).double()
    share = torch.linspace(0, 1, shares).double()[:, None, None, None]
    first, second = torch.triu_indices(cases.count, cases.count, 0)
    pairs = (share * unit[first] + (1 - share) * unit[second]).reshape(-1, cases.count)
    keys = torch.rand(len(cases.attention), number, cases.count, generator=cases.generator, dtype=torch.float64)
    drawn = keys.log().neg() ** torch.tensor([1.0, 6.0]).double().repeat(number // 2)[:, None]
    drawn = drawn / drawn.sum(-1, keepdim=True)
    return torch.cat([pairs.expand(len(keys), *pairs.shape), drawn], 1)


def pulled_in(cases: Cases, points: Tensor) -> Tensor:
    """From the base towards each point, as far as eps allows."""
    base = cases.attention.unsqueeze(1)
    inside = (moved(cases, points) <= EPS).double()
    outside = torch.ones_like(inside)
    for _ in range(30):
        middle = (inside + outside) / 2
        within = moved(cases, base + middle.unsqueeze(-1) * (points - base)) <= EPS
        inside, outside = middle.where(within, inside), outside.where(within, middle)
    return base + inside.unsqueeze(-1) * (points - base)


# Erasures: all subsets of what is left.


def subsets(count: int) -> Tensor:
    """Row s is True on the bits of s."""
    return (torch.arange(2**count)[:, None] >> torch.arange(count)) % 2 == 1


def logits_left(cases: Cases) -> Tensor:
    """Logits of every subset; NaN where it has no weight."""
    scores = cases.log_attention.unsqueeze(1).where(subsets(cases.count), -inf)
    return scores.softmax(-1) @ cases.logits


def decisions_left(cases: Cases) -> Tensor:
    """The decision of every subset, the first of equal classes; -1 where it has no weight."""
    left = subsets(cases.count) & (cases.log_attention > -inf).unsqueeze(1)
    best = torch.zeros(left.shape[:2], dtype=torch.long)
    for k in range(1, cases.logits.shape[-1]):
        own = cases.logits.transpose(1, 2).gather(1, best.unsqueeze(-1).expand(-1, -1, cases.count))
        lead = (cases.logits[..., k].unsqueeze(1) - own).where(left, 0.0)
        # Relative to the heaviest item that speaks for either, or nothing of a very sharp attention would be left.
        scores = cases.log_attention.unsqueeze(1).where(lead != 0, -inf)
        parts = (scores - scores.amax(-1, keepdim=True)).exp().nan_to_num(0.0) * lead
        best = torch.where(parts.sum(-1) > 1e-10 * parts.abs().sum(-1), k, best)
    return best.where(left.any(-1), -1)


def a_ranking(cases: Cases) -> tuple[Tensor, Tensor, Tensor]:
    """A random ranking, the same for padded texts, and the number of the subset that each prefix leaves."""
    ranking = cases.normal(*cases.attention.shape).argsort(-1)
    outside = torch.tensor([0, cases.count + 1]).expand(len(ranking), 2)
    return ranking, torch.cat([ranking + 1, outside], 1), 2**cases.count - 1 - (2**ranking).cumsum(-1)


def padded_scores(cases: Cases) -> Tensor:
    return pad(cases.log_attention, (1, 1), value=-inf)


def check_prefix_logits(cases: Cases) -> list[Outcome]:
    _, ranking, left = a_ranking(cases)
    result = exact.prefix_logits(padded_scores(cases), cases.linear[1], ranking)[:, : cases.count]
    reference = logits_left(cases).gather(1, left.unsqueeze(-1).expand_as(result))
    return [("prefix_logits", difference(result, reference), 1e-9)]


def check_single_erasure_logits(cases: Cases) -> list[Outcome]:
    result = exact.single_erasure_logits(padded_scores(cases), cases.linear[1])[:, 1:-1]
    reference = logits_left(cases)[:, 2**cases.count - 1 - 2 ** torch.arange(cases.count)]
    return [("single_erasure_logits", difference(result, reference), 1e-9)]


def check_first_flip(cases: Cases) -> list[Outcome]:
    ranking, padded, left = a_ranking(cases)
    result = exact.first_flip(padded_scores(cases), cases.linear[1], padded, cases.items)
    decisions = decisions_left(cases)
    reached = decisions.gather(1, left)
    flips = (reached != decisions[:, -1:]) & (reached >= 0)
    place = flips.int().argmax(-1)
    count = (place + 1.0).double().where(flips.any(-1), nan)
    gone = cases.log_attention.softmax(-1).gather(1, ranking).cumsum(-1).gather(1, place[:, None])[:, 0]
    reference = torch.stack([count, count / cases.count, gone.where(flips.any(-1), nan)], 1)
    return [("first_flip", difference(torch.stack([result.count, result.fraction, result.mass], 1), reference), 1e-9)]


def check_minimal_flip_set(cases: Cases) -> list[Outcome]:
    result = exact.minimal_flip_set(padded_scores(cases), cases.linear[1], cases.items)
    decisions = decisions_left(cases)
    flips = (decisions != decisions[:, -1:]) & (decisions >= 0)
    sizes = (cases.count - subsets(cases.count).sum(-1)).double().where(flips, inf).amin(-1)
    size = sizes.where(sizes < inf, nan)
    erased = result.erased[:, 1:-1]
    left = (2 ** torch.arange(cases.count) * ~erased).sum(-1)
    attains = flips.gather(1, left[:, None])[:, 0] == size.isfinite()
    mass = cases.log_attention.softmax(-1).where(erased, 0.0).sum(-1).where(size.isfinite(), nan)
    attains &= erased.sum(-1) == size.nan_to_num(0.0)
    both = difference(torch.stack([result.size, result.mass], 1), torch.stack([size, mass], 1))
    return [("minimal_flip_set", both + wrong(attains), 1e-9)]


def check_log_weights(cases: Cases) -> list[Outcome]:
    result = exact.log_weights(cases.attention)
    return [("log_weights", difference(result.exp(), cases.attention), 1e-15)]


def check_expectation_over_others(cases: Cases) -> list[Outcome]:
    chosen = torch.randint(cases.count, (len(cases.attention),), generator=cases.generator)
    result = exact.expectation_over_others(pad(cases.attention, (1, 1), value=7.0), chosen + 1, cases.items)
    own = cases.attention.gather(1, chosen[:, None])[:, 0]
    reference = (cases.attention.sum(-1) - own) / (cases.count - 1) if cases.count > 1 else own * nan
    return [("expectation_over_others", difference(result, reference), 1e-12)]


# Permutations: all of them.


def all_permutations(cases: Cases) -> tuple[Tensor, Tensor]:
    """Attention under every permutation, and its logits."""
    orders = torch.tensor(list(permutations(range(cases.count))))
    attention = cases.attention[:, orders]
    return attention, attention @ cases.logits


def check_permutation_moments(cases: Cases) -> list[Outcome]:
    result, (_, logits) = exact.permutation_moments(*cases.linear), all_permutations(cases)
    apart = logits - logits.mean(1, keepdim=True)
    covariance = torch.einsum("npk,npl->nkl", apart, apart) / logits.shape[1]
    worst = torch.maximum(difference(result.mean, logits.mean(1)), difference(result.covariance, covariance))
    return [("permutation_moments", worst, 1e-9)]


def check_expected_permuted_js(cases: Cases) -> list[Outcome]:
    result, (attention, _) = exact.expected_permuted_js(*cases.linear[::2]), all_permutations(cases)
    return [("expected_permuted_js", difference(result, js(cases.attention[:, None], attention).mean(1)), 1e-12)]


def check_worst_permutation(cases: Cases) -> list[Outcome]:
    result, (attention, _) = exact.worst_permutation(*cases.linear), all_permutations(cases)
    own, most = result.attention[:, 1:-1], moved(cases, attention).amax(-1)
    attained = difference(moved(cases, own[:, None])[:, 0], result.tvd)
    attained = attained + difference(own.sort(-1).values, cases.attention.sort(-1).values)
    beaten = most - result.tvd if result.solver == "exact" else (result.tvd - most).clamp_min(0)
    return [(f"worst_permutation ({result.solver})", torch.maximum(attained, beaten), 1e-12)]


def check_some_permutation_flips(cases: Cases) -> list[Outcome]:
    result, (_, logits) = exact.some_permutation_flips(*cases.linear), all_permutations(cases)
    top = logits.amax(-1, keepdim=True)
    decision = (logits >= top - 1e-12 * cases.logits.abs().amax((1, 2))[:, None, None]).int().argmax(-1)
    return [("some_permutation_flips", wrong(result == (decision != decision[:, :1]).any(-1)), 0.0)]


def check_drawn_permutations(cases: Cases) -> list[Outcome]:
    """Valid permutations; all equally likely, within six standard deviations; and their logits."""
    draws, count, (attention, logits, items) = 120, cases.count, cases.linear
    orders = exact.random_orders(items, cases.generator, draws)
    drawn = exact.draw_permutations(items, cases.generator, draws)
    valid_orders = (orders[..., :count].sort(-1).values == torch.arange(1, count + 1)).all(-1).all(-1)
    valid = (drawn.sort(-1).values == torch.arange(count + 2)).all(-1).all(-1) & (drawn[..., 0] == 0).all(-1)
    outcomes: list[Outcome] = []
    for label, inner, ok in (("random_orders", orders[..., :count], valid_orders), ("", drawn[..., 1:-1], valid)):
        number = (inner * 10 ** torch.arange(count)).sum(-1).flatten().unique(return_counts=True)[1].double()
        kinds, total = torch.arange(1, count + 1).prod(), number.sum()
        spread = (total / kinds).sqrt()
        even = (len(number) == kinds) & ((number - total / kinds).abs().max() < 6 * spread + 1)
        outcomes.append((label or "draw_permutations", wrong(ok & even), 0.0))
    result = exact.logits_of_permutations(attention, logits, items, drawn)
    reference = cases.attention.unsqueeze(1).expand(-1, draws, -1).gather(-1, drawn[..., 1:-1] - 1) @ cases.logits
    outcomes.append(("logits_of_permutations", difference(result, reference), 1e-12))
    permuted = exact.permuted_logits(attention, logits, items, cases.generator, count=10)
    nearest = (permuted.unsqueeze(2) - all_permutations(cases)[1].unsqueeze(1)).abs().amax(-1).amin(-1)
    return [*outcomes, ("permuted_logits", nearest.amax(-1), 1e-12)]


# Other attentions with the same answer: all pairs of items at the ends of what eps allows, and random attentions.


def pair_ends(cases: Cases) -> Tensor:
    """Two classes: every pair of items weighted to decode to either end of what eps allows, and every single item."""
    margin = cases.logits[..., 1] - cases.logits[..., 0]
    p = (cases.attention * margin).sum(-1).sigmoid()
    first, second = torch.triu_indices(cases.count, cases.count, 1)
    unit, points = torch.eye(cases.count).double(), [torch.eye(cases.count).double().expand(len(p), -1, -1)]
    for end in (p - EPS, p + EPS):
        level = end.clamp(0, 1).logit().unsqueeze(-1)
        share = (level - margin[:, second]) / (margin[:, first] - margin[:, second])
        share = share.where((share >= 0) & (share <= 1), 1.0).unsqueeze(-1)
        points.append(share * unit[first] + (1 - share) * unit[second])
    return torch.cat(points, 1)


def check_eps_max_js(cases: Cases) -> list[Outcome]:
    result = exact.eps_max_js(*cases.linear, EPS)
    points = torch.cat([pair_ends(cases), pulled_in(cases, trials(cases, 40, 21))], 1)
    within = moved(cases, points) <= EPS + 1e-9
    values = js(cases.attention.unsqueeze(1), points)
    most, cap = values.where(within, -inf).amax(-1), values[:, : cases.count].amax(-1)
    own = result.attention[:, 1:-1]
    attained = difference(js(cases.attention, own), result.js) + wrong(moved(cases, own[:, None])[:, 0] <= EPS + 1e-9)
    if cases.count == 1:
        return [("eps_max_js", wrong(result.js.isnan() & (result.cap.abs() < 1e-12)), 1e-9)]
    return [
        ("eps_max_js", torch.stack([attained, difference(result.js, most), difference(result.cap, cap)]).amax(0), 1e-8)
    ]


def check_eps_max_js_bracket(cases: Cases) -> list[Outcome]:
    result = exact.eps_max_js_bracket(*cases.linear, EPS)
    if cases.count == 1:
        return [("eps_max_js_bracket", wrong(result.lower.isnan() & result.upper.isnan()), 0.0)]
    most = js(cases.attention.unsqueeze(1), pulled_in(cases, trials(cases, 300, 21))).amax(-1)
    own = result.attention[:, 1:-1]
    attained = difference(js(cases.attention, own), result.lower) + wrong(moved(cases, own[:, None])[:, 0] <= EPS)
    above = torch.maximum(attained, (torch.maximum(most, result.lower) - result.upper).clamp_min(0))
    return [
        ("eps_max_js_bracket", above, 1e-8),
        ("eps_max_js_bracket, lower end", (most - result.lower).clamp_min(0), LOWER_END),
    ]


def rest_without_top(cases: Cases, m: int) -> Tensor:
    """True on the items before which at least m come: those with more weight, or as much and an earlier place."""
    weight, place = cases.attention, torch.arange(cases.count)
    ahead = (weight.unsqueeze(1) > weight.unsqueeze(2)) | (
        (weight.unsqueeze(1) == weight.unsqueeze(2)) & (place < place[:, None])
    )
    return ahead.sum(-1) >= m


def check_without_top(cases: Cases) -> list[Outcome]:
    attention, _, items = cases.linear
    same = [exact.without_top(attention, items, m)[:, 1:-1] == rest_without_top(cases, m) for m in (1, 3)]
    return [("without_top", wrong(torch.stack(same).all(0).all(-1)), 0.0)]


def check_answer_stands_without_top(cases: Cases) -> list[Outcome]:
    result, rest = exact.answer_stands_without_top(*cases.linear, 1, EPS), rest_without_top(cases, 1)
    alone = (cases.logits[..., 1] - cases.logits[..., 0]).sigmoid()
    p = (cases.attention.unsqueeze(1) @ cases.logits).softmax(-1)[:, 0, 1]
    # Attention on the rest reaches every probability between those of its items; near a tie either answer will do.
    short = torch.maximum(p - EPS - alone.where(rest, -inf).amax(-1), alone.where(rest, inf).amin(-1) - p - EPS)
    return [("answer_stands_without_top", wrong((result == (short <= 0)) | (short.abs() < 1e-9)), 0.0)]


def nearest_to_answer(cases: Cases, rest: Tensor) -> Tensor:
    """The least move of the prediction by attention on the rest alone: random attentions, then a local search."""
    points = trials(cases, 200, 11) * rest.unsqueeze(1) + 1e-15 * rest.unsqueeze(1)
    points = points / points.sum(-1, keepdim=True)
    distance, place = moved(cases, points).topk(6, -1, largest=False)
    best = points.gather(1, place.unsqueeze(-1).expand(-1, -1, cases.count))
    step = torch.full_like(distance, 0.3)
    for _ in range(300):
        tried = (best + step.unsqueeze(-1) * cases.normal(*best.shape) * rest.unsqueeze(1)).clamp_min(0)
        tried = (tried + 1e-15 * rest.unsqueeze(1)) / (tried + 1e-15 * rest.unsqueeze(1)).sum(-1, keepdim=True)
        reached = moved(cases, tried)
        better = reached < distance
        best, distance = tried.where(better.unsqueeze(-1), best), torch.minimum(reached, distance)
        step = torch.where(better, 1.5 * step, 0.93 * step).clamp(1e-7, 1.0)
    return distance.amin(-1)


def check_answer_stands_without_top_bracket(cases: Cases) -> list[Outcome]:
    result, rest = exact.answer_stands_without_top_bracket(*cases.linear, 1, EPS), rest_without_top(cases, 1)
    if cases.count == 1:
        return [("answer_stands_without_top_bracket", wrong(result == 0), 0.0)]
    least = nearest_to_answer(cases, rest)
    # The search here may miss the nearest by a little; what it reaches is certain.
    ok = torch.where(result == 0, least > EPS - 1e-9, (result.isnan()) | (least <= EPS + 2e-3))
    return [("answer_stands_without_top_bracket", wrong(ok), 0.0)]


def check_frozen_optimum(cases: Cases) -> list[Outcome]:
    result, points = exact.frozen_optimum(*cases.linear), trials(cases, 100, 201)
    least = (moved(cases, points) - js(cases.attention.unsqueeze(1), points) / log(2)).amin(-1)
    own = result.attention[:, 1:-1]
    loss = moved(cases, own[:, None])[:, 0] - js(cases.attention, own) / log(2)
    return [("frozen_optimum", torch.maximum(difference(loss, result.loss), (result.loss - least).clamp_min(0)), 1e-9)]


# Perturbed weights: corners of the ball, active sets, or a linear program.


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


TWO, MORE, ANY = (2,), (3, 4), (2, 3, 4)
CHECKS: list[tuple[Callable[[Cases], list[Outcome]], tuple[int, ...]]] = [
    (check_prefix_logits, ANY),
    (check_single_erasure_logits, ANY),
    (check_first_flip, ANY),
    (check_minimal_flip_set, ANY),
    (check_log_weights, TWO),
    (check_expectation_over_others, TWO),
    (check_permutation_moments, ANY),
    (check_expected_permuted_js, TWO),
    (check_worst_permutation, TWO),
    (check_worst_permutation, MORE),
    (check_some_permutation_flips, ANY),
    (check_drawn_permutations, ANY),
    (check_without_top, TWO),
    (check_answer_stands_without_top, TWO),
    (check_eps_max_js, TWO),
    (check_frozen_optimum, TWO),
    (check_certificates, ANY),
    (check_worst_cases, TWO),
    (check_answer_stands_without_top_bracket, MORE),
    (check_eps_max_js_bracket, MORE),
]


def run(
    check: Callable[[Cases], list[Outcome]], classes: tuple[int, ...], cases: int, seed: int
) -> dict[str, list[float]]:
    """Per label: cases, largest deviation, failures."""
    generator, totals = torch.Generator().manual_seed(seed), dict[str, list[float]]()
    for number, start in enumerate(range(0, cases, BATCH)):
        size = min(BATCH, cases - start)
        batch = draw_cases(size, 1 + number % LONGEST, classes[number // LONGEST % len(classes)], generator)
        worst: dict[str, tuple[Tensor, Tensor]] = {}
        for label, deviation, tolerance in check(batch):
            apart, failed = worst.get(label, (torch.zeros(size).double(), torch.zeros(size).bool()))
            worst[label] = torch.maximum(apart, deviation), failed | ~(deviation <= tolerance)
        for label, (apart, failed) in worst.items():
            total = totals.setdefault(label, [0, 0.0, 0])
            totals[label] = [total[0] + size, max(total[1], float(apart.max())), total[2] + int(failed.sum())]
    return totals


def main() -> None:
    """Print the table; exit code 1 if any case fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console, table, failures = Console(highlight=False), Table("function", "cases", "largest deviation", "failures"), 0
    for check, classes in CHECKS:
        if not any(part in check.__name__ for part in arguments.only.split(",")):
            continue
        for label, (cases, deviation, failed) in run(check, classes, arguments.cases, arguments.seed).items():
            table.add_row(label, f"{int(cases):,}", f"{deviation:.1e}", str(int(failed)))
            failures += int(failed)
    console.print(table)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
