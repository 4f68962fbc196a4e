"""The perturbation of the weights, within a ball, that raises a weighted sum the most: a closed form for each norm.

Four sets of perturbations: free; zero-sum, so that the weights keep their sum (and may turn negative); keeping every
weight in [0, 1]; keeping the weights on the simplex. Each function takes `direction`, the increase of the sum per
unit of each weight, and returns the perturbation that adds most; it is 0 outside items. What it adds at
radius 1 in a free or zero-sum ball is the norm dual to the ball's.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Norm = Literal["l1", "l2", "linf"]
ItemValues = Float[Tensor, "*batch item"]
Mask = Bool[Tensor, "*batch item"]


def steepest_free(direction: ItemValues, items: Mask, radius: float, norm: Norm) -> ItemValues:
    """The perturbation in the ball that adds most.

    >>> steepest_free(torch.tensor([[3.0, -4.0]]), torch.tensor([[True, True]]), 1.0, "l2")
    tensor([[ 0.6000, -0.8000]])
    """
    return _FREE[norm](direction.where(items, 0.0), items, _checked(radius))


def steepest_zero_sum(direction: ItemValues, items: Mask, radius: float, norm: Norm) -> ItemValues:
    """The perturbation in the ball that adds most among those that sum to 0.

    >>> steepest_zero_sum(torch.tensor([[3.0, 5.0, 1.0]]), torch.tensor([[True, True, True]]), 1.0, "l1")
    tensor([[ 0.0000,  0.5000, -0.5000]])
    """
    return _ZERO_SUM[norm](direction.where(items, 0.0), items, _checked(radius))


def steepest_in_box(direction: ItemValues, attention: ItemValues, items: Mask, radius: float, norm: Norm) -> ItemValues:
    """The perturbation in the ball that adds most and leaves every weight between 0 and 1.

    >>> two = torch.tensor([[True, True]])
    >>> steepest_in_box(torch.tensor([[1.0, -1.0]]), torch.tensor([[0.75, 0.25]]), two, 0.5, "linf")
    tensor([[ 0.2500, -0.2500]])
    """
    direction = direction.where(items, 0.0)
    room = torch.where(direction > 0, 1 - attention, attention).where(items, 0.0)
    return direction.sign() * _BOX[norm](direction.abs(), room, _checked(radius))


def steepest_on_simplex(
    direction: ItemValues, attention: ItemValues, items: Mask, radius: float, norm: Norm
) -> ItemValues:
    """The perturbation in the ball that adds most, keeps the sum of the weights, and leaves none negative.

    >>> three = torch.tensor([[True, True, True]])
    >>> steepest_on_simplex(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0.5, 0.3, 0.2]]), three, 0.5, "l1")
    tensor([[ 0.2500, -0.0500, -0.2000]])
    """
    return _SIMPLEX[norm](direction.where(items, 0.0), attention.where(items, 0.0), items, _checked(radius))


def project_on_simplex(point: ItemValues, items: Mask, total: Float[Tensor, "*batch 1"]) -> ItemValues:
    """The nearest point that has no negative entry and sums to `total`; 0 outside items.

    >>> project_on_simplex(torch.tensor([[1.0, 0.5, -3.0]]), torch.tensor([[True, True, True]]), torch.ones(1, 1))
    tensor([[0.7500, 0.2500, 0.0000]])
    """
    ordered, order = point.where(items, -torch.inf).sort(dim=-1, descending=True)
    real = items.gather(-1, order)
    excess = (ordered.where(real, 0.0).cumsum(-1) - total) / torch.arange(1, point.shape[-1] + 1, device=point.device)
    kept = ((ordered > excess) & real).sum(-1, keepdim=True)
    return (point - excess.gather(-1, (kept - 1).clamp_min(0))).clamp_min(0).where(items, 0.0)


def _checked(radius: float) -> float:
    if not radius >= 0:
        raise ValueError(f"radius must be 0 or more; it was {radius}. It bounds how far the weights may move, say 0.1.")
    return radius


def _one_hot_at_max(direction: ItemValues, highest: ItemValues) -> ItemValues:
    """1 at the first largest entry of `highest`, in the dtype of `direction`."""
    return torch.zeros_like(direction).scatter(-1, highest.argmax(-1, keepdim=True), 1.0)


def _centred(direction: ItemValues, items: Mask) -> ItemValues:
    count = items.sum(-1, keepdim=True)
    mean = direction.where(items, 0.0).sum(-1, keepdim=True) / count
    centred = (direction - mean).where(items, 0.0)
    # Of equal items nothing is left but the rounding of their mean, which must not be scaled up to a direction.
    return centred.where(centred.abs().amax(-1, keepdim=True) > rounding_of(direction, count), 0.0)


def rounding_of(values: ItemValues, count: Int[Tensor, "*batch 1"]) -> Float[Tensor, "*batch 1"]:
    """How far a sum of `count` of the values, or a difference from their mean, may be off by rounding alone."""
    return (count + 8) * torch.finfo(values.dtype).eps * values.abs().amax(-1, keepdim=True)


def _scaled(direction: ItemValues, radius: float) -> ItemValues:
    length = torch.linalg.vector_norm(direction, dim=-1, keepdim=True)
    return radius * direction / length.where(length > 0, 1.0)


def _free_l1(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    return radius * direction.sign() * _one_hot_at_max(direction, direction.abs())


def _free_l2(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    return _scaled(direction, radius)


def _free_linf(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    return radius * direction.sign()


def _zero_sum_l1(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    top = _one_hot_at_max(direction, direction.where(items, -torch.inf))
    bottom = _one_hot_at_max(direction, -direction.where(items, torch.inf))
    return radius / 2 * (top - bottom)


def _zero_sum_l2(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    return _scaled(_centred(direction, items), radius)


def _zero_sum_linf(direction: ItemValues, items: Mask, radius: float) -> ItemValues:
    """Up for the items above the median, down for those below; by rank, so that ties still sum to 0."""
    rank = direction.where(items, torch.inf).argsort(dim=-1, stable=True).argsort(dim=-1)
    side = (2 * rank - (items.sum(-1, keepdim=True) - 1)).sign()
    return radius * side.to(direction.dtype).where(items, 0.0)


def _filled(value: ItemValues, room: ItemValues, budget: Float[Tensor, "*#batch 1"] | float) -> ItemValues:
    """How much goes to each place if the most valuable are filled first, until the budget is spent (a knapsack)."""
    order = value.argsort(dim=-1, descending=True, stable=True)
    ordered = room.gather(-1, order)
    spent = ordered.cumsum(-1) - ordered
    return torch.zeros_like(room).scatter(-1, order, torch.minimum((budget - spent).clamp_min(0), ordered))


def _box_l2(value: ItemValues, room: ItemValues, radius: float) -> ItemValues:
    """In proportion to value, except for the positions that are full: step x value, cut at room, with length `radius`.

    Places fill up in the order of room / value. With the first j of them full the step follows from the length that
    is left; the right j is the first whose step does not overfill the next place.
    """
    fills_at = (room / value).where(value > 0, torch.inf)
    ordered, order = fills_at.sort(dim=-1)
    full = room.where(value > 0, 0.0).gather(-1, order).square()
    full_before = full.cumsum(-1) - full
    value_left = value.gather(-1, order).square().flip(-1).cumsum(-1).flip(-1)
    step = ((radius**2 - full_before).clamp_min(0) / value_left).sqrt()
    fits = (step <= ordered) & (value_left > 0)
    step = step.gather(-1, fits.int().argmax(-1, keepdim=True)).where(fits.any(-1, keepdim=True), torch.inf)
    return torch.minimum(step * value, room).where(value > 0, 0.0)


def _box_linf(value: ItemValues, room: ItemValues, radius: float) -> ItemValues:
    return room.clamp_max(radius)


def _simplex_l1(direction: ItemValues, attention: ItemValues, items: Mask, radius: float) -> ItemValues:
    """Half the radius is taken from the places of least value and given to that of most."""
    taken = _filled(-direction, attention, radius / 2)
    return taken.sum(-1, keepdim=True) * _one_hot_at_max(direction, direction.where(items, -torch.inf)) - taken


def _simplex_l2(direction: ItemValues, attention: ItemValues, items: Mask, radius: float) -> ItemValues:
    """The projection of attention + step x direction on the simplex, at the step whose projection is `radius` away.

    The distance grows with the step, so the step follows by bisection, on a logarithmic scale: for the shortest step
    that can be needed nothing is cut off, and past the longest all weight is on the places of most value.
    """
    # Measured from its largest entry: however long the step, the entries near the top keep their digits.
    direction = (direction - direction.where(items, -torch.inf).amax(-1, keepdim=True)).where(items, 0.0)
    total = attention.sum(-1, keepdim=True)
    length = torch.linalg.vector_norm(_centred(direction, items), dim=-1, keepdim=True)
    length = length.where(length > 0, 1.0)
    low, high = torch.log(radius / length), torch.log((radius + 2e13) / length)
    for _ in range(100):
        middle = (low + high) / 2
        moved = project_on_simplex(attention + middle.exp() * direction, items, total) - attention
        near = torch.linalg.vector_norm(moved, dim=-1, keepdim=True) <= radius
        low, high = middle.where(near, low), high.where(near, middle)
    return project_on_simplex(attention + low.exp() * direction, items, total) - attention


def _simplex_linf(direction: ItemValues, attention: ItemValues, items: Mask, radius: float) -> ItemValues:
    """All is taken that may be, and given back to the places of most value, up to radius above where they were."""
    taken = attention.clamp_max(radius)
    room = (taken + radius).where(items, 0.0)
    given = _filled(direction.where(items, -torch.inf), room, taken.sum(-1, keepdim=True))
    return given - taken


_FREE = {"l1": _free_l1, "l2": _free_l2, "linf": _free_linf}
_ZERO_SUM = {"l1": _zero_sum_l1, "l2": _zero_sum_l2, "linf": _zero_sum_linf}
_BOX = {"l1": _filled, "l2": _box_l2, "linf": _box_linf}
_SIMPLEX = {"l1": _simplex_l1, "l2": _simplex_l2, "linf": _simplex_linf}
