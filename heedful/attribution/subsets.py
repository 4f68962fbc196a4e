"""What the model predicts for parts of a text: some items kept, the tokens of all others deleted."""

import numpy
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.attribution.deletion import Parts, is_kept, logits_by_deletion
from heedful.attribution.items import item_of_token, maps_tokens
from heedful.attribution.linear_parts import has_own_parts
from heedful.attribution.prefix_tree import NOTHING
from heedful.attribution.variants import VariantReader, variant_reader
from heedful.data.batching import rows_of_batch
from heedful.models.abilities import linear, own_parts
from heedful.models.attention_model import AttentionModel
from heedful.types import Batch, Model, Trace

TOKENS = 2**10
"""Tokens run in one batch: parts are short, and larger batches of them are slower."""


@torch.no_grad()
def logits_of_subsets(
    model: Model,
    trace: Trace,
    keep: Parts,
    imposed: Float[Tensor, "batch item"] | None = None,
    *,
    reader: VariantReader | None = None,
) -> Float[Tensor, "batch part classes"]:
    """Logits of each part of each text, as if the other items had never been there.

    The text gets shorter, and the rest is encoded and attended to again; start and end symbols and the query stay.
    NaN if nothing is left to weigh. Imposed attention of the batch is renormalized to sum to 1.

    Where no state depends on another only the weights change, and nothing is encoded again. A recurrent network reads
    each distinct beginning and ending once.

    Args:
        imposed: log weights to impose instead of attending again; those of what is kept are renormalized.
        reader: reader of variants of these texts, if there is one already.
    """
    items = trace.encoded.items[:, None]
    keep = keep & items
    is_left = (keep & _weighed_items(trace)[:, None]).any(-1)
    is_shorter = is_left & (keep != items).any(-1)
    if imposed is not None:
        imposed = imposed.masked_fill(~trace.encoded.items, -torch.inf)
    whole = trace.logits if imposed is None else model.decode(trace.encoded, imposed.softmax(-1))
    # A hierarchical encoder reads its sentences in context even where it reads its words alone.
    if has_own_parts(model) and getattr(model.encoder, "token_wise", False):
        logits = _reweighed(model, trace, keep, trace.scores / model.temperature if imposed is None else imposed)
    elif reader := reader or variant_reader(model, trace):
        sequences = _sequences(reader, trace, keep, is_shorter)
        logits = reader.logits(sequences, None if imposed is None else imposed[trace.batch.mask])
    else:
        logits = logits_by_deletion(model, trace, keep, is_shorter, tokens=TOKENS, imposed=imposed)
    logits = logits.where(is_shorter[..., None], whole[:, None])
    # A head may hold the logit of a class at 0, whatever it is given.
    return logits.where((is_left & ~logits.isnan().any(-1))[..., None], torch.nan)


def _weighed_items(trace: Trace) -> Bool[Tensor, "batch item"]:
    """The items that have, or could have, some weight: all but those to which imposed attention gives none."""
    items, imposed = trace.encoded.items, trace.batch.imposed_attention
    if imposed is None or imposed.shape != items.shape:
        return items
    weighed = items & (imposed > 0)
    # A batch may carry weights that this model's attention does not use: then its zeros are elsewhere.
    return weighed if torch.equal(weighed, items & (trace.attention > 0)) else items


def _sequences(
    reader: VariantReader, trace: Trace, keep: Parts, chosen: Bool[Tensor, "batch part"]
) -> Int[ndarray, "batch part place"]:
    """The tokens of each chosen part, as the reader numbers them."""
    batch = trace.batch
    stays = ((batch.mask & ~batch.attendable_mask)[:, None] | keep) & chosen[..., None]
    text, part, place = (index.cpu().numpy() for index in stays.nonzero(as_tuple=True))
    # Parts follow each other: a token's index in its own part is its index among all minus the start of the part.
    own = text * chosen.shape[1] + part
    lengths = numpy.bincount(own, minlength=chosen.numel())
    number = numpy.arange(len(place)) - (lengths.cumsum() - lengths)[own]
    sequences = numpy.full((*chosen.shape, max(1, lengths.max(initial=0))), NOTHING, dtype=numpy.int64)
    sequences[text, part, number] = reader.first[text] + place
    return sequences


@torch.no_grad()
def logits_with_zeroed_words(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each text with the embeddings of all but the kept items set to 0; the text keeps its length.

    Hu et al.'s (2023) published code removes words this way. Attention may still fall on a zeroed item. NaN if the
    tokens of items are not known.
    """
    if not maps_tokens(trace):
        return trace.logits.new_full((*keep.shape[:2], trace.logits.shape[1]), torch.nan)
    word_ids = item_of_token(trace)
    logits = []
    for part in keep.unbind(1):
        is_zeroed = ~is_kept(word_ids, part)
        embedded = trace.embedded.masked_fill(is_zeroed[..., None], 0.0)
        if _reads_tokens_alone(model, trace.batch):
            first, same = _distinct(trace.batch, is_zeroed)
            logits.append(_logits(model, embedded[first], rows_of_batch(trace.batch, first))[same])
        else:
            logits.append(_logits(model, embedded, trace.batch))
    return torch.stack(logits, 1)


def _logits(model: Model, embedded: Float[Tensor, "batch time embed"], batch: Batch) -> Float[Tensor, "batch classes"]:
    encoded = model.encode(embedded, batch)
    return model.decode(encoded, model.attend(encoded, batch)[1])


def _reads_tokens_alone(model: Model, batch: Batch) -> bool:
    """Whether texts of the same embedded tokens get the same logits: known only for Heedful's own models."""
    own = own_parts(model)
    is_flat = own is not None and own.hierarchical is None and own.pretrained_words is None
    return is_flat and batch.query_tokens is None and batch.imposed_attention is None


def _distinct(
    batch: Batch, is_zeroed: Bool[Tensor, "batch time"]
) -> tuple[Int[Tensor, " distinct"], Int[Tensor, " batch"]]:
    """The first of the texts of which the same is left, and for each text which of these is the same.

    Where zeros alone are left, all texts of one length are the same.
    """
    left = batch.tokens.masked_fill(is_zeroed, -1).masked_fill(~batch.mask, -2)
    texts, same = torch.cat([left, batch.attendable_mask], 1).unique(dim=0, return_inverse=True)
    first = same.new_full((len(texts),), len(left))
    return first.scatter_reduce_(0, same, torch.arange(len(left), device=same.device), "amin"), same


def _reweighed(
    model: AttentionModel, trace: Trace, keep: Parts, scores: Float[Tensor, "batch item"]
) -> Float[Tensor, "batch part classes"]:
    """The logits under the softmax of the scores over what is kept; NaN if none of it has weight."""
    weights = scores[:, None].expand(keep.shape).masked_fill(~keep, -torch.inf).softmax(-1)
    if (head := linear(model)) is not None:
        return weights @ head.item_logits(trace.encoded)
    return torch.stack([model.decode(trace.encoded, part) for part in weights.unbind(1)], 1)
