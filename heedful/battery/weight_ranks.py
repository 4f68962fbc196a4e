"""The log weights of items, and their places in a ranking, nearly equal values sharing one."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from heedful.exact import log_weights
from heedful.measures import ties_within

LOG_STEP = 1e-6
"""Log weights that differ by less than this are tied."""
NO_WEIGHT = -1e100
"""The log weight of 0 where a finite one is needed."""


def log_attention_of(
    scores: Float[Tensor, "batch item"],
    attention: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
    temperatures: Sequence[float],
) -> Float[Tensor, "batch item"]:
    """Log weights, -inf where there is no item or no weight.

    From the scores where attention is their softmax at one of the temperatures: however sharp attention is, what
    remains after an erasure then has its shape.

    Args:
        temperatures: the model's own first: where attention is nearly one-hot, any would fit.
    """
    for temperature in temperatures:
        barred = (scores / temperature).masked_fill(~items, -torch.inf)
        if torch.allclose(barred.softmax(-1), attention, rtol=1e-6, atol=1e-12):
            return barred.log_softmax(-1)
    return log_weights(attention.masked_fill(~items, 0.0))


def log_weight_ranks(
    log_attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item"]:
    """Dense ranks of log weights, 1 the smallest; those that differ by less than LOG_STEP are tied."""
    steps = (log_attention.nan_to_num(neginf=NO_WEIGHT) / LOG_STEP).round()
    return ties_within(steps, items, tolerance=0.0)


def dense_ranks(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    """Dense ranks, nearly equal values sharing one; what is undefined comes last."""
    return ties_within(values, items).nan_to_num(-1.0)


def top_ties(values: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch item"]:
    """The items that share the largest value, but for rounding.

    >>> top_ties(torch.tensor([[0.3, 0.1, 0.3, 9.0]]), torch.tensor([[True, True, True, False]]))
    tensor([[ True, False,  True, False]])
    """
    ranks = dense_ranks(values, items)
    return (ranks == ranks.masked_fill(~items, -torch.inf).amax(1, keepdim=True)) & items


def mean_over(values: Shaped[Tensor, "batch item"], chosen: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean of the chosen items' values: the expectation over one of them drawn at random; NaN without any."""
    return values.double().masked_fill(~chosen, 0.0).sum(1) / chosen.sum(1)
