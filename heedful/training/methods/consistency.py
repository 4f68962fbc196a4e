"""Consistency training: attention that noise on the words moves little, beside how far it could move."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.measures import js_divergence
from heedful.models.trace import rerun
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import vanilla


def consistency(
    step: Step, *, weight: NonNegative = 1.0, radius: NonNegative = 0.01, shuffles: Count = 64
) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x n / (n + s), how far noise (n) and shuffling (s) move attention, both by JSD.

    The noise is N(0, radius I) on the embedding of every word; s is the divergence of attention from its own weights
    permuted at random, in expectation. As in the verdict, what counts is n / s, here kept below 1: n alone is least
    where attention is even, which says nothing; where both are small nothing is gained. In our own recipe; no paper has
    it.

    Args:
        radius: variance of the noise, of each coordinate.
        shuffles: s is exact for texts of at most so many items, and from as many drawn items otherwise.
    """
    trace = step.trace
    noise = torch.randn(trace.embedded.shape, generator=step.generator, dtype=trace.embedded.dtype).to(trace.embedded)
    noisy = rerun(step.model, trace, radius**0.5 * noise.where(trace.batch.mask[..., None], 0.0))
    moved = js_divergence(noisy.attention, trace.attention, trace.encoded.items)
    shuffled = shuffled_js(trace.attention, trace.encoded.items, step.generator, shuffles)
    return vanilla(step) + weight * relative_move(moved, shuffled)


def relative_move(moved: Float[Tensor, " batch"], shuffled: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """How far attention moves beside both: 0 where it stays, 1/2 where it moves as far as shuffling would move it.

    0 as well where it cannot move: one item, or weights that differ by rounding alone.

    >>> relative_move(torch.tensor([0.1, 0.0]), torch.tensor([0.3, 0.0]))
    tensor([0.2500, 0.0000])
    """
    total = moved + shuffled
    can_move = shuffled > torch.finfo(shuffled.dtype).eps
    return (moved / total.where(can_move, 1.0)).where(can_move, 0.0)


def shuffled_js(
    attention: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"], generator: torch.Generator, most: int
) -> Float[Tensor, " batch"]:
    """The mean divergence of the weights from a random permutation of them, as `exact.expected_permuted_js`.

    A random permutation gives each item each weight equally often. With a gradient, and by `most` weights drawn at
    random for texts of more items.
    """
    luck = torch.rand(items.shape, generator=generator).to(items.device).masked_fill(~items, -1.0)
    drawn = luck.topk(min(most, items.shape[1]), dim=1).indices
    others, is_drawn = attention.gather(1, drawn)[..., None], items.gather(1, drawn)
    pairs = items[:, None] & is_drawn[..., None]
    each = js_divergence(attention[:, None].expand(pairs.shape), others.expand(pairs.shape), pairs)
    return each.sum(1) / is_drawn.sum(1)


METHOD = Method(consistency)
