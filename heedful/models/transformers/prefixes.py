"""How many words of a ranking a transformer can lose before its decision changes: evaluated, text by text."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.models.transformers.model import EncodedTexts, TransformerModel
from heedful.types import Trace

BLOCK = 4
"""Prefixes of each ranking that are evaluated before those rankings that have changed the decision are dropped."""


@dataclass(frozen=True)
class FirstChange:
    """The shortest prefix of each ranking whose erasure changes the decision.

    Args:
        count: how many words it has; NaN where no prefix short of the whole text does.
        mass: the attention that it has.
        evaluated: how many attentions were decoded for each text.
    """

    count: Float[Tensor, "text ranking"]
    mass: Float[Tensor, "text ranking"]
    evaluated: Int[Tensor, " text"]


@torch.no_grad()
def first_changes(
    model: TransformerModel,
    seen: Trace,
    orders: Int[Tensor, "text ranking item"],
    texts: Int[Tensor, " text"] | None = None,
) -> FirstChange:
    """What is erased by each ranking, word by word, until the decision changes; what remains is renormalised.

    Prefixes are evaluated shortest first, several rankings at once, and no further than needed.

    Args:
        orders: the words of each text in the order in which they are erased; places without a word come last.
        texts: which of the batch; None: all.
    """
    encoded = seen.encoded
    assert isinstance(encoded, EncodedTexts)
    batch, rankings, _ = orders.shape
    numbers: list[int] = list(range(batch)) if texts is None else texts.tolist()
    count = torch.full((batch, rankings), torch.nan, dtype=torch.float64)
    mass, evaluated = count.clone(), torch.zeros(batch, dtype=torch.long)
    decided = seen.logits.argmax(-1)
    for place, number in enumerate(numbers):
        text = encoded.text(number)
        words = text.items.shape[1]
        own = seen.attention[number, :words]
        order = orders[place, :, :words].to(own.device)
        flipped, done = _first_flips(model, text, own, order, int(decided[number]))
        weights = own[order].cumsum(-1).cpu()
        is_flipped = flipped > 0
        erased = weights.gather(1, (flipped - 1).clamp_min(0)[:, None])[:, 0]
        count[place] = flipped.double().where(is_flipped, torch.nan)
        mass[place] = erased.where(is_flipped, torch.nan)
        evaluated[place] = done
    return FirstChange(count, mass, evaluated)


def _first_flips(
    model: TransformerModel,
    text: EncodedTexts,
    own: Float[Tensor, " item"],
    order: Int[Tensor, "ranking item"],
    decided: int,
) -> tuple[Int[Tensor, " ranking"], int]:
    """How many words each ranking erases until the decision changes, 0 where it never does; and what was decoded."""
    rankings, words = order.shape
    flipped = torch.zeros(rankings, dtype=torch.long)
    left, done = torch.arange(rankings), 0
    # The place of each word in the ranking: it is erased by all longer prefixes.
    place = order.argsort(-1)
    for first in range(1, words, BLOCK):
        lengths = torch.arange(first, min(first + BLOCK, words), device=place.device)
        kept = place[left.to(place.device)][:, None] >= lengths[:, None]
        weights = own * kept
        total = weights.sum(-1, keepdim=True)
        logits = model.decode_each(text, (weights / total.where(total > 0, 1.0)).flatten(0, 1)[None])[0]
        changed = (logits.argmax(-1) != decided).unflatten(0, (len(left), -1)) & (total[..., 0] > 0)
        done += len(logits)
        changed = changed.cpu()
        hit = changed.any(1)
        flipped[left[hit]] = first + changed[hit].byte().argmax(1)
        left = left[~hit]
        if not len(left):
            break
    return flipped, done
