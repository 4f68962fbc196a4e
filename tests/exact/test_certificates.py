"""Certificates against attacks: a thousand tries inside the radius all fail, and an attack just outside succeeds."""

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import Tensor
from torch.nn.functional import one_hot
from torch.testing import assert_close

from heedful.attacks import Ball, ascend, draw
from heedful.exact import (
    Norm,
    certified_radius,
    certified_radius_on_simplex,
    certified_radius_zero_sum,
    worst_case_free,
    worst_case_in_box,
    worst_case_on_simplex,
    worst_case_zero_sum,
)
from heedful.exact.ball import (
    steepest_free,
    steepest_in_box,
    steepest_on_simplex,
    steepest_zero_sum,
)
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows

NORMS: list[Norm] = ["l1", "l2", "linf"]
TRIES = 1000
FREE = (certified_radius, steepest_free)
ZERO_SUM = (certified_radius_zero_sum, steepest_zero_sum)


def shrink(change: Tensor, radius: float | Tensor, norm: Norm) -> Tensor:
    """Scaled down until it is no longer than the radius, in the norm."""
    size = torch.linalg.vector_norm(change, {"l1": 1, "l2": 2, "linf": torch.inf}[norm], dim=-1, keepdim=True)
    return change * (torch.as_tensor(radius)[..., None] / size.clamp_min(1e-300)).clamp_max(1)


def scores_of(rows: LinearBatch) -> Tensor:
    return rows.item_logits - rows.empty_logits.unsqueeze(1)


def logits_at(rows: LinearBatch, change: Tensor) -> Tensor:
    """Logits under changes [batch try item] of the weights."""
    weights = rows.attention.unsqueeze(1) + change
    return torch.einsum("bti,bic->btc", weights, scores_of(rows)) + rows.empty_logits.unsqueeze(1)


def decisions(rows: LinearBatch) -> Tensor:
    return logits_at(rows, torch.zeros_like(rows.attention).unsqueeze(1)).argmax(-1)


def flips(rows: LinearBatch, change: Tensor) -> Tensor:
    return logits_at(rows, change).argmax(-1) != decisions(rows)


def many(rows: LinearBatch, radius: Tensor, norm: Norm, keeps_sum: bool) -> Tensor:
    """A thousand attacks a text: drawn in the ball, pushed out to its surface, or climbed to from there."""
    batch, count = rows.attention.shape
    ball = Ball(radius.repeat_interleave(TRIES), norm)
    everywhere = torch.ones(batch * TRIES, count).bool()
    drawn = draw(everywhere, ball, torch.Generator().manual_seed(0), torch.float64)

    def keep(change: Tensor) -> Tensor:
        return shrink(change - change.mean(-1, keepdim=True), ball.radius, norm) if keeps_sum else change

    def doubt(change: Tensor) -> Tensor:
        """The best rival's lead over the decision."""
        logits = logits_at(rows, change.reshape(batch, TRIES, count))
        chosen = decisions(rows).unsqueeze(-1).expand(-1, TRIES, 1)
        rival = logits.scatter(-1, chosen, -torch.inf).amax(-1)
        return (rival - logits.gather(-1, chosen).squeeze(-1)).flatten()

    climbed = ascend(doubt, keep(drawn), everywhere, ball, steps=20, keep=keep)
    third = TRIES // 3
    ways = [shrink(1e6 * keep(drawn), ball.radius, norm), keep(drawn), climbed]
    ways = [way.reshape(batch, TRIES, count) for way in ways]
    return torch.cat([ways[0][:, :third], ways[1][:, :third], ways[2][:, 2 * third :]], 1)


@pytest.mark.parametrize(
    ("certificate", "steepest", "norm", "classes"),
    [(*FREE, "l1", 2), (*FREE, "l2", 3), (*FREE, "linf", 5)]
    + [(*ZERO_SUM, "l1", 3), (*ZERO_SUM, "l2", 5), (*ZERO_SUM, "linf", 2)],
)
def test_no_attack_inside_the_radius_succeeds_and_one_just_outside_does(certificate, steepest, norm, classes):
    rows = random_rows(batch=5, count=7, classes=classes, seed=classes)
    radius = certificate(*rows.full(), norm)
    tried = many(rows, radius * (1 - 1e-9), norm, steepest is steepest_zero_sum)
    assert tried.shape == (5, TRIES, 7)
    assert not flips(rows, tried).any()

    towards = scores_of(rows).transpose(1, 2)
    towards = towards - towards.gather(1, decisions(rows).unsqueeze(-1).expand(-1, -1, 7))
    outside = steepest(towards, rows.items.unsqueeze(1).expand_as(towards), 1.0, norm)
    assert flips(rows, outside * radius[:, None, None] * (1 + 1e-6)).any(-1).all()


def test_the_attacks_can_succeed_at_all():
    """Otherwise their failure would prove nothing. (Along l1 the ascent moves single coordinates, and may miss.)"""
    for norm in ("l2", "linf"):
        rows = random_rows(batch=5, count=7, classes=2, seed=2)
        assert flips(rows, many(rows, 1.01 * certified_radius(*rows.full(), norm), norm, False)).any(-1).all()


def on_the_simplex(rows: LinearBatch, radius: float, norm: Norm) -> Tensor:
    """A thousand other distributions a text, no further from its attention than the radius."""
    batch, count = rows.attention.shape
    draw_ = torch.Generator().manual_seed(1)
    sharp = (
        torch.randn(batch, TRIES, count, generator=draw_, dtype=torch.float64) * torch.linspace(0, 30, TRIES)[:, None]
    )
    change = sharp.softmax(-1) - rows.attention.unsqueeze(1)
    return shrink(change, radius, norm)


STEEPEST = {
    worst_case_free: lambda way, rows, radius, norm: steepest_free(way, rows.items, radius, norm),
    worst_case_zero_sum: lambda way, rows, radius, norm: steepest_zero_sum(way, rows.items, radius, norm),
    worst_case_in_box: lambda way, rows, radius, norm: steepest_in_box(way, rows.attention, rows.items, radius, norm),
    worst_case_on_simplex: lambda way, rows, radius, norm: steepest_on_simplex(
        way, rows.attention, rows.items, radius, norm
    ),
}


@pytest.mark.parametrize("worst_case", STEEPEST)
def test_a_worst_case_on_the_decisions_side_is_a_certificate_and_one_beyond_is_an_attack(worst_case):
    """Two classes, at a given radius: this also certifies weights that stay a distribution."""
    for norm in NORMS:
        for radius in (0.02, 0.1, 0.5):
            rows = random_rows(batch=11, count=7, classes=2, seed=5)
            worst = worst_case(*rows.full(), radius, norm)
            decided = decisions(rows)[:, 0] == 1
            certified = torch.where(decided, worst.low > 0, worst.high < 0)
            tried = flips(rows, on_the_simplex(rows, radius, norm))
            assert not tried[certified].any()
            margin = scores_of(rows) @ torch.tensor([-1.0, 1.0]).double()
            attack = STEEPEST[worst_case](torch.where(decided, -1.0, 1.0)[:, None] * margin, rows, radius, norm)
            assert torch.equal(flips(rows, attack.unsqueeze(1))[:, 0], ~certified)


def test_the_radius_that_keeps_the_sum_also_certifies_distributions():
    for norm in NORMS:
        rows = random_rows(batch=11, count=7, classes=3, seed=7)
        for row, radius in enumerate(certified_radius_zero_sum(*rows.full(), norm).tolist()):
            single = one_row(rows, row)
            assert not flips(single, on_the_simplex(single, radius * (1 - 1e-9), norm)).any()


def test_the_radius_is_where_the_worst_case_reaches_the_boundary():
    for norm in NORMS:
        rows = random_rows(batch=5, count=7, classes=2, seed=9)
        decided = decisions(rows)[:, 0] == 1
        for certificate, worst_case in (
            (certified_radius, worst_case_free),
            (certified_radius_zero_sum, worst_case_zero_sum),
            (certified_radius_on_simplex, worst_case_on_simplex),
        ):
            for row, radius in enumerate(certificate(*rows.full(), norm).tolist()):
                worst = worst_case(*rows.full(), radius, norm)
                end = worst.low[row] if decided[row] else worst.high[row]
                assert_close(end, torch.zeros(()).double(), atol=1e-12, rtol=0)


def rivals_gain(rows: LinearBatch) -> Tensor:
    """What a unit of weight on each item adds to each class's lead over the decision: [batch classes item]."""
    scores = scores_of(rows).transpose(1, 2)
    return scores - scores.gather(1, decisions(rows).unsqueeze(-1).expand(-1, -1, scores.shape[-1]))


@pytest.mark.parametrize("norm", NORMS)
def test_no_distribution_inside_the_radius_changes_the_decision_and_one_just_outside_does(norm):
    for classes in (2, 3):
        rows = random_rows(batch=11, count=7, classes=classes, seed=3)
        radii = certified_radius_on_simplex(*rows.full(), norm)
        assert radii.isfinite().sum() > 5
        for row, radius in enumerate(radii.tolist()):
            single = one_row(rows, row)
            assert not flips(single, on_the_simplex(single, min(radius, 2.0) * (1 - 1e-9), norm)).any()
            if radius < torch.inf:
                gain, items = rivals_gain(single)[0], single.items.expand(classes, -1)
                attack = steepest_on_simplex(gain, single.attention.expand_as(gain), items, radius * (1 + 1e-6), norm)
                assert flips(single, attack.unsqueeze(0)).any()


def by_linear_programme(weights: Tensor, gain: Tensor, margin: float, norm: Norm) -> float:
    """The least change, in the norm, from these weights to a distribution that makes up for the margin."""
    n = len(weights)
    sizes = numpy.eye(n) if norm == "l1" else numpy.ones((n, 1))  # l1: a bound for each change; linf: a common bound
    m = sizes.shape[1]
    solution = linprog(
        numpy.concatenate([numpy.zeros(n), numpy.ones(m)]),
        A_ub=numpy.block([[numpy.eye(n), -sizes], [-numpy.eye(n), -sizes], [-gain.numpy()[None], numpy.zeros((1, m))]]),
        b_ub=numpy.concatenate([numpy.zeros(2 * n), [-margin]]),
        A_eq=numpy.concatenate([numpy.ones(n), numpy.zeros(m)])[None],
        b_eq=[0.0],
        bounds=[(-weight, None) for weight in weights.tolist()] + [(0, None)] * m,
    )
    return solution.fun if solution.success else float("inf")


def test_the_radius_on_the_simplex_is_that_of_a_linear_programme():
    for norm in ("l1", "linf"):
        for peak in (0.3, 3.0):
            rows = random_rows(batch=7, count=5, classes=3, seed=11, peak=peak)
            logits = logits_at(rows, torch.zeros_like(rows.attention).unsqueeze(1))[:, 0]
            decided, gain = decisions(rows)[:, 0].tolist(), rivals_gain(rows)
            wanted = [
                min(
                    by_linear_programme(
                        rows.attention[row], gain[row, k], (logits[row, y] - logits[row, k]).item(), norm
                    )
                    for k in range(3)
                    if k != y
                )
                for row, y in enumerate(decided)
            ]
            radii = certified_radius_on_simplex(*rows.full(), norm)
            assert_close(radii, torch.tensor(wanted, dtype=torch.float64), atol=1e-9, rtol=0)


@settings(max_examples=100)
@given(rows=any_rows(classes=3), norm=st.sampled_from(NORMS))
def test_the_more_a_perturbation_must_keep_the_larger_its_radius(norm, rows: LinearBatch):
    free, zero_sum, simplex = (
        radius(*rows.full(), norm)
        for radius in (certified_radius, certified_radius_zero_sum, certified_radius_on_simplex)
    )
    assert (free <= zero_sum * (1 + 1e-9)).all() and (zero_sum <= simplex * (1 + 1e-9)).all()


@settings(max_examples=100)
@given(rows=any_rows(classes=2, min_items=2), norm=st.sampled_from(NORMS))
def test_within_the_radius_the_worst_distribution_is_on_the_decisions_side(norm, rows: LinearBatch):
    radii = certified_radius_on_simplex(*rows.full(), norm)
    for row, radius in enumerate(radii.clamp_max(2.0).tolist()):
        single = one_row(rows, row)
        inside = worst_case_on_simplex(*single.full(), radius * (1 - 1e-6), norm)
        # A tie is decided for the first class, and logits up to 10 carry rounding of that size.
        assert inside.low >= -1e-9 or inside.high <= 1e-9


def test_padding_changes_no_radius():
    for norm in NORMS:
        rows = random_rows(batch=5, count=7, classes=3, seed=2)
        for radius in (certified_radius, certified_radius_zero_sum, certified_radius_on_simplex):
            assert_close(radius(*padded(rows).full(), norm), radius(*rows.full(), norm), rtol=1e-12, atol=0)


def test_where_every_item_speaks_for_the_decision_no_distribution_changes_it():
    for norm in NORMS:
        rows = random_rows(batch=3, count=5, classes=2, seed=0)
        one_sided = LinearBatch(
            rows.attention, rows.item_logits.abs() * torch.tensor([-1.0, 1.0]), rows.empty_logits, rows.items
        )
        assert certified_radius_on_simplex(*one_sided.full(), norm).isinf().all()
        assert certified_radius(*one_sided.full(), norm).isfinite().all()


def test_a_class_that_no_perturbation_reaches_does_not_count():
    # Both items have the same logits: keeping the sum of the weights keeps the answer.
    logits = one_hot(torch.tensor([[1, 1]]), 3).double()
    args = (torch.tensor([[0.5, 0.5]]), logits, torch.zeros(1, 3), torch.ones(1, 2).bool())
    assert certified_radius_zero_sum(*args, "l2").item() == torch.inf
    assert certified_radius(*args, "linf").item() == pytest.approx(0.5)
