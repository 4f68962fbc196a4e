"""Attention of known quality, from what each item says for the decision."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact import item_margins

SHARPNESS = 3.0

Weights = Float[Tensor, "batch item"]
Margins = Float[Tensor, "batch item"]
"""How much each item says for the decision, negative where it speaks against it."""
Items = Bool[Tensor, "batch item"]


def margins_of(logits: Float[Tensor, "batch item classes"], decision: Int[Tensor, " batch"], items: Items) -> Margins:
    """What each item says for the decision, over the best of the other classes; 0 where there is no item."""
    return item_margins(logits, decision).masked_fill(~items, 0.0)


def magnitude_oracle(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """Proportional to how much each item says, for or against: right for the agreement with other importances."""
    return _normalised(margins.abs(), items)


def oracle(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """Proportional to how much each item says for the decision."""
    return _normalised(margins.clamp_min(0), items)


def anti(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """The oracle's weights in reverse: the most on what says the least."""
    return _reversed(oracle(margins, items, generator), items)


def magnitude_anti(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """The same of the magnitude oracle."""
    return _reversed(magnitude_oracle(margins, items, generator), items)


def uniform(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """The same weight everywhere."""
    return items / items.sum(1, keepdim=True).double()


def random(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """Any distribution, all equally likely."""
    drawn = torch.rand(items.shape, generator=generator, dtype=torch.float64).log().neg()
    return _divided(drawn.masked_fill(~items, 0.0))


def sharp_random(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """Softmax of random scores: most weight on one or two items."""
    scores = SHARPNESS * torch.randn(items.shape, generator=generator, dtype=torch.float64)
    return scores.masked_fill(~items, -torch.inf).softmax(-1)


def first_word(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """All weight on the first item."""
    return torch.zeros_like(margins).scatter(1, items.int().argmax(1, keepdim=True), 1.0)


def one_hot_top(margins: Margins, items: Items, generator: torch.Generator) -> Weights:
    """All weight on the item that says the most for the decision."""
    return torch.zeros_like(margins).scatter(1, margins.masked_fill(~items, -torch.inf).argmax(1, keepdim=True), 1.0)


ATTENTIONS: dict[str, Callable[[Margins, Items, torch.Generator], Weights]] = {
    "oracle": oracle,
    "anti": anti,
    "uniform": uniform,
    "random": random,
    "sharp random": sharp_random,
    "first word": first_word,
    "one-hot top": one_hot_top,
}
SMOOTHING = 1e-3
"""Weight of an item of no size, relative to the largest: what remains after an erasure has a shape."""
MAGNITUDE = {"oracle": magnitude_oracle, "anti": magnitude_anti}
"""What stands in for these where the question is agreement, which looks at magnitudes."""


def _normalised(values: Margins, items: Items) -> Weights:
    smoothed = values + SMOOTHING * values.amax(1, keepdim=True).clamp_min(1e-9)
    return _divided(smoothed.masked_fill(~items, 0.0))


def _divided(weights: Weights) -> Weights:
    return weights / weights.sum(1, keepdim=True)


def _reversed(weights: Weights, items: Items) -> Weights:
    """The smallest weight where the largest was, and so on."""
    order = weights.masked_fill(~items, torch.inf).argsort(1)
    ranked = weights.gather(1, order)
    count = items.sum(1, keepdim=True)
    place = torch.arange(weights.shape[1]).expand_as(weights)
    mirrored = ranked.gather(1, (count - 1 - place).clamp_min(0)).masked_fill(place >= count, 0.0)
    return torch.zeros_like(weights).scatter(1, order, mirrored)
