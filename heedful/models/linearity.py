"""Whether a model is linear after attention, as it says: exact answers rest on it."""

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.types import Batch, Encoded, LinearModel, Model, Trace

RANDOM_WEIGHTS = 2
"""Random weightings that are tried on each batch, beside the model's own and all weight on one item."""


@dataclass(frozen=True)
class FourVerbs:
    """A model seen through the protocol's four verbs alone: it is not taken for linear, and is answered by search."""

    model: Model

    def embed(self, batch: Batch) -> Float[Tensor, "batch time embed"]:
        """The vector of each token."""
        return self.model.embed(batch)

    def encode(self, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Encoded:
        """The hidden state of each item."""
        return self.model.encode(embedded, batch)

    def attend(self, encoded: Encoded, batch: Batch) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item"]]:
        """Scores, and the attention they give."""
        return self.model.attend(encoded, batch)

    def decode(self, encoded: Encoded, attention: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        """Logits of the items weighed by any attention."""
        return self.model.decode(encoded, attention)


@torch.no_grad()
def linear_if_so(model: Model, seen: Trace) -> Model:
    """The model; only its four verbs where it defines `item_logits` and they do not sum to its logits on this batch.

    Tried are its own attention, random weights, and all weight on the first and on the last item of each text.
    """
    if not isinstance(model, LinearModel):
        return model
    item_logits = model.item_logits(seen.encoded)
    off = max(_difference(model, seen, weights, item_logits) for weights in _weightings(seen))
    # Also where `off` is NaN.
    if off <= torch.finfo(item_logits.dtype).eps ** 0.5 * max(1.0, item_logits.abs().max().item()):
        return model
    warnings.warn(
        "the model defines `item_logits`, but `decode` does not give their sum weighted by attention (it is off by "
        f"{off:.2g}): what comes after attention is not linear. Its answers are searched for; none is called exact.",
        stacklevel=2,
    )
    return FourVerbs(model)


def _difference(
    model: Model, seen: Trace, weights: Float[Tensor, "batch item"], item_logits: Float[Tensor, "batch item classes"]
) -> float:
    summed = (weights[..., None] * item_logits.masked_fill(~seen.encoded.items[..., None], 0.0)).sum(1)
    return (model.decode(seen.encoded, weights) - summed).abs().max().item()


def _weightings(seen: Trace) -> list[Float[Tensor, "batch item"]]:
    items, generator = seen.encoded.items, torch.Generator().manual_seed(0)
    drawn = torch.randn(RANDOM_WEIGHTS, *items.shape, generator=generator).to(seen.attention)
    random = drawn.masked_fill(~items, -torch.inf).softmax(-1)
    place = torch.arange(items.shape[1], device=items.device).expand_as(items)
    first, last = place.where(items, items.shape[1]).amin(1), place.where(items, -1).amax(1)
    one_hot = [torch.zeros_like(seen.attention).scatter(1, item[:, None], 1.0) for item in (first, last)]
    return [seen.attention, *random.unbind(0), *one_hot]
