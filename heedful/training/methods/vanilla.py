"""Plain training: predict the label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.training.methods.method import Method
from heedful.types import Model, Reference, Trace


def vanilla(
    model: Model, trace: Trace, reference: Reference | None, generator: torch.Generator
) -> Float[Tensor, " batch"]:
    """-ln p(label) of each example."""
    return cross_entropy(trace.logits, trace.batch.labels, reduction="none")


METHOD = Method(vanilla)
