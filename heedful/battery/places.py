"""The places of items in a ranking, nearly equal values sharing one."""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from heedful.measures import ties_within


def dense_ranks(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """Dense ranks, nearly equal values sharing one; what is undefined comes last."""
    return ties_within(values, items).nan_to_num(-1.0)


def first_place(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch item"]:
    """The items that share the largest value, but for rounding.

    >>> first_place(torch.tensor([[0.3, 0.1, 0.3, 9.0]]), torch.tensor([[True, True, True, False]]))
    tensor([[ True, False,  True, False]])
    """
    ranks = dense_ranks(values, items)
    return (ranks == ranks.masked_fill(~items, -torch.inf).amax(1, keepdim=True)) & items


def mean_over(values: Shaped[Tensor, "batch item"], chosen: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean of the chosen items' values: the expectation over one of them drawn at random; NaN without any."""
    return values.double().masked_fill(~chosen, 0.0).sum(1) / chosen.sum(1)
