"""A batch run through any model: everything that it computes on the way."""

from jaxtyping import Float
from torch import Tensor

from heedful.types import Batch, Encoded, Model, Trace


def trace(model: Model, batch: Batch) -> Trace:
    """Everything the model computes on its way from the batch to its logits."""
    embedded = model.embed(batch)
    encoded = model.encode(embedded, batch)
    scores, attention = model.attend(encoded, batch)
    return Trace(batch, embedded, encoded, scores, attention, model.decode(encoded, attention))


def rerun(model: Model, trace: Trace, change: Float[Tensor, "batch time embed"]) -> Trace:
    """Everything the model computes for the same texts when `change` is added to their embeddings."""
    embedded = trace.embedded + change
    encoded = model.encode(embedded, trace.batch)
    scores, attention = model.attend(encoded, trace.batch)
    return Trace(trace.batch, embedded, encoded, scores, attention, model.decode(encoded, attention))


def detached(encoded: Encoded) -> Encoded:
    """The same states as constants, so that a search over them does not backpropagate through the encoder."""
    query = None if encoded.query is None else encoded.query.detach()
    return Encoded(encoded.hidden.detach(), encoded.items, query)
