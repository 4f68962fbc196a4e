"""What the model says of a text without each of its items in turn, by the fastest exact way that the model allows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution import convolution, recurrent, token_wise
from heedful.attribution.deletion import logits_by_deletion
from heedful.attribution.reading import Reading, of_similar_length
from heedful.attribution.scoring import SCORINGS, scoring_of
from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.models.encoders import Encoder, Hierarchical
from heedful.models.encoders.cnn import Cnn
from heedful.models.encoders.recurrent import Recurrent
from heedful.types import LinearModel, Model, Trace

TOKENS = 2**13
"""Read at once where every shortened text is: hundreds of short ones or a few long ones."""


@dataclass(frozen=True)
class Way:
    """How to leave items out of what an encoder reads without reading all of it again.

    Args:
        contexts: the attention-weighed sum of states without each item in turn.
        at_once: items, over all texts, that are best left out in one go.
    """

    contexts: Callable[[Reading], Float[Tensor, "batch item hidden"]]
    at_once: int


@torch.no_grad()
def leave_one_out(model: Model, trace: Trace) -> Float[Tensor, "batch item classes"]:
    """Logits after each item alone is deleted, all else encoded and attended to anew; NaN where there is no item.

    The text gets shorter by the item: a token, or a whole sentence of a hierarchical model. Start and end symbols and
    the query stay. Where no weight is left (the only item is gone, or all that imposed attention weighs) the answer is
    what the model says of nothing, NaN if it can not say. Imposed attention is made to sum to 1 again.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.1, algorithm 1) take as importance the total variation distance
    between the probabilities with and without the item. Encoders of ours have faster ways than to run every shortened
    text, which is what any other model gets; all are exact.

    Args:
        trace: what this model, in evaluation mode, computed of a batch.
    """
    if not isinstance(model, AttentionModel) or (way := _way(model)) is None:
        return leave_one_out_reference(model, trace)
    reading = _reading(model, trace)
    logits = trace.logits.new_full((*reading.items.shape, trace.logits.shape[-1]), torch.nan)
    for some in of_similar_length(reading.mask.sum(1), way.at_once):
        contexts = way.contexts(reading.some(some))
        query = None if trace.encoded.query is None else trace.encoded.query[some, None].expand_as(contexts)
        logits[some, : contexts.shape[1]] = model.head(contexts, query)
    return _settled(model, trace, logits)


@torch.no_grad()
def leave_one_out_reference(model: Model, trace: Trace) -> Float[Tensor, "batch item classes"]:
    """The same by running every shortened text."""
    items = trace.encoded.items
    all_but_one = items[:, None] & ~torch.eye(items.shape[1], dtype=torch.bool, device=items.device)
    chosen = items & _is_left(trace)
    return _settled(model, trace, logits_by_deletion(model, trace, all_but_one, chosen, tokens=TOKENS))


def _is_left(trace: Trace) -> Bool[Tensor, "batch item"]:
    """Whether without that item there is still something to weigh."""
    weighed = weighed_items(trace)
    return weighed.sum(1, keepdim=True) > weighed.long()


def weighed_items(trace: Trace) -> Bool[Tensor, "batch item"]:
    """The items that have, or could have, some weight: all but those to which imposed attention gives none."""
    items, imposed = trace.encoded.items, trace.batch.imposed_attention
    # A batch may carry weights that this model's attention makes no use of: then its zeros are elsewhere.
    return items & (imposed > 0) if imposed is not None and torch.equal(imposed > 0, trace.attention > 0) else items


def _settled(
    model: Model, trace: Trace, logits: Float[Tensor, "batch item classes"]
) -> Float[Tensor, "batch item classes"]:
    """The logits, with the answer to nothing where nothing is left, and NaN where there is no item."""
    return or_of_nothing(model, trace, logits, _is_left(trace)).masked_fill(~trace.encoded.items[..., None], torch.nan)


def or_of_nothing(
    model: Model, trace: Trace, logits: Float[Tensor, "batch part classes"], is_left: Bool[Tensor, "batch part"]
) -> Float[Tensor, "batch part classes"]:
    """The logits, and where nothing is left to weigh what the model says of nothing: NaN if it can not say."""
    empty = model.empty_logits(trace.encoded) if isinstance(model, LinearModel) else trace.logits * torch.nan
    return logits.where(is_left[..., None], empty[:, None])


def _way(model: AttentionModel) -> Way | None:
    """The fast way for models that are ours throughout; None for one in which anything was replaced."""
    if type(model) not in (AttentionModel, LinearAttentionModel) or type(model.attention) not in SCORINGS:
        return None
    encoder = _last_encoder(model)
    if encoder.token_wise:
        return Way(lambda reading: token_wise.contexts(reading.hidden, reading.scores, reading.items), 2**16)
    if type(encoder) is Recurrent:
        return Way(partial(recurrent.contexts, encoder), recurrent.ROWS)
    if type(encoder) is Cnn:
        return Way(partial(convolution.contexts, encoder), 512)
    return None


def _last_encoder(model: AttentionModel) -> Encoder:
    """The one that reads what items are made from: tokens, or the sentence vectors of a hierarchical model."""
    return model.encoder.sentences if isinstance(model.encoder, Hierarchical) else model.encoder


def _reading(model: AttentionModel, trace: Trace) -> Reading:
    batch, inputs, mask = trace.batch, trace.embedded, trace.batch.mask
    if isinstance(model.encoder, Hierarchical) and batch.sentence is not None:
        inputs, mask = model.encoder.vectors(inputs, mask, batch.attendable, batch.sentence)
    scoring = scoring_of(model.attention, model.temperature, trace.encoded, trace.scores)
    scores = trace.scores / model.temperature
    return Reading(inputs, mask, trace.encoded.items, trace.encoded.hidden, scores, scoring)
