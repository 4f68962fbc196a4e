"""Leave-one-out where no state depends on another: only the weights have to be renormalized."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def contexts(
    hidden: Float[Tensor, "batch item hidden"],
    scores: Float[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
) -> Float[Tensor, "batch item hidden"]:
    """The attention-weighted sum of states without each item in turn; NaN where nothing is left.

    context without t = sum over i != t of exp(score_i) hidden_i / sum over i != t of exp(score_i).

    Computed from the sums of what stands before and after each item: linear in the length of the text, and without
    subtraction, so no precision is lost where one item has nearly all the weight.

    >>> hidden = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> contexts(hidden, torch.zeros(1, 3), torch.ones(1, 3, dtype=torch.bool))
    tensor([[[3.0000],
             [2.5000],
             [1.5000]]])
    """
    scores = scores.masked_fill(~items, -torch.inf)
    top = scores.argmax(1, keepdim=True)
    others = scores.scatter(1, top, -torch.inf)
    # The top item's weight may be so large that all others round to 0: without it they are computed anew.
    weights, rest = _exponentials(scores), _exponentials(others)
    states = torch.cat([hidden.masked_fill(~items[..., None], 0.0), torch.ones_like(hidden[..., :1])], -1)
    sums = _around(weights[..., None] * states)
    sums = sums.scatter(1, top[..., None].expand(-1, -1, states.shape[-1]), rest[:, None] @ states)
    return sums[..., :-1] / sums[..., -1:]


def _exponentials(scores: Float[Tensor, "batch item"]) -> Float[Tensor, "batch item"]:
    highest = scores.amax(1, keepdim=True)
    return (scores - highest.where(highest > -torch.inf, 0.0)).exp()


def _around(values: Float[Tensor, "batch item width"]) -> Float[Tensor, "batch item width"]:
    """The sum of all values before and after each position."""
    before = torch.nn.functional.pad(values.cumsum(1)[:, :-1], (0, 0, 1, 0))
    after = torch.nn.functional.pad(values.flip(1).cumsum(1).flip(1)[:, 1:], (0, 0, 0, 1))
    return before + after
