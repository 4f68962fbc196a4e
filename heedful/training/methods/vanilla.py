"""Plain training: predict the label."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.training.methods.method import Method, Step
from heedful.types import Trace


def label_loss(logits: Float[Tensor, "batch classes"], trace: Trace) -> Float[Tensor, " batch"]:
    """-ln p(label) of each text, by logits that may be of other embeddings or weights than the trace's."""
    return cross_entropy(logits, trace.batch.labels, reduction="none")


def vanilla(step: Step) -> Float[Tensor, " batch"]:
    """-ln p(label) of each example."""
    return label_loss(step.trace.logits, step.trace)


METHOD = Method(vanilla)
