"""Diversity training: hidden states that do not all point the same way."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.settings import NonNegative
from heedful.training.methods.method import Method
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def diversity(
    model: Model, trace: Trace, reference: Reference | None, generator: torch.Generator, *, weight: NonNegative = 0.25
) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x conicity, the mean cosine between each hidden state and their mean.

    Where all states point the same way it does not matter which of them is attended to; where they differ, it does.
    The diversity LSTM of Mohankumar et al. (2020, arXiv:2004.14243, section 4.2), for any encoder. Their code has a
    weight of 0.5 and takes the cosine without its sign.
    """
    return vanilla(model, trace, reference, generator) + weight * conicity(trace.encoded.hidden, trace.encoded.items)


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


def diversity_logs(trace: Trace, reference: Reference | None) -> dict[str, Float[Tensor, " batch"]]:
    """The `conicity` of each text."""
    return {"conicity": conicity(trace.encoded.hidden, trace.encoded.items)}


METHOD = Method(diversity, logs=diversity_logs)
