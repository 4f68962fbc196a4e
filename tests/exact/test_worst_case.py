import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.testing import assert_close

from heedful.exact import (
    certified_radius_zero_sum,
    worst_case_free,
    worst_case_in_box,
    worst_case_on_simplex,
    worst_case_zero_sum,
)
from heedful.exact.ball import project_on_simplex
from support.exact_strategies import LinearBatch, any_rows, one_row, padded, random_rows

NORMS = ["l1", "l2", "linf"]
ORDERS = {"l1": 1, "l2": 2, "linf": torch.inf}
WORST = [worst_case_free, worst_case_zero_sum, worst_case_in_box, worst_case_on_simplex]
RADII = st.sampled_from([0.0, 0.02, 0.3, 2.0])


def unfolded(weight: Tensor, logits: Tensor, empty: Tensor) -> Tensor:
    """The logit of class 1 minus that of class 0 under weights of any sum."""
    return (weight @ (logits - empty) + empty) @ torch.tensor([-1.0, 1.0]).double()


def cross_entropy(base: Tensor, reached: Tensor) -> Tensor:
    return binary_cross_entropy_with_logits(reached, base.sigmoid().expand_as(reached), reduction="none")


@settings(max_examples=120)
@given(rows=any_rows(), radius=RADII, worst_case=st.sampled_from(WORST), norm=st.sampled_from(NORMS))
def test_the_perturbation_reaches_the_worst_of_all_that_is_reached(worst_case, norm, rows: LinearBatch, radius):
    worst = worst_case(*rows.full(), radius, norm)
    for row, (weight, logits, empty, places) in enumerate(rows.texts()):
        base = unfolded(weight, logits, empty)
        assert worst.low[row] <= base + 1e-12
        assert worst.high[row] >= base - 1e-12
        reached = worst.low[row] + torch.linspace(0, 1, 101).double() * (worst.high[row] - worst.low[row])
        losses = cross_entropy(base, reached)
        assert_close(worst.bce[row], losses.max(), atol=1e-8, rtol=1e-8)
        assert_close(worst.kl[row], worst.bce[row] - cross_entropy(base, base), atol=1e-8, rtol=1e-8)
        assert worst.kl[row] >= -1e-14
        perturbed = unfolded(weight + worst.perturbation[row, places], logits, empty)
        assert_close(cross_entropy(base, perturbed), worst.bce[row], atol=1e-8, rtol=1e-8)


@settings(max_examples=100)
@given(rows=any_rows(), radius=RADII, norm=st.sampled_from(NORMS))
def test_in_a_free_ball_the_worse_end_is_towards_the_boundary(norm, rows: LinearBatch, radius):
    worst = worst_case_free(*rows.full(), radius, norm)
    middle, reach = (worst.high + worst.low) / 2, (worst.high - worst.low) / 2
    for row, (weight, logits, empty, places) in enumerate(rows.texts()):
        base = unfolded(weight, logits, empty)
        assert_close(middle[row], base, atol=1e-10, rtol=1e-10)
        end = unfolded(weight + worst.perturbation[row, places], logits, empty)
        if base.abs() > 1e-9:
            assert_close(end, base - base.sign() * reach[row], atol=1e-9, rtol=1e-9)


def ascended(rows: LinearBatch, radius: float, norm: str, on_simplex: bool) -> Tensor:
    """The largest cross-entropy that fine projected gradient ascent finds, from both sides."""
    best = torch.full((len(rows.items),), -torch.inf).double()
    weight, logits, empty = rows.attention, rows.item_logits, rows.empty_logits
    score = (logits - empty.unsqueeze(1)) @ torch.tensor([-1.0, 1.0]).double()
    base = (weight * score).sum(-1) + empty @ torch.tensor([-1.0, 1.0]).double()
    for side in (1.0, -1.0):
        delta = 1e-3 * radius * side * score.sign()
        for step in range(100):
            delta.requires_grad_()
            loss = cross_entropy(base, base + (delta * score).sum(-1))
            (gradient,) = torch.autograd.grad(loss.sum(), delta)
            best = torch.maximum(best, loss.detach())
            way = gradient.sign() if norm == "linf" else gradient / gradient.norm(dim=-1, keepdim=True).clamp_min(1e-30)
            delta = (delta + radius * way / (1 + step / 10)).detach()
            for _ in range(5 if on_simplex else 1):
                if on_simplex:
                    delta = project_on_simplex(weight + delta, rows.items, torch.ones(len(weight), 1).double()) - weight
                size = torch.linalg.vector_norm(delta, ORDERS[norm], dim=-1, keepdim=True).clamp_min(1e-30)
                # A scaled-down step stays on the simplex, which is convex; a clamped step might not.
                delta = (
                    delta * (radius / size).clamp_max(1) if norm == "l2" or on_simplex else delta.clamp(-radius, radius)
                )
    return best


def test_gradient_ascent_never_does_worse_damage():
    for norm in ("l2", "linf"):
        rows = random_rows(batch=11, count=7, classes=2, seed=4)
        exact = worst_case_free(*rows.full(), 0.2, norm).bce
        searched = ascended(rows, 0.2, norm, on_simplex=False)
        assert (searched <= exact + 1e-10).all()
        assert_close(searched, exact, atol=1e-3, rtol=1e-3)
        exact = worst_case_on_simplex(*rows.full(), 0.2, norm).bce
        assert (ascended(rows, 0.2, norm, on_simplex=True) <= exact + 1e-10).all()


def test_the_bias_is_not_weighed():
    # Every item's logits are the empty logits: whatever the weights sum to, the answer is the same.
    logits, empty = torch.tensor([[[1.0, 3.0], [1.0, 3.0]]]), torch.tensor([[1.0, 3.0]])
    worst = worst_case_free(torch.tensor([[0.5, 0.5]]), logits, empty, torch.ones(1, 2).bool(), 0.5, "linf")
    assert (worst.low.item(), worst.high.item(), worst.kl.item()) == (2, 2, 0)


def test_kept_weights_may_be_worst_away_from_the_boundary():
    for worst_case in (worst_case_in_box, worst_case_on_simplex):
        # No weight can be taken from the second item, so u = 1 can rise but hardly fall.
        logits = torch.tensor([[[0.0, 1.0], [0.0, 5.0]]]).double()
        worst = worst_case(torch.tensor([[1.0, 0.0]]), logits, torch.zeros(1, 2), torch.ones(1, 2).bool(), 0.2, "l1")
        assert worst.high - 1 > 1 - worst.low
        assert worst.perturbation[0, 1] > 0


def test_a_logit_of_0_counts_as_positive():
    logits = torch.tensor([[[0.0, 1.0], [0.0, -1.0]]]).double()
    worst = worst_case_free(torch.tensor([[0.5, 0.5]]), logits, torch.zeros(1, 2), torch.ones(1, 2).bool(), 0.1, "linf")
    assert_close(worst.perturbation, torch.tensor([[-0.1, 0.1]]).double())


@pytest.mark.parametrize("worst_case", [worst_case_free, worst_case_zero_sum])
@pytest.mark.parametrize("norm", NORMS)
def test_the_worst_case_is_differentiable(worst_case, norm):
    rows = random_rows(batch=2, count=5, classes=2, seed=6)
    parts = [part.clone().requires_grad_() for part in rows.full()[:3]]

    def losses(attention, item_logits, empty_logits):
        worst = worst_case(attention, item_logits, empty_logits, rows.items, 0.1, norm)
        return worst.bce, worst.kl, worst.low, worst.high

    assert gradcheck(losses, parts)


def test_the_gradient_is_finite_on_padding_and_where_nothing_moves():
    for worst_case in WORST:
        for norm in NORMS:
            rows = padded(random_rows(batch=2, count=3, classes=2, seed=7))
            # The first row's item logits are the empty logits, so every direction is 0.
            logits = torch.cat([rows.empty_logits[:1].expand(6, 2).unsqueeze(0), rows.item_logits[1:]]).requires_grad_()
            worst_case(rows.attention, logits, rows.empty_logits, rows.items, 0.1, norm).kl.sum().backward()
            assert logits.grad is not None
            assert logits.grad.isfinite().all()


def test_a_large_logit_keeps_its_digits():
    logits, weight = torch.tensor([[[0.0, 25.0]]]).double(), torch.ones(1, 1).double()
    worst = worst_case_free(weight, logits, torch.zeros(1, 2).double(), torch.ones(1, 1).bool(), 0.04, "l2")
    plain = torch.tensor(24.0).double().exp().log1p() - torch.tensor(25.0).double().sigmoid() * 24
    assert_close(worst.bce[0], plain, atol=1e-13, rtol=0)


@settings(max_examples=40)
@given(rows=any_rows(), norm=st.sampled_from(NORMS), worst_case=st.sampled_from(WORST))
def test_padding_and_other_rows_change_nothing(worst_case, rows: LinearBatch, norm):
    worst, wide = worst_case(*rows.full(), 0.2, norm), worst_case(*padded(rows).full(), 0.2, norm)
    assert_close(wide.bce, worst.bce, atol=1e-9, rtol=1e-9)
    for row in range(len(rows.items)):
        assert_close(worst_case(*one_row(rows, row).full(), 0.2, norm).bce[0], worst.bce[row], atol=1e-9, rtol=1e-9)


# Equal items, where nothing but rounding is left to be scaled up.

PAIR = st.tuples(st.floats(-5, 5), st.floats(-5, 5)).filter(lambda pair: abs(pair[0] - pair[1]) > 1e-3)


def equal_items(pair, count: int):
    """A text of equal items under uneven weights."""
    logits = torch.tensor([[pair] * count], dtype=torch.float64)
    weights = torch.arange(count, 0, -1, dtype=torch.float64)
    return (weights / weights.sum())[None], logits, torch.zeros(1, 2, dtype=torch.float64)


@given(PAIR, st.integers(1, 9), st.sampled_from(["l1", "l2", "linf"]))
def test_no_zero_sum_perturbation_moves_a_text_of_equal_items(pair, count, norm):
    weights, logits, empty = equal_items(pair, count)
    items = torch.ones(1, count, dtype=torch.bool)
    worst = worst_case_zero_sum(weights, logits, empty, items, 0.1, norm)
    assert worst.low.item() == pytest.approx(pair[1] - pair[0], abs=1e-12)
    assert worst.high.item() == pytest.approx(pair[1] - pair[0], abs=1e-12)
    assert certified_radius_zero_sum(weights, logits, empty, items, norm).item() == torch.inf


def test_the_three_items_of_the_report():
    weights = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
    _, logits, empty = equal_items((-2.583598200582093, 0.35057323734856044), 3)
    worst = worst_case_zero_sum(weights, logits, empty, torch.ones(1, 3, dtype=torch.bool), 0.1, "l2")
    assert (worst.low.item(), worst.high.item()) == pytest.approx((2.9341714379306534,) * 2)
