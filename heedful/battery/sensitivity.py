"""How small a change of the top words' embeddings changes the decision?"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attacks import Ball, Objective, ascend, slope
from heedful.attribution.deletion import only_items
from heedful.attribution.items import item_of_token, of_similar_length
from heedful.battery.comprehensiveness_sufficiency import SIZES, Sizes, size_name, top_items, top_sizes
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.exact import random_orders
from heedful.models.abilities import own_linear
from heedful.settings import Count
from heedful.types import Findings, Model, Trace

STEP = 0.25
"""Length of a step of ascent, in radii: longer ones leap over what is not straight."""

WIDER = 2.0
"""By which factor a radius grows until the decision changes."""

WORTHWHILE = 0.02
"""The share by which a change must have become shorter for the search to go on."""

TRIES = 4
"""Readings by which a change is scaled back."""

TOKENS = 2**11
"""Searched at once: some sixty short texts. Larger batches are no faster, and take memory."""


def sensitivity(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    sizes: Sizes = SIZES,
    by: tuple[str, ...] = ("attention", "random", "leave_one_out"),
    probes: Count = 6,
    steps: Count = 4,
) -> Findings:
    """The smallest change of the top words' embeddings that changes the decision: the smaller, the more they matter.

    For each number of top words `radius_attention_3` ..., the least Frobenius norm that projected gradient ascent finds
    (see `smallest_flips`; the true one may be smaller; NaN if none was found), and `auc_attention`, the area under
    their curve over the share of the text, divided by its width; the same for words drawn at random (`_random`) and for
    the words whose leaving out moves the prediction most (`_leave_one_out`). With each come `held_attention_3` ... and
    `held_auc_attention`: the same in closed form, of hidden states and with attention held where it is (see
    `held_radius`). Yin et al. (2022, section 3.1); Hu et al. (2023, appendix), whose code searches for nothing and
    changes all words.

    Args:
        probes: balls in which a change of the decision is looked for in turn, and at most as many to shorten it.
        steps: number of ascent steps in each.
    """
    trace, items, count = evidence.trace, evidence.items, evidence.count
    wanted, word_ids = top_sizes(count, sizes), item_of_token(trace).cpu()
    orders = [random_orders(items, generator, 1)[:, 0] if name == "random" else evidence.ranking(name) for name in by]
    tops = torch.cat([top_items(order, items, wanted) for order in orders], 1)
    words = tops.gather(2, word_ids.clamp_min(0)[:, None].expand(-1, tops.shape[1], -1)) & (word_ids >= 0)[:, None]
    radii = smallest_flips(evidence.model, trace, words.to(trace.attention.device), probes, steps).cpu()
    slopes = head_slopes(evidence)
    held = torch.stack([held_radius(evidence, slopes, top) for top in tops.unbind(1)], 1)
    values: dict[str, Tensor] = {}
    for kind, prefix, norms_by_size in (("", "radius_", radii), ("held_", "held_", held)):
        for name, curve in zip(by, norms_by_size.split(len(sizes), 1), strict=True):
            values[f"{kind}auc_{name}"] = area(curve, wanted / count[:, None])
            values |= {
                f"{prefix}{name}_{size_name(size)}": value for size, value in zip(sizes, curve.unbind(1), strict=True)
            }
    return Findings(undefined_where(count < 2, values), "search")


@torch.no_grad()
def smallest_flips(
    model: Model, trace: Trace, words: Bool[Tensor, "batch choice time"], probes: int, steps: int
) -> Float[Tensor, "batch choice"]:
    """The least Frobenius norms of changes of these words' embeddings that were found to change the decision.

    Ascent in balls that widen until the decision changes, the first reaching to where the margin would be gone if it
    fell as it does at first. Then, in turn, the change is scaled back along its own line, and ascent in the ball that
    this leaves looks for a better line. What no longer gets shorter leaves the search. NaN if nothing was found.

    The papers' binary search over radii, with an ascent from nothing at each, takes several times as long for norms
    that are no smaller on average (`benchmarks/sensitivity.py`).
    """
    texts = ChosenWords(model, trace, torch.arange(len(words), device=words.device), trace.batch.mask)
    blank = torch.zeros_like(trace.embedded)
    first, margin = slope(texts.lead, blank), -texts.lead(blank)
    smallest = margin.new_full(words.shape[:2], torch.nan)
    text, which = words.any(-1).nonzero(as_tuple=True)
    for some in of_similar_length(trace.batch.mask.sum(1)[text], TOKENS):
        row, own = text[some], words[text[some], which[some]]
        radius = margin[row] / norms(first[row] * own[..., None])
        chosen = ChosenWords(model, trace, row, own)
        change = widen(chosen, radius, probes, steps)
        smallest[row, which[some]] = tighten(chosen, change, margin[row], probes, steps)
    return smallest


@dataclass(frozen=True)
class ChosenWords:
    """Rows, each a text and those of its words that may change.

    Args:
        text: which row of the trace it is; many may be the same.
    """

    model: Model
    trace: Trace
    text: Int[Tensor, " row"]
    words: Bool[Tensor, "row time"]

    @property
    def movable(self) -> Bool[Tensor, "row time embed"]:
        """What of the embeddings may change."""
        return self.words[..., None].expand(-1, -1, self.trace.embedded.shape[-1])

    def some(self, rows: Int[Tensor, " some"]) -> "ChosenWords":
        """The chosen rows."""
        return replace(self, text=self.text[rows], words=self.words[rows])

    def lead(self, change: Float[Tensor, "row time embed"]) -> Float[Tensor, " row"]:
        """By how much the logit of the best rival exceeds that of the decision when the embeddings change so."""
        trace, text = self.trace, self.text
        # With every item kept this chooses rows, and drops padding that only the others need.
        batch = only_items(trace, item_of_token(trace), text, trace.encoded.items[text])
        encoded = self.model.encode((trace.embedded[text] + change)[:, : batch.tokens.shape[1]], batch)
        logits = self.model.decode(encoded, self.model.attend(encoded, batch)[1])
        decided = trace.logits[text].argmax(-1, keepdim=True)
        return logits.scatter(1, decided, -torch.inf).amax(1) - logits.gather(1, decided)[:, 0]


def widen(
    chosen: ChosenWords, radius: Float[Tensor, " row"], probes: int, steps: int
) -> Float[Tensor, "row time embed"]:
    """Changes of the decision, each from the first ball in which ascent finds one; others where it finds none.

    Args:
        radius: radius of the first ball; infinite if the lead has no slope.
    """
    change, radius = radius.new_zeros(chosen.movable.shape), radius.clone()
    left = radius.isfinite().nonzero()[:, 0]
    for _ in range(probes):
        if not len(left):
            break
        some = chosen.some(left)
        change[left] = climb(some, change[left], radius[left], steps)
        left = left[~(some.lead(change[left]) > 0)]
        radius[left] *= WIDER
    return change


def tighten(
    chosen: ChosenWords,
    change: Float[Tensor, "row time embed"],
    margin: Float[Tensor, " row"],
    probes: int,
    steps: int,
) -> Float[Tensor, " row"]:
    """Norms of the shortest changes that change the decision, found by scaling back and ascent in turn; NaN for none.

    Args:
        change: where it does not change the decision there is nothing to shorten.
        margin: by how much the decision leads.
    """
    shortest, rows = torch.full_like(margin, torch.inf), torch.arange(len(margin), device=margin.device)
    for _ in range(probes):
        change = scaled(change, scale_back(chosen.some(rows).lead, change, margin[rows]))
        size = norms(change)
        goes_on = size < (1 - WORTHWHILE) * shortest[rows]
        shortest[rows] = shortest[rows].fmin(size)
        rows, change = rows[goes_on], change[goes_on]
        if not len(rows):
            break
        change = climb(chosen.some(rows), change, shortest[rows], steps)
    return shortest.where(shortest.isfinite(), torch.nan)


def climb(
    chosen: ChosenWords, change: Float[Tensor, "row time embed"], radius: Float[Tensor, " row"], steps: int
) -> Float[Tensor, "row time embed"]:
    """The change that projected gradient ascent on the lead ends with, from this one, in a ball of that radius."""
    return ascend(chosen.lead, change, chosen.movable, Ball(radius, "l2"), steps=steps, length=STEP)


def scale_back(
    lead: Objective, change: Float[Tensor, "row *place"], margin: Float[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """The smallest factor found at which each change still flips the prediction; NaN if it does not at its full size.

    A binary search between nothing, where the lead is -margin, and the whole, which looks not in the middle but halfway
    from there to where a straight line would cross 0.

    >>> scale_back(lambda change: change[:, 0] - 1, torch.tensor([[4.0], [0.5]]), torch.ones(2))  # crosses at 1/4
    tensor([0.2734,    nan])
    """
    whole = lead(change)
    below, above = -margin, whole.clamp_min(0)
    low, high = torch.zeros_like(whole), torch.ones_like(whole)
    for _ in range(TRIES):
        crossing = low + (high - low) * below / (below - above)
        factor = (crossing + (low + high) / 2) / 2
        value = lead(scaled(change, factor))
        flips = value > 0
        low, below = factor.where(~flips, low), value.where(~flips, below)
        high, above = factor.where(flips, high), value.where(flips, above)
    return high.where(whole > 0, torch.nan)


def scaled(change: Float[Tensor, "row *place"], factor: Float[Tensor, " row"]) -> Float[Tensor, "row *place"]:
    """Each change times its factor."""
    return change * factor.reshape(-1, *[1] * (change.dim() - 1))


def norms(change: Float[Tensor, "row *place"]) -> Float[Tensor, " row"]:
    """The Frobenius norm of each change."""
    return change.flatten(1).norm(dim=1)


def head_slopes(evidence: Evidence) -> Float[Tensor, "batch classes"] | None:
    """The length of d(logit of the decision - logit of a rival) / d context, for each rival; 0 for the decision.

    One number per rival because the head is linear; None if it is not one of ours, and might not be.
    """
    model, encoded = own_linear(evidence.model), evidence.trace.encoded
    if model is None:
        return None
    head, context = model.head, torch.zeros_like(encoded.hidden[:, 0])
    rows = [
        slope(lambda point, label=label: head(point, encoded.query)[:, label], context)
        for label in range(evidence.trace.logits.shape[-1])
    ]
    each = torch.stack(rows, 1).cpu()
    own = each.gather(1, evidence.predicted[:, None, None].expand(-1, 1, each.shape[-1]))
    return (own - each).norm(dim=-1)


def held_radius(
    evidence: Evidence, slopes: Float[Tensor, "batch classes"] | None, top: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    """The least Frobenius norm of a change of these items' hidden states that changes the decision, attention held.

    min over rivals k of (u_y - u_k) / (|theta_y - theta_k| x the l2 norm of the items' weights), exactly; NaN if the
    items have no weight, no rival can be reached, or the head is not a linear one of ours. Equal to the paper's, which
    is of embeddings, only where states are the embeddings and attention does not react.
    """
    if slopes is None:
        return torch.full_like(evidence.count, torch.nan)
    logits = evidence.trace.logits.cpu()
    margin = logits.gather(1, evidence.predicted[:, None]) - logits
    reach = slopes * evidence.attention.where(top, 0.0).norm(dim=1, keepdim=True)
    least = (margin / reach).where(reach > 0, torch.inf).amin(1)
    return least.where(least.isfinite(), torch.nan)


def area(curve: Float[Tensor, "batch size"], share: Float[Tensor, "batch size"]) -> Float[Tensor, " batch"]:
    """The mean height of the curve between its smallest and its largest share, by trapezoids.

    >>> area(torch.tensor([[4.0, 2.0, 1.0]]), torch.tensor([[0.1, 0.5, 0.3]]))  # (4 + 1) / 2 and (1 + 2) / 2
    tensor([2.0000])
    """
    share, order = share.sort(dim=1, stable=True)
    heights = curve.gather(1, order)
    widths = share.diff(dim=1)
    total = ((heights[:, 1:] + heights[:, :-1]) / 2 * widths).sum(1)
    return torch.where(widths.sum(1) > 0, total / widths.sum(1), heights.mean(1))


TEST = BatteryTest(sensitivity, cost="named")
