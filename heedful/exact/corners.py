"""The corners of a polytope of attentions for three classes, listed: its most different attention, exactly.

Three classes leave a plane of logits, in which the limits are up to six sides of a polygon. A corner of the polytope
is an item inside the polygon, a pair of items weighted to lie on a side, or three items weighted to lie on a corner of
the polygon. The divergence is convex, so the corner where it is largest is the attention where it is largest.
"""

from itertools import permutations
from math import log
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import loss_of_overlap
from heedful.exact.polytope import Limits, Solution

# How far outside a side, in logits, a corner may lie by rounding and still count.
ROUNDING = 1e-9


class Polygon(NamedTuple):
    """The points with normals @ point <= reach."""

    normals: Float[Tensor, "sides 2"]
    reach: Float[Tensor, " sides"]


def most_different_corner(
    weight: Float[Tensor, " item"], logits: Float[Tensor, "item 3"], limits: Limits
) -> Solution | None:
    """The attention within the limits furthest from `weight`, and its divergence; None where none is within them.

    >>> weight, logits = torch.tensor([0.75, 0.25]), torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> most_different_corner(weight, logits, Limits(torch.tensor([0.9, -0.1, -0.1]), torch.tensor([1.1, 0.1, 0.1])))
    Solution(attention=tensor([0., 1.]), bound=0.3803...)
    """
    polygon, points = _polygon(limits), logits[:, :2] - logits[:, 2:]
    corners = [_singles(points, polygon), _pairs(points, polygon), _triples(points, polygon)]
    places, shares = (torch.cat(parts) for parts in zip(*corners, strict=True))
    if not shares.numel():
        return None
    js = log(2) + loss_of_overlap(weight[places], shares).sum(-1)
    best = js.argmax()
    return Solution(torch.zeros_like(weight).scatter_add(0, places[best], shares[best]), float(js[best]))


def _polygon(limits: Limits) -> Polygon:
    """u[k] - u[l] <= high[k] - low[l] for every two classes, in the plane of (u[0] - u[2], u[1] - u[2])."""
    axes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], dtype=limits.high.dtype)
    above, below = torch.tensor(list(permutations(range(3), 2))).unbind(-1)
    normals, reach = axes[above] - axes[below], limits.high[above] - limits.low[below]
    return Polygon(normals[reach.isfinite()], reach[reach.isfinite()])


def _inside(points: Float[Tensor, "*n 2"], polygon: Polygon) -> Bool[Tensor, "*n"]:
    return (points @ polygon.normals.T <= polygon.reach + ROUNDING).all(-1)


def _singles(points: Float[Tensor, "item 2"], polygon: Polygon) -> tuple[Int[Tensor, "n 3"], Float[Tensor, "n 3"]]:
    item = _inside(points, polygon).nonzero()
    return item.expand(-1, 3), points.new_tensor([1.0, 0.0, 0.0]).expand(item.shape[0], 3)


def _pairs(points: Float[Tensor, "item 2"], polygon: Polygon) -> tuple[Int[Tensor, "n 3"], Float[Tensor, "n 3"]]:
    first, second = torch.triu_indices(points.shape[0], points.shape[0], 1)
    height = points @ polygon.normals.T
    share = (polygon.reach - height[second]) / (height[first] - height[second])
    between = points[first].unsqueeze(1) * share.unsqueeze(-1) + points[second].unsqueeze(1) * (1 - share).unsqueeze(-1)
    pair, side = ((share >= 0) & (share <= 1) & _inside(between, polygon)).nonzero(as_tuple=True)
    share = share[pair, side]
    places = torch.stack([first[pair], second[pair], second[pair]], -1)
    return places, torch.stack([share, 1 - share, torch.zeros_like(share)], -1)


def _triples(points: Float[Tensor, "item 2"], polygon: Polygon) -> tuple[Int[Tensor, "n 3"], Float[Tensor, "n 3"]]:
    sides = torch.combinations(torch.arange(polygon.reach.numel()), 2).reshape(-1, 2)
    # Parallel sides do not meet; their determinant is 0 and the quotient not a number, which is inside nothing.
    corner = _solved(polygon.normals[sides], polygon.reach[sides])
    corner = corner[_inside(corner, polygon)]
    triples = torch.combinations(torch.arange(points.shape[0]), 3).reshape(-1, 3)
    origin = points[triples[:, 2]]
    edges = (points[triples[:, :2]] - origin.unsqueeze(1)).transpose(1, 2)
    shares = _solved(edges.unsqueeze(1), corner - origin.unsqueeze(1))
    shares = torch.cat([shares, 1 - shares.sum(-1, keepdim=True)], -1)
    triple, place = (shares >= 0).all(-1).nonzero(as_tuple=True)
    return triples[triple], shares[triple, place]


def _solved(matrix: Float[Tensor, "*#n 2 2"], right: Float[Tensor, "*#n 2"]) -> Float[Tensor, "*n 2"]:
    """The solutions of two equations each, by Cramer's rule."""
    (a, b), (c, d) = (row.unbind(-1) for row in matrix.unbind(-2))
    first, second = right.unbind(-1)
    return torch.stack([first * d - b * second, a * second - first * c], -1) / (a * d - b * c).unsqueeze(-1)
