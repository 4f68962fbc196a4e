"""Texts of which some items are kept and the tokens of all others deleted: how they are made, and read by any model."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from heedful.attribution.items import item_of_token, items_are_tokens
from heedful.attribution.reading import of_similar_length
from heedful.models.trace import trace as trace_of
from heedful.types import Batch, Model, Trace

Parts = Bool[Tensor, "batch part item"]
"""Several parts of each text: True on the items that are kept."""


@torch.no_grad()
def logits_by_deletion(
    model: Model, trace: Trace, keep: Parts, chosen: Bool[Tensor, "batch part"], *, tokens: int
) -> Float[Tensor, "batch part classes"]:
    """Logits of each chosen part of each text, written out and read as a text of its own; NaN for the others.

    Args:
        chosen: parts that keep an item at least.
        tokens: how many are read at once, or one text.
    """
    owner = item_of_token(trace)
    logits = trace.logits.new_full((*chosen.shape, trace.logits.shape[-1]), torch.nan)
    text, part = chosen.nonzero(as_tuple=True)
    for some in of_similar_length(_tokens_left(trace, owner, keep)[text, part], tokens):
        shortened = only_items(trace, owner, text[some], keep[text[some], part[some]])
        logits[text[some], part[some]] = trace_of(model, shortened).logits
    return logits


def only_items(
    trace: Trace, owner: Int[Tensor, "batch time"], text: Int[Tensor, " variant"], keep: Bool[Tensor, "variant item"]
) -> Batch:
    """The batch of these texts, each with the tokens of the kept items alone; what stood behind others moves up.

    Args:
        owner: the number of the item that each token is part of; tokens that are part of none stay.
        text: which row of the batch each variant is made from.
        keep: True on the items that stay.
    """
    batch, tokens_are_items = trace.batch, items_are_tokens(trace)
    stays = batch.mask[text] & is_kept(owner[text], keep)
    order = _first(stays)
    mask = stays.gather(1, order)
    sentence = None if batch.sentence is None else batch.sentence[text].gather(1, order)
    if sentence is not None and not tokens_are_items:
        # A token that is part of no item may be numbered -1, and stays so.
        sentence = (pad(keep.long(), (1, 0)).cumsum(1) - 1).gather(1, sentence + 1)
    left = order if tokens_are_items else _first(keep)
    return Batch(
        index=batch.index[text],
        tokens=batch.tokens[text].gather(1, order),
        mask=mask,
        attendable=batch.attendable[text].gather(1, order) & mask,
        labels=batch.labels[text],
        query_tokens=None if batch.query_tokens is None else batch.query_tokens[text],
        query_mask=None if batch.query_mask is None else batch.query_mask[text],
        sentence=None if sentence is None else sentence.where(mask, 0),
        imposed_attention=None
        if batch.imposed_attention is None
        else summing_to_one((batch.imposed_attention[text] * keep).gather(1, left)),
    )


def is_kept(owner: Int[Tensor, "*batch time"], keep: Bool[Tensor, "*batch item"]) -> Bool[Tensor, "*batch time"]:
    """Of each token, whether its item is kept, or it is part of none."""
    return keep.gather(-1, owner.clamp_min(0)) | (owner < 0)


def summing_to_one(weights: Float[Tensor, "*batch item"]) -> Float[Tensor, "*batch item"]:
    """The weights of each row divided by their sum; where all are 0 they stay so.

    >>> summing_to_one(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    total = weights.sum(-1, keepdim=True)
    return weights / total.where(total > 0, 1.0)


def _tokens_left(trace: Trace, owner: Int[Tensor, "batch time"], keep: Parts) -> Int[Tensor, "batch part"]:
    alone = (trace.batch.mask & (owner < 0)).sum(1)
    owned = torch.zeros(keep.shape[0], keep.shape[2], device=keep.device)
    owned = owned.scatter_add(1, owner.clamp_min(0), (trace.batch.mask & (owner >= 0)).float())
    # Text by text: the parts of a batch are many, and as floats they would take much room.
    left = [parts.float() @ tokens for parts, tokens in zip(keep, owned, strict=True)]
    return torch.stack(left).long() + alone[:, None]


def _first(stays: Bool[Tensor, "variant place"]) -> Int[Tensor, "variant some"]:
    """The places that stay, in their order, before those that do not; as many as the longest row needs."""
    return (~stays).byte().argsort(dim=1, stable=True)[:, : int(stays.sum(1).max())]
