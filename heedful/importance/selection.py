"""What the model says of parts of a text: some items kept, the tokens of all others deleted."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.importance.items import item_of_token, items_are_tokens
from heedful.importance.leave_one_out import weighed_items
from heedful.importance.reading import of_similar_length
from heedful.importance.scoring import SCORINGS
from heedful.model import AttentionModel, LinearAttentionModel
from heedful.model import trace as trace_of
from heedful.perturbation import reread
from heedful.types import Batch, LinearModel, Model, Trace

TOKENS = 2**10
"""Read at once: some thirty short texts. Larger batches are slower."""

Parts = Bool[Tensor, "batch part item"]
"""Several parts of each text: True on the items that are kept."""


@torch.no_grad()
def logits_of_parts(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each part of each text, read as if the other items had never been there.

    The text gets shorter, and what is left is encoded and attended to anew; start and end symbols and the query stay.
    Where nothing is left to weigh the answer is what the model says of nothing, NaN if it can not say. Imposed
    attention is made to sum to 1 again.

    Where no state depends on another only the weights change, and nothing is read again.
    """
    keep = keep & trace.encoded.items[:, None]
    is_left = (keep & weighed_items(trace)[:, None]).any(-1)
    if _is_token_wise(model):
        logits = _reweighed(model, trace, keep)
    else:
        logits = _read_again(model, trace, keep, is_left & (keep != trace.encoded.items[:, None]).any(-1))
    empty = model.empty_logits(trace.encoded) if isinstance(model, LinearModel) else trace.logits * torch.nan
    return logits.where(is_left[..., None], empty[:, None])


@torch.no_grad()
def logits_of_zeroed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each text with the embeddings of all but the kept items set to 0; the text keeps its length.

    Hu et al.'s (2023) published code takes words away so. Attention may still fall on what is zero.
    """
    owner = item_of_token(trace)
    logits = []
    for part in keep.unbind(1):
        gone = ~part.gather(1, owner.clamp_min(0)) & (owner >= 0)
        logits.append(reread(model, trace, -trace.embedded * gone[..., None]).logits)
    return torch.stack(logits, 1)


def only_items(trace: Trace, text: Tensor, keep: Bool[Tensor, "variant item"]) -> Batch:
    """The batch of these texts, each with the tokens of the kept items alone; what stood behind others moves up.

    Args:
        text: which row of the batch each variant is made from.
        keep: True on the items that stay.
    """
    batch, owner = trace.batch, item_of_token(trace)[text]
    stays = batch.mask[text] & (keep.gather(1, owner.clamp_min(0)) | (owner < 0))
    order = _first(stays)
    mask = stays.gather(1, order)
    sentence = None if batch.sentence is None else batch.sentence[text]
    if sentence is not None and not items_are_tokens(trace):
        sentence = (keep.long().cumsum(1) - 1).gather(1, sentence)
    left = order if items_are_tokens(trace) else _first(keep)
    return Batch(
        index=batch.index[text],
        tokens=batch.tokens[text].gather(1, order),
        mask=mask,
        attendable=batch.attendable[text].gather(1, order) & mask,
        labels=batch.labels[text],
        query_tokens=None if batch.query_tokens is None else batch.query_tokens[text],
        query_mask=None if batch.query_mask is None else batch.query_mask[text],
        sentence=None if sentence is None else sentence.gather(1, order).where(mask, 0),
        given=None if batch.given is None else _summing_to_one((batch.given[text] * keep).gather(1, left)),
    )


def _is_token_wise(model: Model) -> bool:
    """Whether neither an item's state nor its score depends on another; only known of models that are ours throughout.

    A hierarchical encoder's sentences are read beside one another even where its words are not.
    """
    if not isinstance(model, AttentionModel) or type(model) not in (AttentionModel, LinearAttentionModel):
        return False
    return type(model.attention) in SCORINGS and getattr(model.encoder, "token_wise", False)


def _reweighed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    weights = _summing_to_one(trace.attention[:, None] * keep)
    if isinstance(model, LinearModel):
        return weights @ model.item_logits(trace.encoded)
    return torch.stack([model.decode(trace.encoded, part) for part in weights.unbind(1)], 1)


def _read_again(
    model: Model, trace: Trace, keep: Parts, again: Bool[Tensor, "batch part"]
) -> Float[Tensor, "batch part classes"]:
    """The whole text's logits where it must not be read again."""
    logits = trace.logits[:, None].expand(-1, keep.shape[1], -1).clone()
    text, part = again.nonzero(as_tuple=True)
    for some in of_similar_length(_tokens_left(trace, keep)[text, part], TOKENS):
        variants = only_items(trace, text[some], keep[text[some], part[some]])
        logits[text[some], part[some]] = trace_of(model, variants).logits
    return logits


def _tokens_left(trace: Trace, keep: Parts) -> Tensor:
    owner = item_of_token(trace)[:, None].expand(-1, keep.shape[1], -1)
    return ((keep.gather(2, owner.clamp_min(0)) | (owner < 0)) & trace.batch.mask[:, None]).sum(-1)


def _first(stays: Bool[Tensor, "variant place"]) -> Tensor:
    """The places that stay, in their order, before those that do not; as many as the longest row needs."""
    return (~stays).byte().argsort(dim=1, stable=True)[:, : int(stays.sum(1).max())]


def _summing_to_one(weights: Float[Tensor, "*batch item"]) -> Float[Tensor, "*batch item"]:
    total = weights.sum(-1, keepdim=True)
    return weights / total.where(total > 0, 1.0)
