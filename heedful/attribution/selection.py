"""What the model predicts for parts of a text: some items kept, the tokens of all others deleted."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.deletion import Parts, is_kept, logits_by_deletion, summing_to_one
from heedful.attribution.items import item_of_token
from heedful.attribution.leave_one_out import or_empty_logits, weighed_items
from heedful.attribution.reuse.scoring import SCORINGS
from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.models.trace import reread
from heedful.types import LinearModel, Model, Trace

TOKENS = 2**10
"""Tokens run in one batch: parts are short, and larger batches of them are slower."""


@torch.no_grad()
def logits_of_parts(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each part of each text, as if the other items had never been there.

    The text gets shorter, and the rest is encoded and attended to anew; start and end symbols and the query stay.
    Where nothing is left to weigh the logits are the model's `empty_logits`, or NaN if it has none. Imposed attention
    is renormalized to sum to 1.

    Where no state depends on another only the weights change, and nothing is encoded again.
    """
    items = trace.encoded.items[:, None]
    keep = keep & items
    is_left = (keep & weighed_items(trace)[:, None]).any(-1)
    if _is_token_wise(model):
        logits = _reweighed(model, trace, keep)
    else:
        is_shorter = is_left & (keep != items).any(-1)
        shortened = logits_by_deletion(model, trace, keep, is_shorter, tokens=TOKENS)
        logits = shortened.where(is_shorter[..., None], trace.logits[:, None])
    return or_empty_logits(model, trace, logits, is_left)


@torch.no_grad()
def logits_of_zeroed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each text with the embeddings of all but the kept items set to 0; the text keeps its length.

    Hu et al.'s (2023) published code removes words this way. Attention may still fall on a zeroed item.
    """
    owner = item_of_token(trace)
    logits = []
    for part in keep.unbind(1):
        is_zeroed = ~is_kept(owner, part)[..., None]
        logits.append(reread(model, trace, -trace.embedded * is_zeroed).logits)
    return torch.stack(logits, 1)


def _is_token_wise(model: Model) -> bool:
    """Whether neither an item's state nor its score depends on another item: known only for Heedful's own models.

    A hierarchical encoder reads its sentences in context even where it reads its words alone.
    """
    if not isinstance(model, AttentionModel) or type(model) not in (AttentionModel, LinearAttentionModel):
        return False
    return type(model.attention) in SCORINGS and getattr(model.encoder, "token_wise", False)


def _reweighed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    weights = summing_to_one(trace.attention[:, None] * keep)
    if isinstance(model, LinearModel):
        return weights @ model.item_logits(trace.encoded)
    return torch.stack([model.decode(trace.encoded, part) for part in weights.unbind(1)], 1)
