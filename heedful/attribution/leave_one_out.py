"""What the model predicts without each item in turn, by the fastest exact method that the model allows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.attribution import convolution
from heedful.attribution.deletion import logits_by_deletion
from heedful.attribution.items import of_similar_length
from heedful.attribution.linear_parts import SCORINGS, Decoding, decoding_of, of_contexts, scoring_of
from heedful.attribution.reuse import recurrent, token_wise
from heedful.attribution.reuse.encoder_inputs import EncoderInputs
from heedful.models.attention_model import AttentionModel, is_own
from heedful.models.encoders import Encoder, Hierarchical
from heedful.models.encoders.cnn import Cnn
from heedful.models.encoders.recurrent import Recurrent
from heedful.types import Encoded, Model, Trace

TOKENS = 2**13
"""Tokens in one batch where every shortened text is run: hundreds of short texts or a few long ones."""


@dataclass(frozen=True)
class FastPath:
    """How to leave items out without encoding every shortened text.

    Args:
        contexts: the weighted sum of values without each item in turn, by attention and by each imposed weighting.
        chunk_size: the number of items, over all texts, that are best left out together.
        decoding_of: what the values are, and how to get from their weighted sums to logits.
    """

    contexts: Callable[[EncoderInputs], Float[Tensor, "way batch item values"]]
    chunk_size: int
    decoding_of: Callable[[nn.Module, Encoded], Decoding] = of_contexts


@torch.no_grad()
def leave_one_out(model: Model, trace: Trace) -> Float[Tensor, "batch item classes"]:
    """Logits after each item alone is deleted, all else encoded and attended to anew; NaN where there is no item.

    The text gets shorter by the item: a token, or a whole sentence of a hierarchical model. Start and end symbols and
    the query stay. Imposed attention is renormalized to sum to 1. NaN as well where no weight is left (the only item is
    gone, or all that imposed attention weighs): the model's answer to nothing says nothing about the text.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.1, algorithm 1) take as importance the total variation distance
    between the probabilities with and without the item. For Heedful's own encoders there are faster methods than to run
    every shortened text, which is what is done for transformers, where every state depends on every other, and for any
    other model; all are exact. A pretrained encoder (`hf:`) reads the shortened text anew, too: the word is gone before
    it reads, not only after it.

    Args:
        trace: what this model, in evaluation mode, computed for a batch.
    """
    return leave_one_out_imposed(model, trace, ())[0]


@torch.no_grad()
def leave_one_out_imposed(
    model: Model,
    trace: Trace,
    imposed: Sequence[Float[Tensor, "batch item"]],
    *,
    left_out: Bool[Tensor, "batch item"] | None = None,
    precision: torch.dtype | None = None,
) -> Float[Tensor, "way batch item classes"]:
    """As `leave_one_out`, and after it the same for each weighting that is imposed instead of attending anew.

    Every shortened text is encoded once for all of them.

    Args:
        imposed: log weights; those of the items that remain are renormalized. NaN where none of these has weight.
        left_out: the items to leave out in turn, NaN for all others; None: all.
        precision: in which shortened texts are read by Heedful's own models; None: as the text itself was.
    """
    if not is_own(model) or (path := _fast_path(model)) is None:
        return leave_one_out_reference(model, trace, imposed, left_out)
    precision = precision or trace.logits.dtype
    decoding = path.decoding_of(model.head, trace.encoded).of_sums_in(precision, trace.logits.dtype)
    inputs = replace(_encoder_inputs(model, trace, imposed, decoding, precision), left_out=left_out)
    width = trace.encoded.hidden.shape[-1] if decoding.weight is None else decoding.weight.shape[-2]
    contexts = inputs.hidden.new_full((1 + len(imposed), *inputs.items.shape, width), torch.nan)
    texts = torch.arange(len(inputs.items), device=inputs.items.device)
    if left_out is not None:
        texts = left_out.any(1).nonzero()[:, 0]
    for some in of_similar_length(inputs.mask[texts].sum(1), path.chunk_size):
        part = path.contexts(inputs.select(texts[some]))
        contexts[:, texts[some], : part.shape[2]] = part
    return _defined(trace, decoding.finish(contexts), left_out)


@torch.no_grad()
def leave_one_out_reference(
    model: Model,
    trace: Trace,
    imposed: Sequence[Float[Tensor, "batch item"]] = (),
    left_out: Bool[Tensor, "batch item"] | None = None,
) -> Float[Tensor, "way batch item classes"]:
    """Reference implementation of `leave_one_out_imposed`: runs every shortened text."""
    items = trace.encoded.items
    all_but_one = items[:, None] & ~torch.eye(items.shape[1], dtype=torch.bool, device=items.device)
    chosen = items & _is_left(trace)
    chosen = chosen if left_out is None else chosen & left_out
    logits = logits_by_deletion(model, trace, all_but_one, chosen, tokens=TOKENS, imposed=imposed)
    return _defined(trace, logits, left_out)


def _is_left(trace: Trace) -> Bool[Tensor, "batch item"]:
    """Whether anything is left to weigh without that item."""
    weighed = weighed_items(trace)
    return weighed.sum(1, keepdim=True) > weighed.long()


def weighed_items(trace: Trace) -> Bool[Tensor, "batch item"]:
    """The items that have, or could have, some weight: all but those to which imposed attention gives none."""
    items, imposed = trace.encoded.items, trace.batch.imposed_attention
    if imposed is None or imposed.shape != items.shape:
        return items
    weighed = items & (imposed > 0)
    # A batch may carry weights that this model's attention does not use: then its zeros are elsewhere.
    return weighed if torch.equal(weighed, items & (trace.attention > 0)) else items


def _defined(
    trace: Trace, logits: Float[Tensor, "way batch item classes"], left_out: Bool[Tensor, "batch item"] | None
) -> Float[Tensor, "way batch item classes"]:
    """The logits; NaN, for every class, where nothing is left to weigh, and where no item is left out."""
    # A head may hold the logit of a class at 0, whatever it is given.
    is_defined = _is_left(trace) & trace.encoded.items & ~logits.isnan().any(-1)
    is_defined = is_defined if left_out is None else is_defined & left_out
    return logits.where(is_defined[..., None], torch.nan)


def _fast_path(model: AttentionModel) -> FastPath | None:
    """The fast path for a model made of Heedful's own parts only; None if any part was replaced."""
    if type(model.attention) not in SCORINGS:
        return None
    encoder = _last_encoder(model)
    if encoder.token_wise:
        return FastPath(_token_wise_contexts, 2**16)
    if type(encoder) is Recurrent:
        return FastPath(partial(recurrent.contexts, encoder), recurrent.TOKENS, decoding_of)
    if type(encoder) is Cnn:
        return FastPath(partial(convolution.contexts, encoder), 512)
    return None


def _token_wise_contexts(inputs: EncoderInputs) -> Float[Tensor, "way batch item hidden"]:
    ways = (inputs.scores, *inputs.imposed)
    return torch.stack([token_wise.contexts(inputs.hidden, scores, inputs.items) for scores in ways])


def _last_encoder(model: AttentionModel) -> Encoder:
    """The encoder whose states are the items: of tokens, or of a hierarchical model's sentence vectors."""
    return model.encoder.sentences if isinstance(model.encoder, Hierarchical) else model.encoder


def _encoder_inputs(
    model: AttentionModel,
    trace: Trace,
    imposed: Sequence[Float[Tensor, "batch item"]],
    decoding: Decoding,
    precision: torch.dtype,
) -> EncoderInputs:
    """What the encoder read, with the weightings to impose and the map of states of which there are weighted sums."""
    batch, vectors, mask, items = trace.batch, trace.embedded, trace.batch.mask, trace.encoded.items
    if isinstance(model.encoder, Hierarchical) and batch.sentence is not None:
        vectors, mask = model.encoder.vectors(vectors, mask, batch.attendable_mask, batch.sentence)
    scores = trace.scores.to(precision)
    return EncoderInputs(
        vectors=vectors.to(precision),
        mask=mask,
        items=items,
        hidden=trace.encoded.hidden.to(precision),
        scores=scores / model.temperature,
        scoring=scoring_of(model.attention, model.temperature, trace.encoded, scores),
        imposed=tuple(weights.to(scores).masked_fill(~items, -torch.inf) for weights in imposed),
        value_weight=decoding.weight,
    )
