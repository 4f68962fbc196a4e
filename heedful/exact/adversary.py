"""Adversarial attention for two classes: exact, by listing the corners of what is allowed.

With two classes there is one margin z per item and p = sigmoid(sum of attention x z). The attentions that keep p within
eps are the simplex cut by a slab; the Jensen-Shannon divergence is convex; its maximum over a polytope is at a corner;
and a corner of a simplex cut by a slab lies on an edge of the simplex. So at most two items have weight.

The divergence of an attention q from the base splits over the items: JSD = ln 2 + sum of loss(base, q), where
loss(a, t) = (a ln a + t ln t - (a + t) ln(a + t)) / 2 is 0 where t = 0, falls in a, and is convex in t.
"""

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.linear_form import normalised_attention, two_class_margin
from heedful.measures import js_divergence

# Pairs evaluated at once: a few megabytes, so that long texts fit whatever the batch size.
PAIRS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Adversary:
    """Attention that gives the same prediction but attends elsewhere.

    Args:
        js: its divergence from the base attention; the largest possible. NaN for a single item.
        cap: the largest divergence if the prediction did not matter: g(least base weight); 0 for a single item.
        attention: an attention that attains `js`; at most two weights are not 0.
    """

    js: Float[Tensor, " batch"]
    cap: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch item"]


class Corner(NamedTuple):
    """The best corner so far, by `value`: `share` of the weight on item `first`, the rest on item `second`."""

    value: Float[Tensor, " batch"]
    first: Int[Tensor, " batch"]
    second: Int[Tensor, " batch"]
    share: Float[Tensor, " batch"]


def eps_max_js(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item 2"],
    items: Bool[Tensor, "batch item"],
    eps: float,
) -> Adversary:
    """The largest divergence from `attention` of any attention that keeps p within eps, and where it is attained.

    max over q of JSD(attention, q), subject to |p(q) - p(attention)| <= eps.

    Between 0 and the cap, which is below ln 2. High means that very different weights would have given the same
    prediction. Jain and Wallace (2019, arXiv:1902.10186, section 4.2.2, equation 1 and algorithm 3) search for it by
    gradient and so report a lower bound. An attention at the edge of what is allowed decodes to eps within rounding.

    >>> agreeing = torch.tensor([[[0.0, 2.0], [0.0, 2.0]]])  # all weight may move to the lighter item
    >>> adversary = eps_max_js(torch.tensor([[0.75, 0.25]]), agreeing, torch.tensor([[True, True]]), eps=0.01)
    >>> adversary.js, adversary.attention
    (tensor([0.3804], dtype=torch.float64), tensor([[0., 1.]], dtype=torch.float64))
    """
    base, margin = normalised_attention(attention, items), two_class_margin(item_logits, items)
    low, high = slab((base * margin).sum(-1), eps)
    best = _best_single(base, margin, items, low, high)
    for level in (low, high):
        best = best_pair_at(level, base, margin, items, best)
    furthest = spread(best, base.shape[-1])
    lightest = base.where(items, torch.inf).argmin(-1, keepdim=True)
    cap = js_divergence(base, torch.zeros_like(base).scatter(-1, lightest, 1.0), items)
    js = js_divergence(base, furthest, items)
    return Adversary(js.where(items.sum(-1) > 1, torch.nan), cap, furthest)


def prediction_survives_without_top(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item 2"],
    items: Bool[Tensor, "batch item"],
    m: int,
    eps: float,
) -> Bool[Tensor, " batch"]:
    """Whether some attention with no weight at all on the m most attended items keeps p within eps.

    It does if and only if [least z, largest z] of the other items meets [logit(p - eps), logit(p + eps)]. Of equally
    attended items the first counts as more attended. False for texts of m items or fewer: nothing is left to
    attend to, so nothing can give the answer.

    >>> logits = torch.tensor([[[0.0, 2.0], [0.0, 2.0], [0.0, -2.0]]])  # the first two items agree
    >>> three = torch.ones(1, 3, dtype=torch.bool)
    >>> prediction_survives_without_top(torch.tensor([[1.0, 0.0, 0.0]]), logits, three, m=1, eps=0.01)
    tensor([True])
    >>> prediction_survives_without_top(torch.tensor([[0.9, 0.1, 0.0]]), logits, three, m=2, eps=0.01)
    tensor([False])
    """
    base, margin = normalised_attention(attention, items), two_class_margin(item_logits, items)
    rest = without_top(base, items, m)
    low, high = slab((base * margin).sum(-1), eps)
    rounding = _rounding(margin)
    reaches_up = margin.where(rest, -torch.inf).amax(-1) >= low - rounding
    reaches_down = margin.where(rest, torch.inf).amin(-1) <= high + rounding
    return reaches_up & reaches_down & rest.any(-1)


def without_top(
    attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"], m: int
) -> Bool[Tensor, "batch item"]:
    """The items except for the m most attended; of equally attended items the first counts as more attended.

    >>> without_top(torch.tensor([[0.25, 0.5, 0.25]]), torch.tensor([[True, True, True]]), m=2)
    tensor([[False, False,  True]])
    """
    if m < 1:
        raise ValueError(f"m must be at least 1; it was {m}. It counts the most attended items to go without.")
    order = attention.where(items, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    return items.scatter(-1, order[:, :m], False)


def slab(logit: Float[Tensor, " batch"], eps: float) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """The least and largest logit whose p is within eps; infinite where p may go to 0 or 1."""
    if not 0 <= eps < 1:
        raise ValueError(f"eps must be at least 0 and below 1; it was {eps}. It bounds how far p may move, say 0.01.")
    p, q = logit.sigmoid(), (-logit).sigmoid()
    low = (p - eps).clamp_min(0).log() - (q + eps).log()
    high = (p + eps).log() - (q - eps).clamp_min(0).log()
    # The logit itself is allowed; eps = 0 on a saturated sigmoid would lose it in a difference of infinities.
    return low.fmin(logit), high.fmax(logit)


def loss_of_overlap(weight: Float[Tensor, "*#shape"], share: Float[Tensor, "*#shape"]) -> Float[Tensor, "*#shape"]:
    """The contribution (never positive) to JSD - ln 2 of an item with base weight `weight` and other weight `share`."""
    both = weight + share
    return (torch.xlogy(weight, weight) + torch.xlogy(share, share) - torch.xlogy(both, both)) / 2


def js_of_pair(
    weight: Float[Tensor, "*#shape"], other: Float[Tensor, "*#shape"], share: Float[Tensor, "*#shape"]
) -> Float[Tensor, "*#shape"]:
    """The divergence of `share` on an item of base weight `weight` and the rest on another of base weight `other`."""
    return log(2) + loss_of_overlap(weight, share) + loss_of_overlap(other, 1 - share)


def js_of_single(weight: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """g(weight): the divergence of all weight on an item of that base weight; falls from ln 2 at 0 to 0 at 1."""
    return log(2) + loss_of_overlap(weight, torch.ones_like(weight))


def spread(corner: Corner, width: int) -> Float[Tensor, "batch {width}"]:
    """The attention that a corner represents."""
    empty = corner.share.new_zeros(corner.share.shape[0], width)
    placed = torch.stack([corner.first, corner.second], -1)
    return empty.scatter_add(-1, placed, torch.stack([corner.share, 1 - corner.share], -1))


def best_pair_at(
    level: Float[Tensor, " batch"],
    base: Float[Tensor, "batch item"],
    margin: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    best: Corner,
) -> Corner:
    """`best`, or a better pair of items on either side of `level`, weighted to decode to `level` exactly.

    Items below are taken in descending order of their upper bound over all partners, until it falls to `best`.
    """
    bound, order = bound_of_pairs_at(level, base, margin, items).sort(dim=-1, descending=True, stable=True)
    level = level.unsqueeze(-1)
    best = Corner(*(part.clone() for part in best))
    rows, start, block = torch.arange(base.shape[0]), 0, 2
    while start < base.shape[-1] and (rows := rows[bound[rows, start] > best.value[rows]]).numel():
        block = max(1, min(2 * block, PAIRS_AT_ONCE // (rows.numel() * base.shape[-1])))
        first = order[rows, start : start + block]
        own, partner = margin[rows].gather(-1, first).unsqueeze(-1), margin[rows].unsqueeze(1)
        at = level[rows].unsqueeze(1)
        fits = (own < at) & (partner > at) & items[rows].unsqueeze(1) & items[rows].gather(-1, first).unsqueeze(-1)
        share = ((partner - at) / (partner - own)).where(fits, 0.0)
        own_base = base[rows].gather(-1, first).unsqueeze(-1)
        js = js_of_pair(own_base, base[rows].unsqueeze(1), share).where(fits, -torch.inf)
        _keep_better(best, rows, js, first, share)
        start += block
    return best


def bound_of_pairs_at(
    level: Float[Tensor, " batch"],
    base: Float[Tensor, "batch item"],
    margin: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
) -> Float[Tensor, "batch item"]:
    """A bound on the pairs of each item below `level` with items above, weighted to `level`; -infinity for the others.

    The partner is at least as heavy as the lightest above, and leaves the item a share between what the nearest and
    the furthest above would leave it. The divergence falls in the partner's weight and is convex in the share, so
    the bound is at either of those shares, with the lightest partner. It is sharper than g of the lighter item.
    """
    level = level.unsqueeze(-1)
    below, above = items & (margin < level) & level.isfinite(), items & (margin > level) & level.isfinite()
    lightest = base.where(above, torch.inf).amin(-1, keepdim=True)
    nearest = margin.where(above, torch.inf).amin(-1, keepdim=True)
    furthest = margin.where(above, -torch.inf).amax(-1, keepdim=True)
    ends = [js_of_pair(base, lightest, (reach - level) / (reach - margin)) for reach in (nearest, furthest)]
    return torch.maximum(*ends).where(below & above.any(-1, keepdim=True), -torch.inf)


def _keep_better(
    best: Corner,
    rows: Int[Tensor, " rows"],
    js: Float[Tensor, "rows block item"],
    first: Int[Tensor, "rows block"],
    share: Float[Tensor, "rows block item"],
) -> None:
    """Write the best of a block into `best`, which `best_pair_at` copied for itself."""
    top, place = js.flatten(1).max(-1)
    better = top > best.value[rows]
    rows, top, place = rows[better], top[better], place[better]
    best.value[rows] = top
    best.first[rows] = first[better].gather(-1, (place // js.shape[-1]).unsqueeze(-1)).squeeze(-1)
    best.second[rows] = place % js.shape[-1]
    best.share[rows] = share[better].flatten(1).gather(-1, place.unsqueeze(-1)).squeeze(-1)


def _best_single(
    base: Float[Tensor, "batch item"],
    margin: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    low: Float[Tensor, " batch"],
    high: Float[Tensor, " batch"],
) -> Corner:
    """The lightest item that gives the answer alone; a divergence of minus infinity where none does."""
    rounding = _rounding(margin)
    alone = items & (margin >= (low - rounding).unsqueeze(-1)) & (margin <= (high + rounding).unsqueeze(-1))
    value, item = js_of_single(base).where(alone, -torch.inf).max(-1)
    return Corner(value, item, item, torch.ones_like(value))


def _rounding(margin: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """How far a decoded logit may be off by rounding alone."""
    return 8 * torch.finfo(margin.dtype).eps * margin.abs().amax(-1)
