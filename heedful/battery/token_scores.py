"""Do words that speak for a label get more attention than neutral ones?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attribution.items import items_are_tokens
from heedful.battery.evidence import Evidence, undefined_where
from heedful.measures import shares_below
from heedful.token_scores.classes import NEUTRAL, OTHER
from heedful.types import Findings

MOST_LABELS = 5
"""Up to so many labels, the weight on the words of each is told apart."""


def token_scores(
    evidence: Evidence, generator: torch.Generator, *, classes: Int[Tensor, " token"], labels: Sequence[str]
) -> Findings:
    """How attention treats words that speak for a label (polar) and neutral ones, text by text.

    `polar_above_neutral`: of the pairs of a polar and a neutral word of the text, the share in which the polar one has
    the more attention, equal ones counting half: AUROC within the text, .5 if attention knows nothing of polarity, NaN
    without such a pair. `weight_polar`, `weight_neutral` and, for a few labels, `weight[label]`: the mean weight of
    these words in even shares, weight x number of words; NaN where there are none.

    Within a text, order of weights is order of attention scores, which Sun and Lu (2020, section 5 and Figure 5)
    compare over the whole vocabulary. Undefined where attention weighs sentences.

    Args:
        classes: of each token number, as `tokens.token_classes` says: by the training texts.
        labels: what the classes are called.
    """
    seen, attention = evidence.trace, evidence.attention
    of_items = torch.full_like(evidence.items, OTHER, dtype=torch.long)
    if items_are_tokens(seen):
        of_items = classes[seen.batch.tokens.cpu()].where(evidence.items, OTHER)
    polar, neutral = of_items >= 0, of_items == NEUTRAL
    shares = evidence.count[:, None] * attention
    values = {
        "polar_above_neutral": _mean(shares_below(attention, neutral), polar),
        "weight_polar": _mean(shares, polar),
        "weight_neutral": _mean(shares, neutral),
    }
    if len(labels) <= MOST_LABELS:
        values |= {f"weight[{label}]": _mean(shares, of_items == number) for number, label in enumerate(labels)}
    return Findings(undefined_where(evidence.count < 2, values), "exact")


def _mean(values: Float[Tensor, "batch item"], members: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean over the members of each row; NaN where there are none."""
    return values.where(members, 0.0).sum(1) / members.sum(1)
