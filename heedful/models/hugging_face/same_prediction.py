"""Attention that is far from a transformer's own and gives the same prediction: witnesses, decoded by the model.

After the last layer's attention a transformer is not linear, so what `heedful.exact` solves is bounded here: an
attention on two words, found by bisection, or by an additional search, shows that the largest divergence
is at least its own. Other attention is the same in every head, so that its mean over heads is what it says.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.exact.adversary import js_of_pair, slab
from heedful.measures import js_divergence, total_variation_distance
from heedful.models.hugging_face.attention_view import EncodedTexts, TransformerModel
from heedful.types import Trace

# How many words of a ranking a transformer can lose before its decision changes: evaluated, text by text.

BLOCK = 4
"""Prefixes of each ranking that are evaluated before those rankings that have changed the decision are dropped."""


@dataclass(frozen=True)
class FirstChange:
    """The shortest prefix of each ranking whose erasure changes the decision.

    Args:
        count: how many words it has; NaN if no prefix short of the whole text does.
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
    """What is erased by each ranking, word by word, until the decision changes; what remains is renormalized.

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


PAIRS = 4
"""Pairs of words tried for each text and each end of what counts as the same prediction."""
STEPS = 24
"""Halvings of the share of the first word: it is then known to 6e-8."""
MARGIN = 1e-6
"""Within eps means within eps x (1 - MARGIN), so that the answer still counts as the same in coarser floats."""

Search = Callable[
    [
        Callable[[Float[Tensor, "batch item"]], Float[Tensor, "batch classes"]],
        Float[Tensor, "batch item"],
        Bool[Tensor, "batch item"],
    ],
    Float[Tensor, "batch candidate item"],
]
"""Candidates, from the model's predictions under any attention, its own attention and the allowed words."""


@dataclass(frozen=True)
class OtherAttention:
    """The adversarial attention that was found: the farthest one that keeps the prediction.

    Args:
        js: its divergence from the model's own; 0 where none was found: a lower bound on the largest.
        tvd: how far its prediction is from the model's.
        attention: over the words; the model's own where none was found.
        is_found: whether any was.
        is_searched: whether the search found it, not the bisection.
    """

    js: Float[Tensor, " batch"]
    tvd: Float[Tensor, " batch"]
    attention: Float[Tensor, "batch item"]
    is_found: Bool[Tensor, " batch"]
    is_searched: Bool[Tensor, " batch"]


def most_different(
    model: TransformerModel,
    seen: Trace,
    eps: float,
    *,
    allowed: Bool[Tensor, "batch item"] | None = None,
    search: Search | None = None,
) -> OtherAttention:
    """The adversarial attention, with a prediction within eps: on one word, on two, or of the search's candidates.

    With all weight on a single word i the log odds of the decision are s_i. Between a word below a level and one above
    it some share of the two meets the level exactly, by continuity; bisection finds it. Levels are the ends of what
    is within eps (two classes), or the model's own log odds. The pairs are those that would diverge most if the log
    odds were linear between two words, as `exact.eps_max_js` has it.

    Args:
        allowed: the words that may have weight; None: all.
        search: run in addition to the bisection; the larger divergence counts.
    """
    items = seen.encoded.items
    allowed = items if allowed is None else allowed & items
    problem = _Problem(model, seen, seen.logits.softmax(-1), seen.logits.argmax(-1), eps)
    count = items.shape[1]
    alone = torch.eye(count, dtype=torch.float64, device=items.device).expand(len(items), -1, -1)
    odds = _log_odds(model.impose_each(seen.encoded, alone), problem.decided)
    candidates = [alone.masked_fill(~allowed[..., None], 0.0)]
    for level in problem.levels():
        pairs = _promising_pairs(seen.attention, odds, level, allowed)
        candidates.append(_at_level(problem, pairs, level, count))
    tried = sum(part.shape[1] for part in candidates)
    if search is not None:
        own = seen.attention.detach()

        def decode(weights: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
            return model.decode(model.imposing(seen.encoded, weights), weights)

        candidates.append(search(decode, own, allowed).detach())
    return problem.best(torch.cat(candidates, 1), allowed, tried)


@dataclass(frozen=True)
class _Problem:
    model: TransformerModel
    seen: Trace
    whole: Float[Tensor, "batch classes"]
    decided: Int[Tensor, " batch"]
    eps: float

    def levels(self) -> list[Float[Tensor, " batch"]]:
        """The log odds of the decision at which to look for attention."""
        own = _log_odds(self.seen.logits[:, None], self.decided)[:, 0]
        if self.whole.shape[1] > 2:
            return [own]
        low, high = slab(own, self.eps * (1 - MARGIN))
        return [level.where(level.isfinite(), own) for level in (low, high)]

    def best(
        self, candidates: Float[Tensor, "batch n item"], allowed: Bool[Tensor, "batch item"], tried: int
    ) -> OtherAttention:
        """The candidate that diverges most, of those whose prediction is within eps.

        Args:
            tried: how many of the candidates, the first, are not of the search.
        """
        own = self.seen.attention
        predictions = self.model.impose_each(self.seen.encoded, candidates).softmax(-1)
        tvd = total_variation_distance(predictions, self.whole[:, None].expand_as(predictions))
        weight = candidates.where(allowed[:, None], 0.0).sum(-1)
        fits = (tvd <= self.eps) & ((weight - 1).abs() < 1e-6)
        js = js_divergence(candidates, own[:, None].expand_as(candidates)).where(fits, -1.0)
        most, which = js.max(1)
        is_found = most >= 0
        chosen = candidates.gather(1, which[:, None, None].expand(-1, 1, candidates.shape[2]))[:, 0]
        return OtherAttention(
            js=most.clamp_min(0.0),
            tvd=tvd.gather(1, which[:, None])[:, 0].where(is_found, 0.0),
            attention=chosen.where(is_found[:, None], own),
            is_found=is_found,
            is_searched=is_found & (which >= tried),
        )


def _log_odds(logits: Float[Tensor, "batch n classes"], decided: Int[Tensor, " batch"]) -> Float[Tensor, "batch n"]:
    """ln(p / (1 - p)) of the decision's probability p."""
    index = decided[:, None, None].expand(-1, logits.shape[1], 1)
    own = logits.gather(-1, index)[..., 0]
    return own - logits.scatter(-1, index, -torch.inf).logsumexp(-1)


def _promising_pairs(
    attention: Float[Tensor, "batch item"],
    odds: Float[Tensor, "batch item"],
    level: Float[Tensor, " batch"],
    allowed: Bool[Tensor, "batch item"],
) -> tuple[Int[Tensor, "batch pair"], Int[Tensor, "batch pair"]]:
    """Words below and above the level, in pairs, the most promising first; the same word twice if there is no pair."""
    at = level[:, None]
    below, above = allowed & (odds < at), allowed & (odds > at)
    first, second = odds[:, :, None], odds[:, None]
    fits = below[:, :, None] & above[:, None]
    share = ((second - at[..., None]) / (second - first)).where(fits, 0.5)
    promise = js_of_pair(attention[:, :, None], attention[:, None], share).where(fits, -torch.inf)
    count = attention.shape[1]
    best = promise.flatten(1).topk(min(PAIRS, count * count), dim=1)
    lower, upper = best.indices // count, best.indices % count
    return lower, upper.where(best.values.isfinite(), lower)


def _at_level(
    problem: _Problem,
    pairs: tuple[Int[Tensor, "batch pair"], Int[Tensor, "batch pair"]],
    level: Float[Tensor, " batch"],
    count: int,
) -> Float[Tensor, "batch n item"]:
    """Attention on both words of each pair that meets the level, from just below and from just above."""
    lower, upper = (torch.nn.functional.one_hot(part, count).double() for part in pairs)
    low, high = torch.zeros_like(lower[..., 0]), torch.ones_like(lower[..., 0])
    for _ in range(STEPS):
        share = (low + high) / 2
        mixed = share[..., None] * lower + (1 - share[..., None]) * upper
        odds = _log_odds(problem.model.impose_each(problem.seen.encoded, mixed), problem.decided)
        is_above = odds > level[:, None]
        low, high = share.where(is_above, low), share.where(~is_above, high)
    ends = [share[..., None] * lower + (1 - share[..., None]) * upper for share in (low, high)]
    return torch.cat(ends, 1)
