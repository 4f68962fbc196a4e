"""Erasures against all subsets of what is left."""

from math import inf, nan

import torch
from random_cases import Cases, Outcome, difference, wrong
from torch import Tensor
from torch.nn.functional import pad

import heedful.exact as exact


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
