"""How much vectors point the same way."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


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
