"""Predictions when attention weights are permuted among the items: random, expected and worst permutations."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.linear_form import checked_attention, checked_item_logits, decode
from heedful.measures import js_divergence, total_variation_distance
from heedful.types import Solver

BLOCK = 4_000_000
"""The most numbers that a block of pairs of items may hold."""


@dataclass(frozen=True)
class WorstPermutation:
    """Permuted attention and how far it moves the prediction.

    Args:
        solver: `exact` for two classes, where no permutation moves it further; `search` for more, where another may.
    """

    attention: Float[Tensor, "batch item"]
    tvd: Float[Tensor, " batch"]
    solver: Solver


def permuted_logits(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    generator: torch.Generator,
    *,
    count: int = 100,
) -> Float[Tensor, "batch {count} classes"]:
    """Logits under `count` random permutations of each row's weights among its items.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.2.1, algorithm 2) draw 100 and report the median total
    variation.
    """
    # Only the places of items: the j-th item of a row takes the weight of the j-th in the drawn order.
    most = int(items.sum(-1).max())
    orders, places = random_orders(items, generator, count)[..., :most], _items_first(items)[:, :most]
    weight = checked_attention(attention, items).unsqueeze(1).expand(-1, count, -1).gather(-1, orders)
    logits = checked_item_logits(item_logits, items)
    return weight @ logits.gather(1, places.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))


def random_orders(
    items: Bool[Tensor, "batch item"], generator: torch.Generator, count: int
) -> Int[Tensor, "batch {count} item"]:
    """The items of each row in `count` random orders, all equally likely; places without an item come last.

    As many numbers are drawn as there are items, so padding changes no draw.

    >>> orders = random_orders(torch.tensor([[False, True, True]]), torch.Generator().manual_seed(0), 4)
    >>> orders[0, :, 2].tolist(), sorted(orders[0, 0, :2].tolist())
    ([0, 0, 0, 0], [1, 2])
    """
    return orders_by(order_keys(items, generator, count), items)


def order_keys(
    items: Bool[Tensor, "batch item"], generator: torch.Generator, count: int
) -> Float[Tensor, "batch {count} item"]:
    """What `random_orders` sorts items by: a random number for each, infinity outside items."""
    if count < 1:
        raise ValueError(f"count must be at least 1; it was {count}. It is the number of permutations, say 100.")
    first = torch.arange(items.shape[-1]) < items.sum(-1, keepdim=True)
    where = first.unsqueeze(1).expand(-1, count, -1)
    drawn = torch.rand(int(items.sum()) * count, dtype=torch.float64, generator=generator)
    return torch.full(where.shape, torch.inf, dtype=torch.float64).masked_scatter(where, drawn)


def orders_by(
    keys: Float[Tensor, "batch count item"], items: Bool[Tensor, "batch item"]
) -> Int[Tensor, "batch count item"]:
    """The random orders that these keys stand for."""
    # numpy sorts rows of this size five times faster than torch does.
    order = torch.from_numpy(keys.numpy().argsort(axis=-1))
    return _items_first(items).unsqueeze(1).expand_as(order).gather(-1, order)


def draw_permutations(
    items: Bool[Tensor, "batch item"], generator: torch.Generator, count: int
) -> Int[Tensor, "batch {count} item"]:
    """Uniform permutations of each row's items: where position t takes its weight from. Other positions keep their own.

    >>> draw_permutations(torch.tensor([[True, True, False]]), torch.Generator().manual_seed(0), 1)[0, 0, 2]
    tensor(2)
    """
    orders = random_orders(items, generator, count)
    places = _items_first(items).unsqueeze(1).expand_as(orders)
    own = torch.arange(items.shape[-1]).expand_as(orders)
    return torch.where(items.unsqueeze(1), torch.empty_like(orders).scatter(-1, places, orders), own)


def _items_first(items: Bool[Tensor, "batch item"]) -> Int[Tensor, "batch item"]:
    """The places of each row's items in order, then the others."""
    return (~items).int().argsort(dim=-1, stable=True)


def logits_of_permutations(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
    permutations: Int[Tensor, "batch count item"],
) -> Float[Tensor, "batch count classes"]:
    """Logits under given permutations, by a single matrix product.

    Args:
        permutations: position t takes the weight of position permutations[t].

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> swapped = torch.tensor([[[1, 0]]])
    >>> logits_of_permutations(torch.tensor([[0.75, 0.25]]), logits, torch.tensor([[True, True]]), swapped)
    tensor([[[ 0., -2.]]], dtype=torch.float64)
    """
    weight = checked_attention(attention, items).unsqueeze(1).expand(-1, permutations.shape[1], -1)
    return weight.gather(-1, permutations) @ checked_item_logits(item_logits, items)


def expected_permuted_js(
    attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    """The mean, over all n! permutations of the weights, of the divergence (JSD) of the permuted weights from them.

    JSD is a sum over items, and a random permutation gives each item each weight equally often: the mean is the sum
    over all pairs (i, j) of what a weight of attention[j] on item i would add, divided by n. Nothing is drawn.

    >>> expected_permuted_js(torch.tensor([[1.0, 0.0]]), torch.tensor([[True, True]]))  # ln 2 or 0, equally likely
    tensor([0.3466], dtype=torch.float64)
    """
    weight = checked_attention(attention, items)
    total, width = weight.new_zeros(len(weight)), weight.shape[-1]
    # What (i, j) adds, (j, i) adds too, and (i, i) nothing: each block looks at itself and at what follows it.
    for block in torch.arange(width).split(max(1, min(BLOCK // max(1, weight.numel()), -(-width // 8)))):
        onward = slice(int(block[0]), None)
        own, others = torch.broadcast_tensors(weight[:, None, onward], weight[:, block].unsqueeze(-1))
        later = torch.arange(width)[onward] > block[:, None]
        total = total + js_divergence(own, others, later & items[:, None, onward] & items[:, block, None]).sum(-1)
    return 2 * total / items.sum(-1)


def worst_permutation(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
) -> WorstPermutation:
    """The worst permutation of the weights: that which moves the prediction furthest, by total variation.

    For each ordered pair of classes the weights are sorted with the items' margin between the two, which moves that
    margin as far as any permutation can. Two classes: the worst permutation is among these two, and both are decoded,
    since either may move the prediction further. Three or more: the worst of these is a lower bound on the maximum.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> worst = worst_permutation(torch.tensor([[0.75, 0.25]]), logits, torch.tensor([[True, True]]))
    >>> worst.attention, worst.tvd, worst.solver  # sigmoid(2) - sigmoid(-2)
    (tensor([[0.2500, 0.7500]], dtype=torch.float64), tensor([0.7616], dtype=torch.float64), 'exact')
    """
    weight, logits = checked_attention(attention, items), checked_item_logits(item_logits, items)
    predicted = decode(weight, logits).softmax(-1)
    best_tvd, best = torch.full_like(predicted[:, 0], -1.0), weight
    for leading in range(logits.shape[-1]):
        arranged = _arranged(weight, logits[..., leading : leading + 1] - logits, items)
        moved = torch.einsum("bci,bik->bck", arranged, logits).softmax(-1)
        tvd, rival = total_variation_distance(moved, predicted.unsqueeze(1).expand_as(moved)).max(-1)
        better = tvd > best_tvd
        best = torch.where(better.unsqueeze(-1), arranged[torch.arange(rival.numel()), rival], best)
        best_tvd = torch.maximum(tvd, best_tvd)
    return WorstPermutation(best, best_tvd, "exact" if logits.shape[-1] == 2 else "search")


def some_permutation_flips(
    attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
) -> Bool[Tensor, " batch"]:
    """Whether any permutation of the weights changes the decision; exact for any number of classes.

    Class k can overtake the decision y if and only if the weights sorted with z_k - z_y make that margin positive (or
    0, where k comes before y and so wins ties).

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]], [[0.0, 4.0], [0.0, -1.0]]])
    >>> weights = torch.tensor([[0.75, 0.25], [0.5, 0.5]])
    >>> some_permutation_flips(weights, logits, torch.ones(2, 2, dtype=torch.bool))
    tensor([ True, False])
    """
    weight, logits = checked_attention(attention, items), checked_item_logits(item_logits, items)
    decision = decode(weight, logits).argmax(-1, keepdim=True)
    margin = logits - logits.gather(-1, decision.unsqueeze(1).expand(-1, logits.shape[1], 1))
    arranged = _arranged(weight, margin, items)
    most = (arranged * margin.transpose(1, 2)).sum(-1)
    # A sum in another order is off by rounding: what does not provably exceed the margin does not overtake it.
    rounding = (items.sum(-1, keepdim=True) + 8) * torch.finfo(weight.dtype).eps * margin.abs().amax(1)
    first_wins_ties = torch.arange(logits.shape[-1]) < decision
    moves = (arranged - weight.unsqueeze(1)).abs().amax(-1) > 0
    overtakes = (most > rounding) | ((most.abs() <= rounding) & first_wins_ties)
    return (overtakes & moves).any(-1)


def _arranged(
    weight: Float[Tensor, "batch item"],
    margin: Float[Tensor, "batch item classes"],
    items: Bool[Tensor, "batch item"],
) -> Float[Tensor, "batch classes item"]:
    """For each class, the weights permuted among the items so that the heaviest stands on the largest margin."""
    # Whatever is no item sorts first, and so do the weights of 0 there: items exchange weights among themselves alone.
    order = margin.where(items.unsqueeze(-1), -torch.inf).argsort(dim=1, stable=True).transpose(1, 2)
    sorted_weight = weight.sort(dim=-1).values
    return torch.zeros(order.shape, dtype=weight.dtype).scatter(-1, order, sorted_weight.unsqueeze(1).expand_as(order))
