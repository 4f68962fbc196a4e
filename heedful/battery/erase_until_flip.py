"""Does the ranking find what the decision rests on?"""

from dataclasses import fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution.deletion import summing_to_one
from heedful.battery.evidence import RANKINGS, Evidence, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, Triple
from heedful.errors import pick
from heedful.exact import FirstFlip, first_flip, minimal_flip_set, random_orders
from heedful.settings import Count
from heedful.types import Findings

BLOCK = 4_000_000
"""Most numbers that one block of random rankings may hold."""


def erase_until_flip(
    evidence: Evidence, generator: torch.Generator, *, rankings: Count = 100, by: tuple[str, ...] = tuple(RANKINGS)
) -> Findings:
    """What each ranking erases before the decision changes: `count`, `fraction` of the items, attention `mass`.

    For the rankings by attention, gradient, their product, input gradient and leave-one-out; `random`, the mean over so
    many random rankings; and `minimal`, the smallest set that changes the decision at all (exact for a linear head,
    else the best of the rankings). A ranking that misses a change that some set makes counts as all items erased; texts
    that no set changes are NaN. Of items: the smallest set, where the head is linear. Serrano and Smith (2019, section
    5); the minimum is ours.

    Args:
        rankings: random ones, that the others are held against.
        by: only these of the named rankings; leave-one-out costs the most.
    """
    for name in by:
        pick("ranking", name, RANKINGS)
    flips = {name: _first_flip(evidence, evidence.ranking(name)) for name in by}
    smallest = _minimal(evidence, flips)
    never = smallest.count.isnan()
    flips["random"] = _random(evidence, generator, rankings)
    values: dict[str, Tensor] = {}
    for name, flip in {**flips, "minimal": smallest}.items():
        full = _missed(flip, evidence.count)
        values |= {f"{field.name}_{name}": getattr(full, field.name) for field in fields(full)}
    minimal = minimal_set(evidence)
    shown = {} if minimal is None else {"minimal_set": minimal.double()}
    return Findings(undefined_where(never | (evidence.count < 2), values), evidence.solver, shown)


def minimal_set(evidence: Evidence) -> Bool[Tensor, "batch item"] | None:
    """The smallest set whose erasure changes the decision, to be marked; None without a linear head."""
    if evidence.item_logits is None:
        return None
    return minimal_flip_set(evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items).erased


def _first_flip(evidence: Evidence, order: Int[Tensor, "batch item"]) -> FirstFlip:
    attention, items = evidence.attention, evidence.items
    if evidence.item_logits is not None:
        return first_flip(attention, evidence.item_logits, evidence.empty_logits, order, items)
    never = torch.full_like(evidence.count, torch.nan)
    count, mass, kept = never, never, attention
    for done, column in enumerate(order.unbind(1), start=1):
        kept = kept.scatter(1, column[:, None], 0.0)
        changed = evidence.decode(summing_to_one(kept)).argmax(-1) != evidence.predicted
        now = changed & count.isnan() & (evidence.count >= done)
        count, mass = count.where(~now, done), torch.where(now, 1 - kept.sum(1), mass)
    return FirstFlip(count, count / evidence.count, mass)


def _minimal(evidence: Evidence, flips: dict[str, FirstFlip]) -> FirstFlip:
    if evidence.item_logits is None:
        counts = torch.stack([flip.count.nan_to_num(torch.inf) for flip in flips.values()])
        count, which = counts.min(0)
        mass = torch.stack([flip.mass for flip in flips.values()]).gather(0, which[None])[0]
        count = count.where(count.isfinite(), torch.nan)
        return FirstFlip(count, count / evidence.count, mass)
    smallest = minimal_flip_set(evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items)
    return FirstFlip(smallest.size, smallest.size / evidence.count, smallest.mass)


def _random(evidence: Evidence, generator: torch.Generator, rankings: int) -> FirstFlip:
    """The means over random rankings, misses counted as everything erased."""
    orders = random_orders(evidence.items, generator, rankings)
    size = 1 if evidence.item_logits is None else max(1, BLOCK // max(1, evidence.item_logits.numel()))
    parts = [_several(evidence, block) for block in orders.split(size, 1)]
    return FirstFlip(*(torch.cat(part, 1).mean(1) for part in zip(*parts, strict=True)))


def _several(evidence: Evidence, orders: Int[Tensor, "batch ranking item"]) -> list[Float[Tensor, "batch ranking"]]:
    """Count, fraction and mass of several rankings of each text."""
    several = orders.shape[1]
    if evidence.item_logits is None:
        flip = _first_flip(evidence, orders[:, 0])
    else:
        problem = (evidence.attention, evidence.item_logits, evidence.empty_logits)
        attention, item_logits, empty_logits = (tensor.repeat_interleave(several, 0) for tensor in problem)
        items = evidence.items.repeat_interleave(several, 0)
        flip = first_flip(attention, item_logits, empty_logits, orders.flatten(0, 1), items)
    full = _missed(flip, evidence.count.repeat_interleave(several))
    return [getattr(full, field.name).unflatten(0, (-1, several)) for field in fields(full)]


def _missed(flip: FirstFlip, everything: Float[Tensor, " rows"]) -> FirstFlip:
    """The flip with misses counted as everything erased."""
    missed, whole = flip.count.isnan(), torch.ones_like(everything)
    return FirstFlip(
        flip.count.where(~missed, everything), flip.fraction.where(~missed, whole), flip.mass.where(~missed, whole)
    )


def _measured(columns: Columns) -> Triple:
    fraction = "erase_until_flip.fraction"
    return columns[f"{fraction}_attention"], columns[f"{fraction}_random"], columns[f"{fraction}_minimal"]


TEST = BatteryTest(
    erase_until_flip,
    (
        Question(
            name="erase_until_flip",
            wording=lambda item: "Does the ranking find what the decision rests on?",
            needs=("erase_until_flip",),
            measured=_measured,
            best_kind="ceiling",
            unit="share",
            sentence=lambda answer: (
                f"Erasing {answer.item}s from the most attended down takes {100 * answer.value:.0f} % of a text before "
                f"the decision changes, in random order {100 * answer.floor:.0f} %; the smallest set that changes it "
                f"is {100 * answer.best:.0f} %."
            ),
            if_inexact="The smallest set is the smallest that was found; a smaller one may exist.",
        ),
    ),
)
