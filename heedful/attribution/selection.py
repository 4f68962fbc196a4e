"""What the model says of parts of a text: some items kept, the tokens of all others deleted."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.deletion import Parts, is_kept, logits_by_deletion, summing_to_one
from heedful.attribution.items import item_of_token
from heedful.attribution.leave_one_out import or_of_nothing, weighed_items
from heedful.attribution.scoring import SCORINGS
from heedful.models.attention_model import AttentionModel, LinearAttentionModel
from heedful.models.trace import reread
from heedful.types import LinearModel, Model, Trace

TOKENS = 2**10
"""Read at once: parts of few words, of which more side by side are slower."""


@torch.no_grad()
def logits_of_parts(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each part of each text, read as if the other items had never been there.

    The text gets shorter, and what is left is encoded and attended to anew; start and end symbols and the query stay.
    Where nothing is left to weigh the answer is what the model says of nothing, NaN if it can not say. Imposed
    attention is made to sum to 1 again.

    Where no state depends on another only the weights change, and nothing is read again.
    """
    items = trace.encoded.items[:, None]
    keep = keep & items
    is_left = (keep & weighed_items(trace)[:, None]).any(-1)
    if _is_token_wise(model):
        logits = _reweighed(model, trace, keep)
    else:
        is_shorter = is_left & (keep != items).any(-1)
        read = logits_by_deletion(model, trace, keep, is_shorter, tokens=TOKENS)
        logits = read.where(is_shorter[..., None], trace.logits[:, None])
    return or_of_nothing(model, trace, logits, is_left)


@torch.no_grad()
def logits_of_zeroed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    """Logits of each text with the embeddings of all but the kept items set to 0; the text keeps its length.

    Hu et al.'s (2023) published code takes words away so. Attention may still fall on what is zero.
    """
    owner = item_of_token(trace)
    logits = []
    for part in keep.unbind(1):
        gone = ~is_kept(owner, part)[..., None]
        logits.append(reread(model, trace, -trace.embedded * gone).logits)
    return torch.stack(logits, 1)


def _is_token_wise(model: Model) -> bool:
    """Whether neither an item's state nor its score depends on another; only known of models that are ours throughout.

    A hierarchical encoder's sentences are read beside one another even where its words are not.
    """
    if not isinstance(model, AttentionModel) or type(model) not in (AttentionModel, LinearAttentionModel):
        return False
    return type(model.attention) in SCORINGS and getattr(model.encoder, "token_wise", False)


def _reweighed(model: Model, trace: Trace, keep: Parts) -> Float[Tensor, "batch part classes"]:
    weights = summing_to_one(trace.attention[:, None] * keep)
    if isinstance(model, LinearModel):
        return weights @ model.item_logits(trace.encoded)
    return torch.stack([model.decode(trace.encoded, part) for part in weights.unbind(1)], 1)
