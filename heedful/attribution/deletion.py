"""Texts with the tokens of some items deleted: how they are made, and what any model predicts for them."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from heedful.attribution.items import item_of_token, items_are_tokens, of_similar_length
from heedful.data.batching import rows_of_batch
from heedful.models.attention import summing_to_one
from heedful.models.trace import trace as trace_of
from heedful.types import Batch, Model, Trace

Parts = Bool[Tensor, "batch part item"]
"""Several parts of each text: True on the items that are kept."""


@torch.no_grad()
def logits_by_deletion(
    model: Model,
    trace: Trace,
    keep: Parts,
    chosen: Bool[Tensor, "batch part"],
    *,
    tokens: int,
    imposed: Float[Tensor, "batch item"] | None = None,
) -> Float[Tensor, "batch part classes"]:
    """Logits of each chosen part of each text, run as a text of its own; NaN for the others.

    Args:
        chosen: parts that keep at least one item.
        tokens: how many are run in one batch, unless a single text is longer.
        imposed: log weights of the whole text, instead of attention; those of what is kept are renormalized.
    """
    word_ids = None if callable(getattr(model, "delete", None)) else item_of_token(trace)
    logits = trace.logits.new_full((*chosen.shape, trace.logits.shape[-1]), torch.nan)
    text, part = chosen.nonzero(as_tuple=True)
    lengths = keep.sum(2) if word_ids is None else _tokens_left(trace, word_ids, keep)
    for some in of_similar_length(lengths[text, part], tokens):
        kept = keep[text[some], part[some]]
        if word_ids is None:
            batch = model.delete(rows_of_batch(trace.batch, text[some]), kept)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            batch = only_items(trace, word_ids, text[some], kept)
        seen = trace_of(model, batch)
        if imposed is None:
            logits[text[some], part[some]] = seen.logits
        else:
            weights = imposed[text[some]].masked_fill(~kept, -torch.inf).softmax(-1)
            left = torch.zeros_like(seen.encoded.items, dtype=weights.dtype)
            left.masked_scatter_(seen.encoded.items, weights[kept])
            logits[text[some], part[some]] = model.decode(seen.encoded, left)
    return logits


def only_items(
    trace: Trace, word_ids: Int[Tensor, "batch time"], text: Int[Tensor, " variant"], keep: Bool[Tensor, "variant item"]
) -> Batch:
    """The batch of these texts, each with the tokens of the kept items alone; later tokens move up.

    Args:
        owner: index of the item that each token belongs to; tokens that belong to none stay.
        text: which row of the batch each variant is made from.
        keep: True on the items that stay.
    """
    batch, tokens_are_items = trace.batch, items_are_tokens(trace)
    stays = batch.mask[text] & is_kept(word_ids[text], keep)
    order = _first(stays)
    mask = stays.gather(1, order)
    sentence = None if batch.sentence is None else batch.sentence[text].gather(1, order)
    if sentence is not None and not tokens_are_items:
        # A token that belongs to no item may be numbered -1, and stays so.
        sentence = (pad(keep.long(), (1, 0)).cumsum(1) - 1).gather(1, sentence + 1)
    left = order if tokens_are_items else _first(keep)
    return Batch(
        index=batch.index[text],
        tokens=batch.tokens[text].gather(1, order),
        mask=mask,
        attendable_mask=batch.attendable_mask[text].gather(1, order) & mask,
        labels=batch.labels[text],
        query_tokens=None if batch.query_tokens is None else batch.query_tokens[text],
        query_mask=None if batch.query_mask is None else batch.query_mask[text],
        sentence=None if sentence is None else sentence.where(mask, 0),
        imposed_attention=None
        if batch.imposed_attention is None
        else summing_to_one((batch.imposed_attention[text] * keep).gather(1, left)),
    )


def is_kept(word_ids: Int[Tensor, "*batch time"], keep: Bool[Tensor, "*batch item"]) -> Bool[Tensor, "*batch time"]:
    """Whether each token stays: its item is kept, or it belongs to none."""
    return keep.gather(-1, word_ids.clamp_min(0)) | (word_ids < 0)


def _tokens_left(trace: Trace, word_ids: Int[Tensor, "batch time"], keep: Parts) -> Int[Tensor, "batch part"]:
    alone = (trace.batch.mask & (word_ids < 0)).sum(1)
    owned = torch.zeros(keep.shape[0], keep.shape[2], device=keep.device)
    owned = owned.scatter_add(1, word_ids.clamp_min(0), (trace.batch.mask & (word_ids >= 0)).float())
    # Text by text: a batch has many parts, which would take much memory as floats.
    left = [parts.float() @ tokens for parts, tokens in zip(keep, owned, strict=True)]
    return torch.stack(left).long() + alone[:, None]


def _first(stays: Bool[Tensor, "variant place"]) -> Int[Tensor, "variant some"]:
    """The positions that stay, in order, before those that do not; as many as the longest variant needs."""
    return (~stays).byte().argsort(dim=1, stable=True)[:, : int(stays.sum(1).max())]
