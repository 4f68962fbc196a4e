"""Divergences between distributions, and entropy.

All are exact, with 0 ln 0 = 0 and no epsilon inside a logarithm. Where the true derivative of x ln x is minus infinity
(at 0), autograd is given the logarithm of the smallest normal number instead, so that a single weight that underflowed
does not turn the whole gradient into NaN.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def js_divergence(
    p: Float[Tensor, "*batch item"],
    q: Float[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Jensen-Shannon divergence, in nats, of each row of p from the same row of q.

    JSD(p, q) = 1/2 KL(p || m) + 1/2 KL(q || m), with m = (p + q) / 2.

    Symmetric; never negative; 0 exactly where p = q; at most ln 2, reached on disjoint supports. Small divergences keep
    their digits: two float32 rows that differ by 1e-4 have a JSD near 1e-9, far below the rounding of a sum of x ln x.
    Jain and Wallace (2019, arXiv:1902.10186, section 4) compare attention distributions by it; their code adds 1e-10
    inside each logarithm, we do not.

    Args:
        mask: True on real items; whatever stands elsewhere counts for nothing, in the value and in the gradient.

    >>> p = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    >>> q = torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    >>> js_divergence(p, q)
    tensor([0.0000, 0.6931])
    """
    p, q = _real(p, mask), _real(q, mask)
    # No clamp at 0, which would cut the gradient: no item adds a negative, even where p and q differ in the last digit.
    return (_times_log_ratio_to_mean(p, q) + _times_log_ratio_to_mean(q, p)).sum(-1) / 2


def kl_divergence(
    p: Float[Tensor, "*batch item"],
    q: Float[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Kullback-Leibler divergence, in nats, of each row of p from the same row of q.

    KL(p || q) = sum over items of p ln(p / q).

    Not symmetric; 0 exactly where p = q; infinite where q is 0 and p is not. An item with p = 0 adds nothing. A
    tiny negative left by rounding stays, since of rows that do not sum to the same a negative is the true answer.
    Wiegreffe and Pinter (2019, arXiv:1908.04626) train their adversary on it.

    Args:
        mask: True on real items; whatever stands elsewhere counts for nothing, in the value and in the gradient.

    >>> p = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    >>> q = torch.tensor([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    >>> kl_divergence(p, q)
    tensor([0.0000, 0.6931,    inf])
    """
    p, q = _real(p, mask), _real(q, mask)
    # The floor under q stands only where p = 0, to keep 0 x infinity out; where p > 0 the infinity is the answer.
    q = torch.where(p > 0, q, q.clamp_min(_tiny(q)))
    return (p * (p.clamp_min(_tiny(p)).log() - q.log())).sum(-1)


def total_variation_distance(
    p: Float[Tensor, "*batch classes"],
    q: Float[Tensor, "*batch classes"],
    mask: Bool[Tensor, "*batch classes"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Total variation distance of each row of probabilities p from the same row of q.

    TVD(p, q) = 1/2 sum over classes of |p - q|.

    Symmetric; 0 exactly where p = q; at most 1. For two classes it is |p_1 - q_1|. Jain and Wallace (2019, section 4)
    measure by it how far an output moved. Sums over a single sigmoid unit, as in Amini and Kosseim (2022, section
    3.2, equation 1), are half of ours.

    Args:
        p: probabilities of all classes (two for a binary task); not logits.

    >>> total_variation_distance(torch.tensor([[0.75, 0.25], [1.0, 0.0]]), torch.tensor([[0.25, 0.75], [1.0, 0.0]]))
    tensor([0.5000, 0.0000])
    """
    return (_real(p, mask) - _real(q, mask)).abs().sum(-1) / 2


def entropy(
    p: Float[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Shannon entropy, in nats, of each row of p.

    H(p) = - sum over items of p ln p.

    0 where an item has all the weight; at most ln of the number of items, reached by uniform weights.

    Args:
        mask: True on real items; whatever stands elsewhere counts for nothing, in the value and in the gradient.

    >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    tensor([0.6931, 0.0000])
    """
    p = _real(p, mask)
    return (p * -p.clamp_min(_tiny(p)).log()).sum(-1)


def _times_log_ratio_to_mean(p: Float[Tensor, "*shape"], q: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """For each item p ln(p / m), with m = (p + q) / 2; 0 where p = 0.

    With tilt = (p - q) / (p + q), p / m = 1 + tilt. Where p and q are close, p - q is exact and log1p keeps its digits.
    Where p is small compared with q, 1 + tilt has lost the digits of p, and the plain ratio is right.
    """
    total = (p + q).clamp_min(_tiny(p))
    tilt = (p - q) / total
    # Each branch is clamped to where it is used: torch.where would pass on the other's infinite derivative as NaN.
    near, far = tilt.clamp_min(-0.5).log1p(), (2 * p / total).clamp_min(_tiny(p)).log()
    return p * torch.where(tilt > -0.5, near, far)


def _real(values: Float[Tensor, "*shape"], mask: Bool[Tensor, "*shape"] | None) -> Float[Tensor, "*shape"]:
    """The values where there is an item, 0 (no probability) elsewhere."""
    return values if mask is None else values.where(mask, 0.0)


def _tiny(values: Tensor) -> float:
    """The smallest normal number of the dtype."""
    return torch.finfo(values.dtype).tiny
