"""The radius within which no perturbation of the weights changes the decision, and beyond which some perturbation does.

Three sets of perturbed weights, as in `worst_case`: free; of the same sum; on the simplex. Each is exact for any number
of classes, since the decision changes as soon as a rival draws level, and for a single rival the set is convex.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.exact.ball import Norm, project_on_simplex, rounding_of, steepest_free, steepest_zero_sum
from heedful.exact.linear_form import checked_attention, checked_item_logits

Weights = Float[Tensor, "batch item"]
ItemLogits = Float[Tensor, "batch item classes"]
EmptyLogits = Float[Tensor, "batch classes"]
Items = Bool[Tensor, "batch item"]
ItemValues = Float[Tensor, "row item"]
Margins = Float[Tensor, " row"]

HALVINGS = 60
"""Bisection steps, enough to exhaust double precision."""
LONGEST = 42.0
"""Logarithm of how much longer a step may have to be because weights are clipped at 0: up to a double's precision."""


def certified_radius(
    attention: Weights, item_logits: ItemLogits, empty_logits: EmptyLogits, items: Items, norm: Norm
) -> Float[Tensor, " batch"]:
    """The radius for perturbations of any kind, after which the weights may sum to something else.

    min over rivals k of (u_y - u_k) / (dual norm of s_y - s_k), with y the decision; infinite where no rival can be
    reached.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -4.0]]]), torch.zeros(1, 2)
    >>> weights, two = torch.tensor([[0.75, 0.25]]), torch.tensor([[True, True]])
    >>> certified_radius(weights, logits, empty, two, "linf")  # 2 / (4 + 4)
    tensor([0.2500], dtype=torch.float64)
    """
    leads = _leads(attention, item_logits, empty_logits, items)
    return leads.radii(steepest_free(leads.gap, leads.items, 1.0, norm)).amin(-1)


def certified_radius_zero_sum(
    attention: Weights, item_logits: ItemLogits, empty_logits: EmptyLogits, items: Items, norm: Norm
) -> Float[Tensor, " batch"]:
    """The radius for perturbations that keep the sum of the weights, which may turn negative: at least as large.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -2.0]]]), torch.zeros(1, 2)  # 2.5 / (half the range, 3)
    >>> certified_radius_zero_sum(torch.tensor([[0.75, 0.25]]), logits, empty, torch.tensor([[True, True]]), "l1")
    tensor([0.8333], dtype=torch.float64)
    """
    leads = _leads(attention, item_logits, empty_logits, items)
    return leads.radii(steepest_zero_sum(leads.gap, leads.items, 1.0, norm)).amin(-1)


def certified_radius_on_simplex(
    attention: Weights, item_logits: ItemLogits, empty_logits: EmptyLogits, items: Items, norm: Norm
) -> Float[Tensor, " batch"]:
    """The radius for weights that stay a distribution, as all attention is: at least as large again.

    The distance to the nearest distribution under which a rival draws level: a knapsack (l1), or a bisection over a
    single number (l2, linf), to the last digit. Infinite where no distribution gives another decision.

    >>> logits, empty = torch.tensor([[[0.0, 4.0], [0.0, -2.0]]]), torch.zeros(1, 2)  # 0.4167 must go over
    >>> weights, two = torch.tensor([[0.75, 0.25]]), torch.tensor([[True, True]])
    >>> certified_radius_on_simplex(weights, logits, empty, two, "linf")
    tensor([0.4167], dtype=torch.float64)
    """
    leads = _leads(attention, item_logits, empty_logits, items)
    at_least = leads.radii(steepest_zero_sum(leads.gap, leads.items, 1.0, norm))
    lowest = leads.gap.where(leads.items, torch.inf).amin(-1)
    total = leads.base.sum(-1, keepdim=True)
    reached = leads.margin < (leads.gap * leads.base.unsqueeze(1)).sum(-1) - lowest * total
    at_least = at_least.where(reached, torch.inf)
    best = torch.full_like(at_least[:, 0], torch.inf)
    # The most promising rivals first: most texts need only the first or second.
    for rival in at_least.argsort(-1).unbind(-1):
        bound = at_least.gather(1, rival[:, None])[:, 0]
        row = (bound < best).nonzero()[:, 0]
        if not len(row):
            break
        gap, margin = leads.gap[row, rival[row]], leads.margin[row, rival[row]]
        distance = _NEAREST[norm](gap, margin, leads.base[row], items[row], bound[row])
        best[row] = torch.minimum(best[row], distance)
    return best


@dataclass(frozen=True)
class _Leads:
    """What stands between the decision and each class: the lead, and what each item adds to it.

    Args:
        base: attention.
        gap: s_y - s_k of each item, without the bias.
        margin: u_y - u_k.
        rival: False for the decision itself.
    """

    base: Float[Tensor, "batch item"]
    gap: Float[Tensor, "batch classes item"]
    margin: Float[Tensor, "batch classes"]
    rival: Bool[Tensor, "batch classes"]
    items: Bool[Tensor, "batch classes item"]

    def radii(self, steepest: Float[Tensor, "batch classes item"]) -> Float[Tensor, "batch classes"]:
        """Each margin divided by the most that a perturbation of radius 1 takes from it."""
        taken = (self.gap * steepest).sum(-1)
        rounding = rounding_of(self.gap, self.items.sum(-1, keepdim=True))[..., 0]
        return (self.margin / taken).where(self.rival & (taken > rounding), torch.inf)


def _leads(attention: Weights, item_logits: ItemLogits, empty_logits: EmptyLogits, items: Items) -> _Leads:
    base, empty = checked_attention(attention, items), empty_logits.double()
    scores = checked_item_logits(item_logits.double() - empty.unsqueeze(1), items).transpose(1, 2)
    logits = (scores * base.unsqueeze(1)).sum(-1) + empty
    decision = logits.argmax(-1, keepdim=True)
    margin = logits.gather(-1, decision) - logits
    gap = scores.gather(1, decision.unsqueeze(-1).expand(-1, -1, scores.shape[-1])) - scores
    rival = torch.arange(logits.shape[-1], device=logits.device) != decision
    return _Leads(base, gap, margin, rival, items.unsqueeze(1).expand_as(gap))


def _nearest_l1(
    gap: ItemValues, margin: Margins, base: ItemValues, items: Bool[Tensor, "row item"], bound: Margins
) -> Margins:
    """Weight goes to the place of the least gap, from the places of the largest gap first."""
    worth = (gap - gap.where(items, torch.inf).amin(-1, keepdim=True)).where(items, 0.0)
    worth, order = worth.sort(-1, descending=True)
    room = base.gather(-1, order)
    spared = margin.unsqueeze(-1) - (worth * room).cumsum(-1) + worth * room
    taken = torch.minimum((spared / worth).where(worth > 0, 0.0).clamp_min(0), room)
    return 2 * taken.sum(-1)


def _nearest_l2(
    gap: ItemValues, margin: Margins, base: ItemValues, items: Bool[Tensor, "row item"], bound: Margins
) -> Margins:
    """The projection of attention - step x gap on the simplex, at the step where the margin is gone.

    The margin falls as the step grows. Were nothing cut off, it would be gone at step = bound^2 / margin; what is cut
    off makes the step longer, and it is searched for on a logarithmic scale.
    """
    total = base.sum(-1, keepdim=True)
    # Measured from its least entry: however long the step, the entries near the bottom keep their digits.
    gap = (gap - gap.where(items, torch.inf).amin(-1, keepdim=True)).where(items, 0.0)

    def moved(step: Float[Tensor, "row 1"]) -> ItemValues:
        return project_on_simplex(base - step * gap, items, total) - base

    low = (bound.square() / margin).where(margin > 0, 0.0).log().unsqueeze(-1)
    high = low + LONGEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        gone = -(gap * moved(middle.exp())).sum(-1, keepdim=True) >= margin.unsqueeze(-1)
        low, high = low.where(gone, middle), high.where(~gone, middle)
    return torch.linalg.vector_norm(moved(high.exp()), dim=-1)


def _nearest_linf(
    gap: ItemValues, margin: Margins, base: ItemValues, items: Bool[Tensor, "row item"], bound: Margins
) -> Margins:
    """All is taken that a radius allows, and given back where the gap is least; the radius follows by bisection."""
    order = gap.where(items, torch.inf).argsort(-1)
    gap, base, real = (values.gather(-1, order) for values in (gap.where(items, 0.0), base, items))
    low, high = bound.unsqueeze(-1), torch.ones_like(bound).unsqueeze(-1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        taken = torch.minimum(base, middle)
        room = (taken + middle).where(real, 0.0)
        given = torch.minimum((taken.sum(-1, keepdim=True) - room.cumsum(-1) + room).clamp_min(0), room)
        gone = (gap * (taken - given)).sum(-1, keepdim=True) >= margin.unsqueeze(-1)
        low, high = low.where(gone, middle), high.where(~gone, middle)
    return high.squeeze(-1)


_NEAREST = {"l1": _nearest_l1, "l2": _nearest_l2, "linf": _nearest_linf}
