"""Other attentions with the same answer, against pairs of items at the ends of what eps allows and random ones."""

from math import inf, log

import torch
from random_cases import EPS, MISSED, Cases, Outcome, difference, js, moved, pulled_in, trials, wrong
from torch import Tensor

import heedful.exact as exact


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


def check_eps_max_js_bound(cases: Cases) -> list[Outcome]:
    result = exact.eps_max_js_bound(*cases.linear, EPS)
    if cases.count == 1:
        return [("eps_max_js_bound", wrong(result.js.isnan()), 0.0)]
    most = js(cases.attention.unsqueeze(1), pulled_in(cases, trials(cases, 300, 21))).amax(-1)
    own = result.attention[:, 1:-1]
    attained = difference(js(cases.attention, own), result.js) + wrong(moved(cases, own[:, None])[:, 0] <= EPS)
    missed = (most - result.js).clamp_min(0)
    mean_missed = missed.mean().expand_as(missed)
    return [
        ("eps_max_js_bound", attained, 1e-8),
        ("eps_max_js_bound, missed by the search on average", mean_missed, MISSED),
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


def check_survives_without_top(cases: Cases) -> list[Outcome]:
    result, rest = exact.prediction_survives_without_top(*cases.linear, 1, EPS), rest_without_top(cases, 1)
    alone = (cases.logits[..., 1] - cases.logits[..., 0]).sigmoid()
    p = (cases.attention.unsqueeze(1) @ cases.logits).softmax(-1)[:, 0, 1]
    # Attention on the rest reaches every probability between those of its items; near a tie either answer will do.
    short = torch.maximum(p - EPS - alone.where(rest, -inf).amax(-1), alone.where(rest, inf).amin(-1) - p - EPS)
    return [("prediction_survives_without_top", wrong((result == (short <= 0)) | (short.abs() < 1e-9)), 0.0)]


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


def check_survives_on_items(cases: Cases) -> list[Outcome]:
    attention, _, items = cases.linear
    usable, rest = exact.without_top(attention, items, 1), rest_without_top(cases, 1)
    result = exact.prediction_survives_on_items(*cases.linear, usable, EPS)
    if cases.count == 1:
        return [("prediction_survives_on_items", wrong(result == 0), 0.0)]
    least = nearest_to_answer(cases, rest)
    # The search here may miss the nearest by a little; what it reaches is certain.
    ok = torch.where(result == 0, least > EPS - 1e-9, (result.isnan()) | (least <= EPS + 2e-3))
    return [("prediction_survives_on_items", wrong(ok), 0.0)]


def check_frozen_optimum(cases: Cases) -> list[Outcome]:
    result, points = exact.frozen_optimum(*cases.linear), trials(cases, 100, 201)
    least = (moved(cases, points) - js(cases.attention.unsqueeze(1), points) / log(2)).amin(-1)
    own = result.attention[:, 1:-1]
    loss = moved(cases, own[:, None])[:, 0] - js(cases.attention, own) / log(2)
    return [("frozen_optimum", torch.maximum(difference(loss, result.loss), (result.loss - least).clamp_min(0)), 1e-9)]
