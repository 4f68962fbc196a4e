"""Are the top words necessary, and do they suffice?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution import logits_of_parts, logits_of_zeroed
from heedful.battery.evidence import Evidence, undefined_where
from heedful.errors import pick
from heedful.exact import random_orders
from heedful.types import Findings

SIZES = (1, 3, 5, 10, 0.2)
"""How many words make a rationale: so many, or, below 1, that share of the text's."""

ERASED = {"delete": logits_of_parts, "zero": logits_of_zeroed}
"""How the other words are taken away: deleted from the text, or left in it with zeros for an embedding."""


def rationale(
    evidence: Evidence, generator: torch.Generator, *, sizes: Sequence[int | float] = SIZES, erase: str = "delete"
) -> Findings:
    """How much less sure the model is of its decision without its most attended words, and with them alone.

    comprehensiveness = p(text) - p(text without the rationale), sufficiency = p(text) - p(rationale alone), of the
    predicted class; both signed. A rationale is necessary where the first is large, and suffices where the second is
    small. For rationales of each size `comprehensiveness_attention_3` ..., and without a size their mean over sizes
    (AOPC); the same for words drawn at random (`_random`) and for the words whose leaving out moves the prediction most
    (`_leave_one_out`). NaN at a size that takes the whole text. And `emptied`, how much less sure it is with zeros for
    all embeddings: what all words together are worth. DeYoung et al. (2020, section 4.2); Hu et al. (2023, appendix),
    whose code takes away the top words of all texts of a batch in each, so that what it measures is nearly `emptied`.

    Args:
        erase: "delete", or "zero" as in Hu et al.'s code.
    """
    items, count = evidence.items, evidence.count
    orders = {
        "attention": evidence.ranking("attention"),
        "random": random_orders(items, generator, 1)[:, 0],
        "leave_one_out": evidence.ranking("leave_one_out"),
    }
    wanted = rationale_sizes(count, sizes)
    tops = torch.cat([top_items(order, items, wanted) for order in orders.values()], 1)
    logits_of = pick("erase", erase, ERASED)
    parts = torch.cat([items[:, None] & ~tops, tops], 1).to(evidence.trace.attention.device)
    logits = logits_of(evidence.model, evidence.trace, parts).cpu()
    lost = sure_less(evidence, logits).unflatten(1, (2, len(orders), len(sizes)))
    lost = lost.masked_fill((wanted >= count[:, None])[:, None, None], torch.nan)
    values: dict[str, Tensor] = {}
    for kind, by_order in zip(("comprehensiveness", "sufficiency"), lost.unbind(1), strict=True):
        for name, by_size in zip(orders, by_order.unbind(1), strict=True):
            values[f"{kind}_{name}"] = by_size.nanmean(1)
            values |= {f"{kind}_{name}_{said(size)}": one for size, one in zip(sizes, by_size.unbind(1), strict=True)}
    nothing = torch.zeros_like(parts[:, :1])
    values["emptied"] = sure_less(evidence, logits_of_zeroed(evidence.model, evidence.trace, nothing).cpu())[:, 0]
    return Findings(undefined_where(count < 2, values))


def sure_less(evidence: Evidence, logits: Float[Tensor, "batch part classes"]) -> Float[Tensor, "batch part"]:
    """How far the probability of the decision falls."""
    decided = evidence.predicted[:, None, None].expand(-1, logits.shape[1], 1)
    return evidence.probabilities.amax(-1)[:, None] - logits.softmax(-1).gather(-1, decided)[..., 0]


def rationale_sizes(count: Float[Tensor, " batch"], sizes: Sequence[int | float]) -> Float[Tensor, "batch size"]:
    """How many of a text's items each size is: all, where there are fewer; a share is rounded up.

    >>> rationale_sizes(torch.tensor([4.0, 12.0]), (1, 5, 0.2))
    tensor([[1., 4., 1.],
            [1., 5., 3.]])
    """
    # 0.2 x 35 is a little more than 7
    wanted = [torch.full_like(count, size) if size >= 1 else (size * count - 1e-9).ceil() for size in sizes]
    return torch.minimum(torch.stack(wanted, 1), count[:, None])


def top_items(
    order: Int[Tensor, "batch item"], items: Bool[Tensor, "batch item"], sizes: Float[Tensor, "batch size"]
) -> Bool[Tensor, "batch size item"]:
    """Which items are among the first so many of the order."""
    return (order.argsort(1)[:, None] < sizes[..., None]) & items[:, None]


def said(size: int | float) -> str:
    """A size as it stands in the name of a measure.

    >>> said(3), said(0.2)
    ('3', '20%')
    """
    return f"{size:g}" if size >= 1 else f"{size:.0%}"
