"""Does the ranking find the words that the prediction depends on?"""

from dataclasses import dataclass, fields

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.battery.checked_witness import check_flip_set
from heedful.battery.evidence import RANKINGS, Evidence, affordable, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, ValueFloorBest
from heedful.errors import lookup
from heedful.exact import FirstFlip, first_flip, first_flips, minimal_flip_set, order_keys, orders_by
from heedful.measures.ranking import dense_ranks
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.same_prediction import first_changes
from heedful.settings import Count
from heedful.types import Findings, Solver

BLOCK = 4_000_000
"""Most numbers that one block of random rankings may hold."""


@dataclass(frozen=True)
class RandomOrders:
    """Random orders of the items of some texts, sorted only when they are asked for.

    Args:
        keys: random numbers to sort by.
    """

    keys: Float[Tensor, "batch ranking item"]
    items: Bool[Tensor, "batch item"]

    def of(self, texts: Int[Tensor, " text"]) -> Int[Tensor, "text ranking item"]:
        """Those of the chosen texts."""
        return orders_by(self.keys[texts], self.items[texts])


def erase_until_flip(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    rankings: Count = 100,
    by: tuple[str, ...] = tuple(RANKINGS),
    floors: bool = True,
    until_empty: bool = False,
) -> Findings:
    """What each ranking erases before the decision changes: `count`, `fraction` of the items, attention `mass`.

    For each ranking, by attention, weight gradient, attention x gradient, gradient x input and leave-one-out; `random`,
    the mean over `rankings` random rankings; and `minimal`, the smallest set that changes the decision at all (exact
    for a linear head, else the best of the rankings). An erasure leaves something, whose weights are renormalized. A
    ranking that misses a change that some set makes counts as all items erased; texts that no set changes are NaN, and
    so are those with fewer than two items that have weight. Items that a ranking ties are erased in random order (the
    mean over `rankings` orders). External scores are rankings, too; NaN in a text that has none. Of items: the
    smallest set, where the head is linear. Serrano and Smith (2019, section 5); the minimum is ours.

    Args:
        rankings: number of random rankings to compare the others with; see `affordable`.
        by: only these of the named rankings; leave-one-out costs the most.
        floors: whether random rankings are tested; without them rankings can be compared with each other.
        until_empty: where no smaller set changes the decision, the last item goes, too, as in the paper (section 5.3):
            if the zero vector is decided otherwise, every ranking has erased the whole text, and so has the smallest
            set. `only_empty` and `never` say of each text whether the decision changes only then, or not even then;
            `one_random` is a ranking drawn once.
    """
    for name in by:
        lookup("ranking", name, RANKINGS)
    orders = RandomOrders(order_keys(evidence.items, generator, affordable(evidence, rankings)), evidence.items)
    flips = {name: _by_ranking(evidence, name, orders) for name in (*by, *evidence.given)}
    # Where the head is not linear, the smallest set is the best of all rankings: random ones are among these.
    if floors or evidence.item_logits is None:
        flips["random"] = _mean_of(evidence, orders.of(texts := torch.arange(len(evidence.items))), texts)
    if until_empty:
        flips["one_random"] = _missed(_first_flip(evidence, evidence.random_order), evidence.count)
    smallest, shown = _smallest(evidence, list(flips.values()))
    stands, too_few = smallest.count.isnan(), evidence.num_weighted < 2
    values: dict[str, Tensor] = {}
    for name, flip in {**flips, "minimal": _missed(smallest, evidence.count)}.items():
        own = {f"{field.name}_{name}": getattr(flip, field.name) for field in fields(flip)}
        values |= undefined_where(evidence.missing_scores(name), own)
    solvers: dict[str, Solver] = {name: evidence.solver for name in values if name.endswith("_minimal")}
    ends: dict[str, Tensor] = {}
    if until_empty:
        last = stands & (evidence.empty_logits.argmax(-1) != evidence.predicted)
        ends = undefined_where(too_few, {"only_empty": last, "never": stands & ~last})
        stands = stands & ~last
        shown = {name: marked.where(~last[:, None], evidence.items.double()) for name, marked in shown.items()}
    return Findings(undefined_where(stands | too_few, values) | ends, items=shown, solvers=solvers)


def _by_ranking(evidence: Evidence, name: str, orders: RandomOrders) -> FirstFlip:
    """What the ranking erases; where it ties items, the mean over random orders of them, never by position."""
    flip = _missed(_first_flip(evidence, evidence.ranking(name)), evidence.count)
    ranks = dense_ranks(evidence.importance(name), evidence.items).masked_fill(~evidence.items, -torch.inf).sort(1)
    is_tied = (ranks.values[:, 1:] == ranks.values[:, :-1]) & ranks.values[:, 1:].isfinite()
    tied = is_tied.any(1).nonzero()[:, 0]
    if not len(tied):
        return flip
    means = _mean_of(evidence, evidence.ranked_each(name, orders.of(tied), tied), tied)
    parts = [(getattr(flip, part.name), getattr(means, part.name)) for part in fields(flip)]
    return FirstFlip(*(whole.index_copy(0, tied, mean) for whole, mean in parts))


def _first_flip(evidence: Evidence, order: Int[Tensor, "batch item"]) -> FirstFlip:
    if evidence.item_logits is not None:
        return first_flip(evidence.log_attention, evidence.item_logits, order, evidence.items)
    if evidence.heads is not None:
        flip = _by_prefixes(evidence, evidence.heads, order[:, None], torch.arange(len(order)))
        return FirstFlip(*(getattr(flip, part.name)[:, 0] for part in fields(flip)))
    never = torch.full_like(evidence.count, torch.nan)
    count, mass, keep = never, never, evidence.items
    for done, column in enumerate(order.unbind(1), start=1):
        keep = keep.scatter(1, column[:, None], False)
        logits = evidence.decode_kept(keep)
        changed = (logits.argmax(-1) != evidence.predicted) & logits.isfinite().all(1)
        now = changed & count.isnan() & (evidence.count >= done)
        kept_mass = evidence.attention.masked_fill(~keep, 0.0).sum(1)
        count, mass = count.where(~now, done), torch.where(now, 1 - kept_mass, mass)
    return FirstFlip(count, count / evidence.count, mass)


def _smallest(evidence: Evidence, flips: list[FirstFlip]) -> tuple[FirstFlip, dict[str, Float[Tensor, "batch item"]]]:
    """What the smallest set erases, and its items; the best of the rankings where the head is not linear."""
    if evidence.item_logits is None:
        return _fewest(flips, evidence.count), {}
    smallest = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items)
    check_flip_set(evidence, smallest.erased)
    flip = FirstFlip(smallest.size, smallest.size / evidence.count, smallest.mass)
    return flip, {"minimal_set": smallest.erased.double()}


def _fewest(flips: list[FirstFlip], count: Float[Tensor, " batch"]) -> FirstFlip:
    """The fewest items that some ranking erased; NaN if all erased everything."""
    fewest, which = torch.stack([flip.count for flip in flips]).min(0)
    fewest = fewest.where(fewest < count, torch.nan)
    mass = torch.stack([flip.mass for flip in flips]).gather(0, which[None])[0]
    return FirstFlip(fewest, fewest / count, mass)


def _mean_of(evidence: Evidence, orders: Int[Tensor, "text ranking item"], texts: Int[Tensor, " text"]) -> FirstFlip:
    """The means over several rankings of the chosen texts, misses counted as everything erased."""
    if evidence.item_logits is None:
        return _mean_by_running(evidence, orders, texts)
    size = max(1, BLOCK // max(1, orders[:, 0].numel()))
    blocks = [_several(evidence, block, texts) for block in orders.split(size, 1)]
    return FirstFlip(*(torch.cat(part, 1).mean(1) for part in zip(*blocks, strict=True)))


def _mean_by_running(
    evidence: Evidence, orders: Int[Tensor, "text ranking item"], texts: Int[Tensor, " text"]
) -> FirstFlip:
    """The same where the head is not linear: every prefix of every ranking is decoded."""
    if evidence.heads is not None:
        flip = _missed(_by_prefixes(evidence, evidence.heads, orders, texts), evidence.count[texts, None])
        return FirstFlip(*(getattr(flip, part.name).mean(1) for part in fields(flip)))
    flips = []
    for order in orders.unbind(1):
        every_text = evidence.random_order.index_copy(0, texts, order)
        flips.append(_missed(_first_flip(evidence, every_text), evidence.count))
    return FirstFlip(*(torch.stack([getattr(flip, f.name)[texts] for flip in flips]).mean(0) for f in fields(flips[0])))


def _by_prefixes(
    evidence: Evidence, model: TransformerModel, orders: Int[Tensor, "text ranking item"], texts: Int[Tensor, " text"]
) -> FirstFlip:
    """Count, fraction and mass of several rankings of each text, where only the last block is run for each prefix."""
    changes = first_changes(model, evidence.trace, orders, texts)
    return FirstFlip(changes.count, changes.count / evidence.count[texts, None], changes.mass)


def _several(
    evidence: Evidence, orders: Int[Tensor, "text ranking item"], texts: Int[Tensor, " text"]
) -> list[Float[Tensor, "text ranking"]]:
    """Count, fraction and mass of several rankings of each text."""
    assert evidence.item_logits is not None
    flip = first_flips(evidence.log_attention[texts], evidence.item_logits[texts], orders, evidence.items[texts])
    full = _missed(flip, evidence.count[texts, None].expand_as(flip.count))
    return [getattr(full, field.name) for field in fields(full)]


def _missed(flip: FirstFlip, everything: Float[Tensor, "*rows"]) -> FirstFlip:
    """The flip with misses counted as everything erased."""
    missed, whole = flip.count.isnan(), torch.ones_like(everything)
    return FirstFlip(
        flip.count.where(~missed, everything), flip.fraction.where(~missed, whole), flip.mass.where(~missed, whole)
    )


def _measured(columns: Columns) -> ValueFloorBest:
    fraction = "erase_until_flip.fraction_{}".format
    value, floor, best = (1 - columns[fraction(name)] for name in ("attention", "random", "minimal"))
    return value, floor, best


TEST = BatteryTest(
    erase_until_flip,
    (
        Question(
            name="erase_until_flip",
            topic="words erased until the decision changes",
            group="relevance",
            wording=lambda item: f"Does the ranking find the {item}s that the prediction depends on?",
            measured=_measured,
            unit="share",
            sentence=lambda answer: (
                f"Erasing {answer.item}s in order of attention flips the prediction after "
                f"{100 * (1 - answer.value):.0f}% of the text; in random order, after {100 * (1 - answer.floor):.0f}%. "
                f"The smallest set that flips it is {100 * (1 - answer.best):.0f}%."
            ),
            if_inexact="The smallest set is the smallest that was found; a smaller one may exist.",
        ),
    ),
)
