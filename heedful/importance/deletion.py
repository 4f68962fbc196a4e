"""Leave-one-out the plain way, for any model: every shortened text is made and run."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.importance.items import item_of_token, items_are_tokens
from heedful.importance.reading import of_similar_length
from heedful.model import trace as trace_of
from heedful.types import Batch, Model, Trace

TOKENS = 2**13
"""Run at once: a hundred short texts or a few long ones. Larger batches are slower, and take memory."""


@torch.no_grad()
def logits_by_deletion(
    model: Model, trace: Trace, chosen: Bool[Tensor, "batch item"]
) -> Float[Tensor, "batch item classes"]:
    """Logits of the text without each chosen item in turn; NaN for the others.

    Args:
        chosen: items without which some item is left.
    """
    owner = item_of_token(trace)
    logits = trace.logits.new_full((*chosen.shape, trace.logits.shape[-1]), torch.nan)
    text, item = chosen.nonzero(as_tuple=True)
    for some in of_similar_length(trace.batch.mask.sum(1)[text], TOKENS):
        shortened = without_item(trace, owner, text[some], item[some])
        logits[text[some], item[some]] = trace_of(model, shortened).logits
    return logits


def without_item(
    trace: Trace, owner: Int[Tensor, "batch time"], text: Int[Tensor, " variant"], item: Int[Tensor, " variant"]
) -> Batch:
    """The batch of these texts, each without the tokens of one item; what was behind the item moves up.

    Args:
        owner: the number of the item that each token is part of.
        text: which row of the batch each variant is made from.
        item: which item it loses.
    """
    batch = trace.batch
    keep = batch.mask[text] & (owner[text] != item[:, None])
    order = (~keep).byte().argsort(dim=1, stable=True)[:, : int(keep.sum(1).max())]
    mask, items = keep.gather(1, order), order.shape[1]
    sentence = None if batch.sentence is None else batch.sentence[text].gather(1, order)
    if sentence is not None and not items_are_tokens(trace):
        sentence = (sentence - (sentence > item[:, None]).long()).where(mask, 0)
        items = int(sentence.max()) + 1
    return Batch(
        index=batch.index[text],
        tokens=batch.tokens[text].gather(1, order),
        mask=mask,
        attendable=batch.attendable[text].gather(1, order) & mask,
        labels=batch.labels[text],
        query_tokens=None if batch.query_tokens is None else batch.query_tokens[text],
        query_mask=None if batch.query_mask is None else batch.query_mask[text],
        sentence=sentence,
        given=None if batch.given is None else _without_weight(batch.given[text], item, items),
    )


def _without_weight(
    given: Float[Tensor, "variant item"], item: Int[Tensor, " variant"], left: int
) -> Float[Tensor, "variant left"]:
    """The weights of the items that are left, made to sum to 1 again."""
    place = torch.arange(left, device=given.device)
    weights = given.gather(1, place + (place >= item[:, None]).long())
    return weights / weights.sum(1, keepdim=True)
