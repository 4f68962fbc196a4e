"""What the model predicts without each item in turn, by the fastest exact method that the model allows."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.convolution import contexts_without_each
from heedful.attribution.linear_parts import has_own_parts, of_contexts
from heedful.attribution.subsets import logits_of_subsets
from heedful.attribution.variants import VariantReader, variant_reader
from heedful.models.encoders.cnn import Cnn
from heedful.types import Model, Trace

CELLS = 2**20
"""Places of shortened texts, over a batch, that are read at a time."""


@torch.no_grad()
def leave_one_out(
    model: Model,
    trace: Trace,
    imposed: Float[Tensor, "batch item"] | None = None,
    *,
    reader: VariantReader | None = None,
) -> Float[Tensor, "batch item classes"]:
    """Logits after each item alone is deleted, all else encoded and attended to anew; NaN where there is no item.

    The text gets shorter by the item: a token, or a whole sentence of a hierarchical model. Start and end symbols and
    the query stay. Imposed attention is renormalized to sum to 1. NaN as well where no weight is left (the only item is
    gone, or all that imposed attention weighs): the model's answer to nothing says nothing about the text.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.1, algorithm 1) take as importance the total variation distance
    between the probabilities with and without the item. For Heedful's own encoders there are faster methods than to run
    every shortened text (see `logits_of_subsets`), which is what is done for transformers, where every state depends on
    every other, and for any other model; all are exact. A pretrained encoder (`hf:`) reads the shortened text anew,
    too: the word is gone before it reads, not only after it.

    Args:
        trace: what this model, in evaluation mode, computed for a batch.
        imposed: log weights to impose instead of attending anew; those of the items that remain are renormalized. NaN
            where none of these has weight.
        reader: of variants of these texts, if there is one already.
    """
    items = trace.encoded.items
    if has_own_parts(model) and type(model.encoder) is Cnn:
        logits = of_contexts(model.head, trace.encoded).finish(contexts_without_each(model, trace, imposed))
        # A head may hold the logit of a class at 0, whatever it is given.
        return logits.where((items & ~logits.isnan().any(-1))[..., None], torch.nan)
    reader = reader or variant_reader(model, trace)
    logits = []
    for gaps in torch.arange(items.shape[1], device=items.device).split(max(1, CELLS // items.numel())):
        is_gap = torch.nn.functional.one_hot(gaps, items.shape[1]).bool()
        logits.append(logits_of_subsets(model, trace, items[:, None] & ~is_gap, imposed, reader=reader))
    return torch.cat(logits, 1).masked_fill(~items[..., None], torch.nan)
