"""How small a change of the top words' embeddings changes the decision?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.rationale import SIZES, rationale_sizes, said, top_items
from heedful.exact import random_orders
from heedful.importance.items import item_of_token
from heedful.model import LinearAttentionModel
from heedful.perturbation import Ball, ascend, reread, slope
from heedful.types import Findings, Model, Trace

WIDER = 2.0
"""By which factor a radius grows until the decision changes, and shrinks until it does not."""


def sensitivity(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    sizes: Sequence[int | float] = SIZES,
    by: Sequence[str] = ("attention", "random", "leave_one_out"),
    probes: int = 8,
    steps: int = 10,
) -> Findings:
    """The smallest change of the rationale's embeddings that changes the decision: the smaller, the more it matters.

    For rationales of each size `radius_attention_3` ..., the least Frobenius norm that projected gradient ascent with
    a binary search finds (so the true one may be smaller; NaN where none was found), and `auc_attention`, the area
    under their curve over the share of the text, divided by its width; the same for words drawn at random (`_random`)
    and for the words whose leaving out moves the prediction most (`_leave_one_out`). Beside each `held_attention_3` ...
    and `held_auc_attention`: the same in closed form, of hidden states and with attention held where it is (see
    `held_radius`). Yin et al. (2022, section 3.1); Hu et al. (2023, appendix), whose code searches for nothing and
    changes all words.

    Args:
        probes: radii that are tried in turn.
        steps: of ascent at each.
    """
    trace, items, count = evidence.trace, evidence.items, evidence.count
    wanted, owner = rationale_sizes(count, sizes), item_of_token(trace).cpu()
    slopes = head_slopes(evidence)
    values: dict[str, Tensor] = {}
    for name in by:
        order = random_orders(items, generator, 1)[:, 0] if name == "random" else evidence.ranking(name)
        tops = top_items(order, items, wanted)
        words = tops.gather(2, owner.clamp_min(0)[:, None].expand(-1, len(sizes), -1)) & (owner >= 0)[:, None]
        radii = [
            smallest_flip(evidence.model, trace, one.to(trace.attention.device), probes, steps)
            for one in words.unbind(1)
        ]
        held = [held_radius(evidence, slopes, one) for one in tops.unbind(1)]
        for kind, found in {"": radii, "held_": held}.items():
            curve = torch.stack(found, 1).cpu()
            values[f"{kind}auc_{name}"] = area(curve, wanted / count[:, None])
            prefix = kind or "radius_"
            values |= {f"{prefix}{name}_{said(size)}": one for size, one in zip(sizes, curve.unbind(1), strict=True)}
    return Findings(undefined_where(count < 2, values), "search")


def smallest_flip(
    model: Model, trace: Trace, words: Bool[Tensor, "batch time"], probes: int, steps: int
) -> Float[Tensor, " batch"]:
    """The least Frobenius norm of a change of these words' embeddings that was found to change the decision.

    Starts where the margin would be gone if it fell as it does at first, doubles the radius until ascent finds a change
    of the decision (halves it until it finds none), then halves the interval, on a logarithmic scale. All texts at
    once, each with a radius of its own. NaN where nothing was found.
    """
    decided, blank = trace.logits.argmax(-1, keepdim=True), torch.zeros_like(trace.embedded)
    movable = words.unsqueeze(-1).expand_as(blank)

    def lead(logits: Float[Tensor, "batch classes"]) -> Float[Tensor, " batch"]:
        """Of the best rival over the decision."""
        return logits.scatter(1, decided, -torch.inf).amax(1) - logits.gather(1, decided)[:, 0]

    def objective(change: Float[Tensor, "batch time embed"]) -> Float[Tensor, " batch"]:
        return lead(reread(model, trace, change).logits)

    steep = slope(objective, blank).where(movable, 0.0).flatten(1).norm(dim=1)
    radius = (-lead(trace.logits) / steep).where(steep > 0, 1.0)
    low, high = torch.zeros_like(radius), torch.full_like(radius, torch.inf)
    for _ in range(probes):
        change = ascend(objective, blank, movable, Ball(radius, "l2"), steps=steps)
        flips = reread(model, trace, change).logits.argmax(-1) != decided[:, 0]
        high = torch.minimum(high, change.flatten(1).norm(dim=1)).where(flips, high)
        low = torch.maximum(low, radius).where(~flips, low)
        between = (low * high).sqrt()
        radius = torch.where(high.isinf(), WIDER * low, torch.where(low > 0, between, high / WIDER))
    return high.where(high.isfinite(), torch.nan)


def head_slopes(evidence: Evidence) -> Float[Tensor, "batch classes"] | None:
    """The length of d(logit of the decision - logit of a rival) / d context, for each rival; 0 for the decision.

    One number a rival because the head is linear; None where it is not one of ours, and so may not be.
    """
    model, encoded = evidence.model, evidence.trace.encoded
    if not isinstance(model, LinearAttentionModel):
        return None
    head, context = model.head, torch.zeros_like(encoded.hidden[:, 0])
    rows = [
        slope(lambda point, one=one: head(point, encoded.query)[:, one], context)
        for one in range(evidence.trace.logits.shape[-1])
    ]
    each = torch.stack(rows, 1).cpu()
    own = each.gather(1, evidence.predicted[:, None, None].expand(-1, 1, each.shape[-1]))
    return (own - each).norm(dim=-1)


def held_radius(
    evidence: Evidence, slopes: Float[Tensor, "batch classes"] | None, top: Bool[Tensor, "batch item"]
) -> Float[Tensor, " batch"]:
    """The least Frobenius norm of a change of these items' hidden states that changes the decision, attention held.

    min over rivals k of (u_y - u_k) / (|theta_y - theta_k| x the l2 norm of the items' weights), exactly; NaN where the
    items have no weight, no rival can be reached, or the head is not a linear one of ours. Equal to the paper's, which
    is of embeddings, only where states are the embeddings and attention does not react.
    """
    if slopes is None:
        return torch.full_like(evidence.count, torch.nan)
    logits = evidence.trace.logits.cpu()
    margin = logits.gather(1, evidence.predicted[:, None]) - logits
    reach = slopes * evidence.attention.where(top, 0.0).norm(dim=1, keepdim=True)
    found = (margin / reach).where(reach > 0, torch.inf).amin(1)
    return found.where(found.isfinite(), torch.nan)


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
