from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr
from scipy.stats import entropy as scipy_entropy
from torch.testing import assert_close

from heedful.measures import entropy, js_divergence, kl_divergence, total_variation_distance
from support.folders import each_source, golden_pairs
from support.strategies import distribution_pairs, padded

DIVERGENCES = [js_divergence, kl_divergence, total_variation_distance]
SYMMETRIC = [js_divergence, total_variation_distance]
MEASURES = [*DIVERGENCES, lambda p, q, mask=None: entropy(p, mask)]


def lost_to_epsilon(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """By how much KL(p || q) shrinks when 1e-10 is added inside each logarithm, as the authors' code does."""
    return (torch.special.xlog1py(p, 1e-10 / q) - torch.special.xlog1py(p, 1e-10 / p)).sum()


@each_source
def test_divergences_are_those_of_the_reference_code(source):
    for pair in golden_pairs(source):
        a, b = (torch.tensor(pair[name], dtype=torch.float64) for name in "ab")
        m = (a + b) / 2
        js = js_divergence(a, b) - (lost_to_epsilon(a, m) + lost_to_epsilon(b, m)) / 2
        assert js.item() == pytest.approx(pair["jsd"], abs=1e-12)
        for first, second, name in ((a, b, "kld_ab"), (b, a, "kld_ba")):
            ours = kl_divergence(first, second)
            if ours.isinf():
                assert pair[name] == pytest.approx(-log(1e-10))  # disjoint supports
            else:
                assert (ours - lost_to_epsilon(first, second)).item() == pytest.approx(pair[name], abs=1e-12)


def test_values_by_hand():
    p = torch.tensor([0.75, 0.25, 0.0], dtype=torch.float64)
    q = torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64)
    # m = (.5, .25, .25)
    by_hand = (0.75 * log(1.5) + 0.25 * log(1) + 0.25 * log(0.5) + 0.25 * log(1) + 0.5 * log(2)) / 2
    assert js_divergence(p, q).item() == pytest.approx(by_hand, abs=1e-15)
    assert kl_divergence(p, q).item() == pytest.approx(0.75 * log(3), abs=1e-15)
    assert kl_divergence(q, p).item() == torch.inf
    assert total_variation_distance(p, q).item() == 0.5
    assert entropy(q).item() == pytest.approx(1.5 * log(2), abs=1e-15)


@given(distribution_pairs())
def test_values_are_those_of_scipy(pair):
    p, q, mask = pair
    for row in range(len(mask)):
        real_p, real_q = (tensor[row][mask[row]].numpy() for tensor in (p, q))
        # jensenshannon is the square root, and NaN where rounding made its own sum negative.
        with np.errstate(invalid="ignore"):
            expected_js = np.nan_to_num(jensenshannon(real_p, real_q) ** 2)
        assert js_divergence(p, q, mask)[row].item() == pytest.approx(expected_js, abs=1e-14)
        assert kl_divergence(p, q, mask)[row].item() == pytest.approx(rel_entr(real_p, real_q).sum(), abs=1e-12)
        assert total_variation_distance(p, q, mask)[row].item() == pytest.approx(
            abs(real_p - real_q).sum() / 2, abs=1e-15
        )
        assert entropy(p, mask)[row].item() == pytest.approx(scipy_entropy(real_p), abs=1e-14)


@given(pair=distribution_pairs(), measure=st.sampled_from(SYMMETRIC))
def test_symmetric_divergences_do_not_care_which_comes_first(measure, pair):
    p, q, mask = pair
    assert_close(measure(p, q, mask), measure(q, p, mask), atol=1e-16, rtol=1e-14)


@given(distribution_pairs())
def test_values_stay_in_their_bounds(pair):
    p, q, mask = pair
    js, tvd, spread = js_divergence(p, q, mask), total_variation_distance(p, q, mask), entropy(p, mask)
    assert (js >= 0).all() and (js <= log(2) + 1e-15).all()
    assert (kl_divergence(p, q, mask) >= -1e-14).all()
    assert (tvd >= 0).all() and (tvd <= 1 + 1e-15).all()
    assert (spread >= 0).all() and (spread <= mask.sum(-1).double().log() + 1e-14).all()


@given(pair=distribution_pairs(), measure=st.sampled_from(DIVERGENCES))
def test_divergence_of_a_row_from_itself_is_exactly_zero(measure, pair):
    p, _, mask = pair
    assert (measure(p, p.clone(), mask) == 0).all()


def test_disjoint_supports_are_as_far_apart_as_can_be():
    p, q = torch.tensor([[0.5, 0.5, 0.0, 0.0]]).double(), torch.tensor([[0.0, 0.0, 0.25, 0.75]]).double()
    assert js_divergence(p, q).item() == pytest.approx(log(2), abs=1e-16)
    assert total_variation_distance(p, q).item() == 1
    assert kl_divergence(p, q).item() == torch.inf


@settings(max_examples=200)
@given(pair=distribution_pairs(), measure=st.sampled_from(MEASURES))
def test_padding_batch_order_and_batch_size_change_nothing(measure, pair):
    p, q, mask = pair
    whole = measure(p, q, mask)
    assert_close(measure(padded(p), padded(q), padded(mask)), whole, atol=1e-15, rtol=1e-14)
    assert_close(measure(p.flip(0), q.flip(0), mask.flip(0)).flip(0), whole, atol=1e-15, rtol=1e-14)
    assert_close(measure(p, q), whole, atol=1e-15, rtol=1e-14)  # p and q are 0 where the mask is False
    alone = torch.stack([measure(*row) for row in zip(p, q, mask, strict=True)])
    assert_close(alone, whole, atol=1e-15, rtol=1e-14)


def test_not_even_nan_in_padding_is_noticed():
    for measure in MEASURES:
        p = torch.tensor([[0.5, 0.5, torch.nan]], requires_grad=True)
        q = torch.tensor([[0.9, 0.1, torch.inf]])
        mask = torch.tensor([[True, True, False]])
        value = measure(p, q, mask)
        assert_close(value, measure(p[:, :2], q[:, :2]))
        (gradient,) = torch.autograd.grad(value.sum(), p)
        assert gradient.isfinite().all() and gradient[0, 2] == 0


@given(pair=distribution_pairs(), measure=st.sampled_from(MEASURES))
def test_arguments_are_left_untouched(measure, pair):
    before = [tensor.clone() for tensor in pair]
    measure(*pair)
    assert all(torch.equal(*both) for both in zip(before, pair, strict=True))


def test_the_float_type_is_kept():
    for measure in MEASURES:
        for dtype in (torch.float32, torch.float64):
            p, q = torch.rand(2, 3, 5, dtype=dtype).softmax(-1), torch.rand(2, 3, 5, dtype=dtype).softmax(-1)
            assert measure(p, q).dtype == dtype
            assert measure(p, q).shape == (2, 3)


@given(distribution_pairs())
def test_gradients_are_finite_whatever_is_zero(pair):
    p, q, mask = pair
    p, q = p.requires_grad_(), q.requires_grad_()
    for value in (js_divergence(p, q, mask), js_divergence(p, q), total_variation_distance(p, q), entropy(p)):
        gradients = torch.autograd.grad(value.sum(), [p, q], allow_unused=True)
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@given(distribution_pairs())
def test_the_gradient_of_kl_is_finite_wherever_its_value_is(pair):
    p, q, mask = pair
    # Not so near to 0 that p / q, the true derivative, is beyond the largest float.
    q = q.where((p == 0) | (q > 1e-200), p)
    p, q = p.requires_grad_(), q.requires_grad_()
    value = kl_divergence(p, q, mask)
    assert value.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(value.sum(), [p, q]))


def test_an_underflowed_softmax_still_learns():
    for measure in (js_divergence, kl_divergence, lambda p, q: entropy(p)):
        # In float32 the first weights underflow to 0; an infinite derivative there would make every gradient NaN.
        scores = torch.tensor([[-200.0, 0.0, 1.0], [-200.0, -200.0, 0.0]], requires_grad=True)
        target = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
        (gradient,) = torch.autograd.grad(measure(scores.softmax(-1), target).sum(), scores)
        assert gradient.isfinite().all()
        assert (gradient[0, 1:].abs() > 0.01).all()


def test_first_and_second_derivatives_are_right():
    for measure in MEASURES:
        generator = torch.Generator().manual_seed(0)
        p, q = (torch.rand(3, 7, dtype=torch.float64, generator=generator).softmax(-1) for _ in range(2))
        p[0], q[0] = torch.tensor([0.9, 0.05, 0.02, 0.01, 0.01, 0.005, 0.005]), p[1]  # both branches of the logarithm
        p, q = p.requires_grad_(), q.requires_grad_()
        assert torch.autograd.gradcheck(measure, (p, q), eps=1e-7)
        assert torch.autograd.gradgradcheck(measure, (p, q), eps=1e-7)


def test_jsd_is_not_negative_one_digit_from_equal_and_its_gradient_is_right_there():
    for dtype, bits in ((torch.float32, torch.int32), (torch.float64, torch.int64)):
        generator = torch.Generator().manual_seed(0)
        q = torch.rand(1000, 11, dtype=dtype, generator=generator).softmax(-1)
        last_digits = torch.randint(-3, 4, q.shape, dtype=bits, generator=generator)
        p = (q.view(bits) + last_digits).view(dtype).requires_grad_()
        value = js_divergence(p, q)
        assert (value > 0).all()
        (gradient,) = torch.autograd.grad(value.sum(), p)
        # d JSD / d p = 1/2 ln(p / m)
        expected = torch.log1p((p.detach() - q).double() / (p.detach() + q).double()) / 2
        assert_close(gradient.double(), expected, atol=torch.finfo(dtype).eps, rtol=0)


def test_small_jsd_keeps_its_digits_in_float32():
    generator = torch.Generator().manual_seed(0)
    q = torch.rand(5, 11, generator=generator).softmax(-1)
    p = q * (1 + 1e-4 * torch.randn(5, 11, generator=generator))
    exact = js_divergence(p.double(), q.double())
    assert exact.max() < 1e-8
    assert_close(js_divergence(p, q).double(), exact, rtol=1e-2, atol=0)
