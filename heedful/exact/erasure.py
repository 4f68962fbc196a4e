"""Logits after items are erased and the rest renormalized: all prefixes of a ranking, all single items."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn.functional import pad

from heedful.exact.flip_set import Contest, beats, contest, rounding
from heedful.exact.linear_form import checked_item_logits, decode
from heedful.exact.log_space import checked_log_attention, log_suffix_sums, share_a_scale, shares, suffix_sums


@dataclass(frozen=True)
class FirstFlip:
    """When a ranking first changes the decision; all NaN if it never does.

    Args:
        count: how many items were erased by then.
        fraction: count divided by the number of items.
        mass: the attention they had.
    """

    count: Float[Tensor, "*batch"]
    fraction: Float[Tensor, "*batch"]
    mass: Float[Tensor, "*batch"]


def prefix_logits(
    log_attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    ranking: Int[Tensor, "batch item"],
) -> Float[Tensor, "batch item classes"]:
    """Logits after erasing the first 1, 2, ... items of a ranking; NaN if no weight is left.

    logits[m] = sum of softmax(log_attention) x item_logits, both over the items left.

    Item logits have the bias folded in, which is right because the weights are made to sum to 1 again. All prefixes
    come from sums over what is left, which subtract nothing. Serrano and Smith (2019, arXiv:1906.03731, sections 2.1
    and 5.1) erase and renormalize step by step, and decode the empty text in the end.

    Args:
        log_attention: logarithms of the weights, up to a constant for each row, such as the scores before the softmax
            (see `log_weights`); -infinity where an item or its weight is missing.
        ranking: positions in the order in which they are erased; those without an item last.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> prefix_logits(torch.tensor([[0.0, -5000.0]]), logits, torch.tensor([[0, 1]]))
    tensor([[[ 0., -4.],
             [nan, nan]]], dtype=torch.float64)
    """
    log_weight, values = _with_ones(log_attention, item_logits)
    log_weight = log_weight.gather(1, ranking).unsqueeze(-1)
    values = values.gather(1, ranking.unsqueeze(-1).expand_as(values))
    return _divided(_next_of_each(suffix_sums(log_weight, values).sums, 0.0))


def single_erasure_logits(
    log_attention: Float[Tensor, "batch item"], item_logits: Float[Tensor, "batch item classes"]
) -> Float[Tensor, "batch item classes"]:
    """Logits after erasing each item alone: unchanged if the item has no weight, NaN if none is left.

    What is left of an item is the sum of all before it and all after it, so nothing is subtracted. Without the top
    item the others may be too light for that, and are measured again. Serrano and Smith (2019, section 4) erase the top
    item and a random item.

    Args:
        log_attention: as in `prefix_logits`.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0], [0.0, 2.0]]])
    >>> single_erasure_logits(torch.tensor([[0.0, -5000.0, -5000.0]]), logits)
    tensor([[[ 0., -1.],
             [ 0.,  4.],
             [ 0.,  4.]]], dtype=torch.float64)
    """
    log_weight, values = _with_ones(log_attention, item_logits)
    weighted = shares(log_weight).unsqueeze(-1) * values
    before, after = (_next_of_each(side.cumsum(1).flip(1), 0.0) for side in (weighted, weighted.flip(1)))
    result = _divided(before.flip(1) + after)
    top = log_weight.argmax(-1, keepdim=True)
    rest = log_weight.scatter(-1, top, -torch.inf)
    without_top = decode(shares(rest), values[..., :-1]).where((rest > -torch.inf).any(-1, keepdim=True), torch.nan)
    return result.scatter(1, top.unsqueeze(-1).expand(-1, 1, result.shape[-1]), without_top.unsqueeze(1))


def first_flip(
    log_attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    ranking: Int[Tensor, "batch item"],
    items: Bool[Tensor, "batch item"],
) -> FirstFlip:
    """How many items, what fraction of them and what attention go in ranking order before the decision changes.

    The decision is the first largest logit, where logits that differ only by rounding are equal. NaN if no prefix
    that leaves any weight changes it; a report that counts such a ranking as 1.0, or leaves it out, does so itself.
    Serrano and Smith (2019, section 5.1).

    Args:
        log_attention: as in `prefix_logits`.

    >>> logits = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]])
    >>> two = torch.tensor([[True, True]])
    >>> first_flip(torch.tensor([[0.75, 0.25]]).log(), logits, torch.tensor([[0, 1]]), two)
    FirstFlip(count=tensor([1.], ...), fraction=tensor([0.5000], ...), mass=tensor([0.7500], ...))
    """
    flips = first_flips(log_attention, item_logits, ranking[:, None], items)
    return FirstFlip(flips.count[:, 0], flips.fraction[:, 0], flips.mass[:, 0])


def first_flips(
    log_attention: Float[Tensor, "batch item"],
    item_logits: Float[Tensor, "batch item classes"],
    rankings: Int[Tensor, "batch ranking item"],
    items: Bool[Tensor, "batch item"],
) -> FirstFlip:
    """As `first_flip`, for several rankings of each row: support and opposition of the decision are computed once."""
    log_weight, logits = checked_log_attention(log_attention, items), checked_item_logits(item_logits, items)
    _check_items_first(rankings.flatten(0, 1), _for_each(items, rankings).flatten(0, 1))
    sides, share, weighted = contest(log_weight, logits), shares(log_weight), log_weight > -torch.inf
    flipped = (_flipped if share_a_scale(log_weight.unsqueeze(-1)) else _flipped_on_any_scale)(
        log_weight, sides, rankings
    )
    left = _for_each(weighted, rankings).gather(2, rankings).cumsum(-1) < weighted.sum(-1)[:, None, None]
    flipped &= left
    place, ever = flipped.byte().argmax(-1), flipped.any(-1)
    count = (place + 1).double().where(ever, torch.nan)
    mass = _for_each(share, rankings).gather(2, rankings).cumsum(-1).gather(-1, place.unsqueeze(-1)).squeeze(-1)
    return FirstFlip(count, count / items.sum(-1, keepdim=True), mass.where(ever, torch.nan))


def _for_each(values: Shaped[Tensor, "batch item"], rankings: Int[Tensor, "batch ranking item"]) -> Tensor:
    return values[:, None].expand_as(rankings)


def _flipped(
    log_weight: Float[Tensor, "batch item"], sides: Contest, rankings: Int[Tensor, "batch ranking item"]
) -> Bool[Tensor, "batch ranking item"]:
    """Whether some class beats the decision after each erasure, weights being sums of numbers on one scale."""
    top = log_weight.amax(-1, keepdim=True)
    weight = (log_weight - top).exp().nan_to_num(0.0)
    margin = rounding(log_weight).exp()[:, None, None]
    flipped = torch.zeros_like(rankings, dtype=torch.bool)
    for rival in range(sides.support.shape[-1]):
        against = [part[..., rival] * weight for part in (sides.support, sides.opposition)]
        support, opposition = (
            pad(_for_each(part, rankings).gather(2, rankings).flip(2).cumsum(2).flip(2)[..., 1:], (0, 1))
            for part in against
        )
        first = (rival < sides.decision)[:, None, None]
        # 0 against 0, as of the decision itself, is no win unless the class comes first.
        wins = torch.where(first, opposition * margin >= support, opposition > support * margin)
        flipped |= wins & (sides.decision != rival)[:, None, None]
    return flipped


def _flipped_on_any_scale(
    log_weight: Float[Tensor, "batch item"], sides: Contest, rankings: Int[Tensor, "batch ranking item"]
) -> Bool[Tensor, "batch ranking item"]:
    """The same for weights so far apart that their sums have to stay logarithms."""
    several, rows = rankings.shape[1], rankings.flatten(0, 1).unsqueeze(-1)
    repeated = torch.arange(len(rankings)).repeat_interleave(several)
    ranked = log_weight[repeated].unsqueeze(-1).gather(1, rows)
    parts = (
        part[repeated].gather(1, rows.expand(-1, -1, part.shape[-1])) for part in (sides.support, sides.opposition)
    )
    support, opposition = (_next_of_each(log_suffix_sums(ranked, part), -torch.inf) for part in parts)
    wins = beats(support, opposition, sides.decision[repeated], rounding(log_weight)[repeated])
    return wins.any(-1).unflatten(0, (-1, several))


def _with_ones(
    log_attention: Float[Tensor, "batch item"], item_logits: Float[Tensor, "batch item classes"]
) -> tuple[Float[Tensor, "batch item"], Float[Tensor, "batch item classes+1"]]:
    """Log weights, and item logits with 1 as an extra class: its weighted sum is the weight. 0 without weight."""
    there = log_attention != -torch.inf
    log_weight, logits = checked_log_attention(log_attention, there), checked_item_logits(item_logits, there)
    return log_weight, torch.cat([logits, there.unsqueeze(-1).double()], -1)


def _next_of_each(values: Float[Tensor, "batch item any"], nothing: float) -> Float[Tensor, "batch item any"]:
    """What stands at the next place; `nothing` at the last."""
    return pad(values[:, 1:], (0, 0, 0, 1), value=nothing)


def _divided(weighted: Float[Tensor, "batch item classes_and_weight"]) -> Float[Tensor, "batch item classes"]:
    """The weighted logits divided by the weights appended to them; 0 / 0 is NaN: undefined without weight."""
    return weighted[..., :-1] / weighted[..., -1:]


def _check_items_first(ranking: Int[Tensor, "batch item"], items: Bool[Tensor, "batch item"]) -> None:
    # A place without an item must not be followed by a place with an item.
    ranked = items.gather(-1, ranking).int()
    wrong = (ranked.diff(dim=-1) > 0).any(-1)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"ranking must name the positions of items before the others; row {row} does not. "
            "Rank positions without an item last, or the count of erased items would count them too."
        )
