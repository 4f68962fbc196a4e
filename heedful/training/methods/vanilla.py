"""Plain training: predict the label."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.training.methods.method import Method
from heedful.types import Model, Reference, Trace


def label_loss(logits: Float[Tensor, "batch classes"], trace: Trace) -> Float[Tensor, " batch"]:
    """-ln p(label) of each text, by logits that may be of other embeddings or weights than the trace's."""
    return cross_entropy(logits, trace.batch.labels, reduction="none")


def vanilla(
    model: Model, trace: Trace, reference: Reference | None, generator: torch.Generator
) -> Float[Tensor, " batch"]:
    """-ln p(label) of each example."""
    return label_loss(trace.logits, trace)


METHOD = Method(vanilla)
