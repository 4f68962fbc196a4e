"""Diversity training: hidden states that do not all point the same way."""

from jaxtyping import Float
from torch import Tensor

from heedful.measures import conicity
from heedful.settings import NonNegative
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import vanilla
from heedful.types import Reference, Trace


def diversity(step: Step, *, weight: NonNegative = 0.25) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x conicity, the mean cosine between each hidden state and their mean.

    Where all states point the same way it does not matter which of them is attended to; where they differ, it does.
    The diversity LSTM of Mohankumar et al. (2020, arXiv:2004.14243, section 4.2), for any encoder. Their code has a
    weight of 0.5 and takes the cosine without its sign.
    """
    return vanilla(step) + weight * conicity(step.trace.encoded.hidden, step.trace.encoded.items)


def diversity_logs(trace: Trace, reference: Reference | None) -> dict[str, Float[Tensor, " batch"]]:
    """The `conicity` of each text."""
    return {"conicity": conicity(trace.encoded.hidden, trace.encoded.items)}


METHOD = Method(diversity, logs=diversity_logs)
