"""Permutations of the weights against all of them."""

from itertools import permutations

import torch
from random_cases import Cases, Outcome, difference, js, moved, wrong
from torch import Tensor

import heedful.exact as exact


def all_permutations(cases: Cases) -> tuple[Tensor, Tensor]:
    """Attention under every permutation, and its logits."""
    orders = torch.tensor(list(permutations(range(cases.count))))
    attention = cases.attention[:, orders]
    return attention, attention @ cases.logits


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
