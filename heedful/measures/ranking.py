"""Agreement of two rankings of the same items: ties, Kendall's tau with its p-value, and the top k.

Every function takes a ragged batch at once: mask is True on real items, which may stand anywhere in the row. A row with
a NaN among its real items has no ranking, and its answer is NaN. Pairs are counted by sorting, never listed, so memory
grows with the number of items and not with its square.
"""

from functools import cache
from itertools import accumulate
from math import factorial, sqrt

import torch
from jaxtyping import Bool, Float, Int, Real, Shaped
from torch import Tensor

# Up to this many untied items the p-value of tau is always exact; scipy.stats.kendalltau draws the line here too.
EXACT_UP_TO = 33

TIED = 1e-6
"""Importances that differ by less than this share of the largest in their row are tied."""


def rank_descending(
    values: Real[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"] | None = None
) -> Int[Tensor, "*batch item"]:
    """The positions of the items, from the largest value to the smallest; positions without an item come last.

    Equal values keep their order: the lower position comes first.

    >>> rank_descending(torch.tensor([[0.2, 0.5, 0.2, 0.9]]), torch.tensor([[True, True, True, False]]))
    tensor([[1, 0, 2, 3]])
    """
    if mask is None:
        return values.argsort(dim=-1, descending=True, stable=True)
    # A second stable sort, and not a fill by minus infinity: a real item may be minus infinity too.
    order = values.where(mask, 0).argsort(dim=-1, descending=True, stable=True)
    return order.gather(-1, mask.gather(-1, order).byte().argsort(dim=-1, descending=True, stable=True))


def ties_within(
    values: Real[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
    tolerance: float = TIED,
) -> Float[Tensor, "*batch item"]:
    """Dense ranks (1 the smallest; 0 outside items), nearly equal values sharing a rank.

    Sort the row; two neighbours are tied where they are equal, or closer than tolerance x the row's largest magnitude.
    A maximal run of tied neighbours shares a rank. So the order of the items does not matter, values are tied exactly
    where a chain of close neighbours joins them, and the ends of a long chain may be further apart than the tolerance.

    Without it rounding decides: the importances of equal tokens differ in the last digit, and so does their order. Give
    the ranks to the other functions of this module in place of the values. NaN stays NaN.

    Args:
        tolerance: 0 ties equal values alone.

    >>> ties_within(torch.tensor([[0.3, 0.1, 0.3 + 1e-8, 0.2, 7.0]]), torch.tensor([[True, True, True, True, False]]))
    tensor([[3., 1., 3., 2., 0.]], dtype=torch.float64)
    """
    mask = torch.ones_like(values, dtype=torch.bool) if mask is None else mask
    undefined = values.isnan() & mask
    return _dense_ranks(values.double(), mask & ~undefined, tolerance).double().masked_fill(undefined, torch.nan)


def kendall_tau(
    a: Real[Tensor, "*batch item"],
    b: Real[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None = None,
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """Kendall's tau-b of each row of a with the same row of b, and its two-sided p-value, both in float64.

    tau = (concordant - discordant) / sqrt((pairs - pairs tied in a) (pairs - pairs tied in b)).

    From -1 (reversed) to 1 (the same order); NaN, with its p, where undefined: fewer than two items, or all of a or all
    of b tied. p is the probability of a tau at least as far from 0 if all orders are equally likely: exact if there are
    no ties and at most 33 items (or at most one pair discordant, or concordant), else by the normal approximation
    with its variance corrected for ties. Both equal scipy.stats.kendalltau, row by row.
    Jain and Wallace (2019, arXiv:1902.10186, algorithm 1) compare attention with other importances by it. Kendall
    (1945, The treatment of ties in ranking problems).

    >>> kendall_tau(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[2.0, 3.0, 5.0]]))  # 2 of 6 orders have |tau| = 1
    (tensor([1.], dtype=torch.float64), tensor([0.3333], dtype=torch.float64))
    """
    shape = a.shape[:-1]
    mask = torch.ones_like(a, dtype=torch.bool) if mask is None else mask
    a, b, mask = (tensor.reshape(-1, tensor.shape[-1]) for tensor in (a, b, mask))
    undefined = ((a.isnan() | b.isnan()) & mask).any(-1)
    a, b = (_dense_ranks(tensor.double(), mask & ~tensor.isnan(), 0.0) for tensor in (a, b))
    n = mask.sum(-1)
    pairs = n * (n - 1) // 2
    discordant, tied_in_both = _discordant_and_tied(a, b, mask)
    sizes_a, sizes_b = _group_sizes(a, mask), _group_sizes(b, mask)
    tied_a, tied_b = _pairs_within(sizes_a), _pairs_within(sizes_b)

    balance = (pairs - tied_a - tied_b + tied_in_both - 2 * discordant).double()
    undefined = undefined | (tied_a == pairs) | (tied_b == pairs)
    tau = (balance / (pairs - tied_a).double().sqrt() / (pairs - tied_b).double().sqrt()).clamp(-1, 1)
    fewest = torch.minimum(discordant, pairs - discordant)
    is_exact = (tied_a + tied_b == 0) & ((n <= EXACT_UP_TO) | (fewest <= 1))
    p = torch.where(is_exact, _exact_p(n, fewest), _asymptotic_p(n, balance, sizes_a, sizes_b))
    tau, p = tau.masked_fill(undefined, torch.nan), p.masked_fill(undefined, torch.nan)
    return tau.reshape(shape), p.reshape(shape)


def top_k_overlap(
    a: Real[Tensor, "*batch item"],
    b: Real[Tensor, "*batch item"],
    mask: Bool[Tensor, "*batch item"] | None,
    k: int,
) -> Float[Tensor, "*batch"]:
    """The share of the k largest items of each row of a that are among the k largest of the same row of b, in float64.

    |top k of a and of b| / min(k, number of items).

    Symmetric; 1 where the two sets are the same, in whatever order. Of equal values the lower position is taken first.
    NaN if there is nothing to compare: no item, or k below 1.

    >>> top_k_overlap(torch.tensor([[4.0, 3.0, 2.0, 1.0]]), torch.tensor([[1.0, 4.0, 2.0, 3.0]]), None, k=2)
    tensor([0.5000], dtype=torch.float64)
    """
    mask = torch.ones_like(a, dtype=torch.bool) if mask is None else mask
    top_a, top_b = ((rank_descending(values, mask).argsort(dim=-1) < k) & mask for values in (a, b))
    undefined = ((a.isnan() | b.isnan()) & mask).any(-1)
    return ((top_a & top_b).sum(-1).double() / top_a.sum(-1)).masked_fill(undefined, torch.nan)


def dense_ranks(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """Dense ranks, nearly equal values sharing one; what is undefined comes last."""
    return ties_within(values, items).nan_to_num(-1.0)


def top_ties(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch item"]:
    """The items that share the largest value, up to rounding.

    >>> top_ties(torch.tensor([[0.3, 0.1, 0.3, 9.0]]), torch.tensor([[True, True, True, False]]))
    tensor([[ True, False,  True, False]])
    """
    ranks = dense_ranks(values, items)
    return (ranks == ranks.masked_fill(~items, -torch.inf).amax(1, keepdim=True)) & items


def mean_over(values: Shaped[Tensor, "batch item"], chosen: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean of the chosen items' values: the expectation over one of them drawn at random; NaN without any."""
    return values.double().masked_fill(~chosen, 0.0).sum(1) / chosen.sum(1)


def _dense_ranks(
    values: Float[Tensor, "*batch item"], mask: Bool[Tensor, "*batch item"], tolerance: float
) -> Int[Tensor, "*batch item"]:
    """1 for the smallest group of tied values, 2 for the next ...; 0 outside items."""
    values = values.where(mask, -torch.inf)
    largest = values.where(mask, 0.0).abs().amax(-1, keepdim=True)
    ascending, order = values.sort(dim=-1)
    higher, lower = ascending[..., 1:], ascending[..., :-1]
    # Equality apart from the gap: a tolerance of 0 still ties equal values, and infinity - infinity is no gap.
    starts = (higher != lower) & ~(higher - lower < tolerance * largest)
    groups = torch.cat([torch.zeros_like(order[..., :1]), starts.long().cumsum(-1)], dim=-1)
    groups = torch.zeros_like(order).scatter(-1, order, groups)
    smallest = groups.masked_fill(~mask, mask.shape[-1]).amin(-1, keepdim=True)
    return (groups - smallest + 1).where(mask, 0)


def _discordant_and_tied(
    a: Int[Tensor, "batch item"], b: Int[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]
) -> tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]]:
    """The pairs that a and b order differently, and those tied in both; a and b are ranks.

    Sorted by a, and by b within ties of a, a pair is discordant exactly where b falls.
    """
    last = mask.shape[-1] + 1
    order = b.argsort(dim=-1, stable=True)
    order = order.gather(-1, a.where(mask, last).gather(-1, order).argsort(dim=-1, stable=True))
    a, b = a.where(mask, last).gather(-1, order), b.where(mask, last).gather(-1, order)
    starts = (a[:, 1:] != a[:, :-1]) | (b[:, 1:] != b[:, :-1])
    groups = torch.cat([torch.zeros_like(order[:, :1]), starts.long().cumsum(-1)], dim=-1)
    return _falling_pairs(b), _pairs_within(_group_sizes(groups, mask.gather(-1, order)))


def _falling_pairs(values: Int[Tensor, "batch item"]) -> Int[Tensor, " batch"]:
    """The number of pairs of which the earlier is the larger: a merge sort of all rows, level by level.

    No value may be larger than the number of items plus one, with which the rows are filled up to a power of two.
    """
    batch, item = values.shape
    width = 1 << (item - 1).bit_length()
    blocks = torch.nn.functional.pad(values, (0, width - item), value=item + 1)
    count = values.new_zeros(batch)
    half = 1
    while half < width:
        halves = blocks.reshape(batch, width // (2 * half), 2, half)
        left, right = halves[:, :, 0].contiguous(), halves[:, :, 1].contiguous()
        count = count + (half - torch.searchsorted(left, right, right=True)).sum((1, 2))
        half *= 2
        blocks = blocks.reshape(batch, width // half, half).sort(dim=-1).values
    return count


def _group_sizes(groups: Int[Tensor, "batch item"], mask: Bool[Tensor, "batch item"]) -> Int[Tensor, "batch group"]:
    """How many real items have each group's number; a number is at most the number of items in the row."""
    return groups.new_zeros(groups.shape[0], groups.shape[1] + 1).scatter_add(-1, groups, mask.long())


def _pairs_within(sizes: Int[Tensor, "batch group"]) -> Int[Tensor, " batch"]:
    """The number of pairs of which both are in the same group."""
    return (sizes * (sizes - 1) // 2).sum(-1)


def _asymptotic_p(
    n: Int[Tensor, " batch"],
    balance: Float[Tensor, " batch"],
    sizes_a: Int[Tensor, "batch group"],
    sizes_b: Int[Tensor, "batch group"],
) -> Float[Tensor, " batch"]:
    """The two-sided p of concordant - discordant, normal with the variance that the groups of ties leave."""
    ordered = n.double() * (n - 1)
    groupings = (n.unsqueeze(-1).double(), sizes_a.double(), sizes_b.double())
    whole, loss_a, loss_b = ((size * (size - 1) * (2 * size + 5)).sum(-1) for size in groupings)
    _, pairs_a, pairs_b = ((size * (size - 1)).sum(-1) for size in groupings)
    _, triples_a, triples_b = ((size * (size - 1) * (size - 2)).sum(-1) for size in groupings)
    variance = (whole - loss_a - loss_b) / 18 + pairs_a * pairs_b / (2 * ordered)
    variance = variance + triples_a * triples_b / (9 * ordered * (n - 2))
    return torch.erfc(balance.abs() / variance.sqrt() / sqrt(2))


def _exact_p(n: Int[Tensor, " batch"], fewest: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """The two-sided p of at most `fewest` discordant (or concordant) pairs among n untied items.

    Beyond the table only 0 and 1 are needed: 1 order of n! has no such pair, n have at most one.
    """
    table = _exact_p_table().to(n.device)
    listed = table[n.clamp_max(EXACT_UP_TO), fewest.clamp(0, table.shape[1] - 1)]
    beyond = 2 * torch.exp(-torch.lgamma((n + 1 - fewest).double()))
    return torch.where(n <= EXACT_UP_TO, listed, beyond)


@cache
def _exact_p_table() -> Float[Tensor, "n pair"]:
    """min(1, 2 P(at most c of the pairs of n items are discordant)), for each n up to EXACT_UP_TO and each c.

    As many orders of n items have c discordant pairs as of n - 1 items have c, c - 1 ... or c - n + 1: the last item
    adds 1 for each item that it is put before. Integers, so that no digit is lost before the final division.
    """
    width = EXACT_UP_TO * (EXACT_UP_TO - 1) // 2 + 1
    orders = [1] + [0] * (width - 1)
    rows = []
    for n in range(EXACT_UP_TO + 1):
        cumulative = list(accumulate(orders))
        if n > 0:
            orders = [cumulative[c] - (cumulative[c - n] if c >= n else 0) for c in range(width)]
            cumulative = list(accumulate(orders))
        rows.append([min(1.0, 2 * at_most / factorial(n)) for at_most in cumulative])
    return torch.tensor(rows, dtype=torch.float64)


# Separation of two groups of items by a value (AUROC).


def auroc_per_item(
    values: Float[Tensor, "*batch item"], others: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch item"]:
    """For each item the share of the other group's items with a smaller value; equal ones count half.

    The mean over a group is the area under the ROC curve (AUROC): the probability that a member of the group has a
    larger value than a member of the other. 1 where the group is entirely above the other, 0.5 where the two are mixed
    or all equal. NaN if the other group is empty, or the item's value is NaN. In float64.

    Args:
        others: True on the other group's items.

    >>> values = torch.tensor([[3.0, 1.0, 2.0, 2.0]])
    >>> auroc_per_item(values, torch.tensor([[False, True, False, True]]))
    tensor([[1.0000, 0.2500, 0.7500, 0.7500]], dtype=torch.float64)
    """
    undefined = values.isnan()
    others = others & ~undefined
    # Infinity, so that items outside the other group are below nothing; an infinite value only ties with them.
    ranked = values.double().masked_fill(~others, torch.inf).sort(-1).values.contiguous()
    asked = values.double().masked_fill(undefined, 0.0).contiguous()
    count = others.sum(-1, keepdim=True).double()
    below, not_above = (torch.searchsorted(ranked, asked, right=right).double() for right in (False, True))
    return ((below + not_above.minimum(count)) / (2 * count)).masked_fill(undefined, torch.nan)


# How much vectors point the same way.


def conicity(hidden: Float[Tensor, "batch item hidden"], items: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean over items of cos(h_i, m), m being the mean of the states: 1 where all point the same way.

    Near 0 where the states cancel out; 1 for a text of a single item. A state of length 0 counts as orthogonal to all.
    Mohankumar et al. (2020, section 3.1), after Chandrahas et al. (2018).

    >>> states = torch.tensor([[[3.0, 4.0], [6.0, 8.0], [9.0, 9.0]], [[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]]])
    >>> conicity(states, torch.tensor([[True, True, False], [True, True, False]]))
    tensor([1.0000, 0.7071])
    """
    states = hidden.where(items[..., None], 0.0)
    units = unit_vectors(states)
    # The mean has the direction of the sum.
    return (units * unit_vectors(states.sum(1, keepdim=True))).sum((1, 2)) / items.sum(1)


def unit_vectors(vectors: Float[Tensor, "batch item hidden"]) -> Float[Tensor, "batch item hidden"]:
    """The vectors at length 1; those of length 0 stay, and have no gradient."""
    square = vectors.square().sum(-1, keepdim=True)
    return vectors * square.where(square > 0, torch.inf).rsqrt()


def auroc_values(
    values: Float[Tensor, " item"], of: Bool[Tensor, " item"], others: Bool[Tensor, " item"]
) -> Float[Tensor, " item"]:
    """One value per item of either group, NaN for the rest: their mean is AUROC, their spread that of AUROC.

    A + N/m (V10 - A) for the m items of the group, A + N/n (V01 - A) for the n others, N = m + n, with V10 and V01 the
    shares of `auroc_per_item`: the variance of their mean is S10/m + S01/n. DeLong et al. (1988, Comparing the areas
    under two or more correlated receiver operating characteristic curves).

    >>> group = torch.tensor([True, True, False, False])
    >>> auroc_values(torch.tensor([3.0, 1.0, 2.0, 0.0]), group, ~group)  # A = .75
    tensor([1.2500, 0.2500, 0.2500, 1.2500], dtype=torch.float64)
    """
    above, below = auroc_per_item(values, others), 1 - auroc_per_item(values, of)
    area, count = above[of].nanmean(), of.sum() + others.sum()
    parts = area + (above - area) * count / of.sum(), area + (below - area) * count / others.sum()
    return parts[0].where(of, parts[1]).masked_fill(~(of | others), torch.nan)
