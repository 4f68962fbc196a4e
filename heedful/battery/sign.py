"""Does the top word support the prediction?"""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.gradient import log_odds
from heedful.battery.evidence import RANKINGS, Evidence, undefined_where
from heedful.battery.question import BatteryTest, Question, between, per_100
from heedful.measures.ranking import mean_over, top_ties
from heedful.types import Findings

SIGNED = ("weight_gradient", "attention_x_gradient", "gradient_x_input")
"""Rankings whose values have a sign; attention, which has none, counts as speaking for the decision."""
ROUNDING = 1e-9
"""A change of the log odds by less than this share of the largest logit is no change."""


def sign(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Whether deleting the top item lowers the probability of the decision (`speaks_for`), and what others would do.

    `others_speak_for`, the share of all items whose deletion lowers it: the exact expectation over a random one;
    `some_speaks_for`, whether any does. For the signed rankings, `agrees_weight_gradient`,
    `agrees_attention_x_gradient` and `agrees_gradient_x_input`: whether the item of the largest magnitude moves the
    probability in the direction of its sign. Of items that share the first place, the mean over them. Undefined if
    fewer than two items have weight. Liu et al. (2022, arXiv:2201.12114): attention is never negative, so it cannot
    show what opposes a prediction.
    """
    falls = _fall(evidence)
    lowers = (falls > 0) & evidence.items
    values: dict[str, Tensor] = {
        "speaks_for": mean_over(lowers, evidence.tops("attention")),
        "others_speak_for": mean_over(lowers, evidence.items),
        "some_speaks_for": lowers.any(1),
    }
    for name in SIGNED:
        importance = RANKINGS[name](evidence)
        largest = top_ties(importance.abs(), evidence.items)
        values[f"agrees_{name}"] = mean_over(importance * falls > 0, largest)
    return Findings(undefined_where(evidence.num_weighted < 2, values))


def _fall(evidence: Evidence) -> Float[Tensor, "batch item"]:
    """How far the log odds of the decision fall when each item is deleted; 0 where that is rounding, or undefined.

    They fall where the probability does.
    """
    whole, without = evidence.trace.logits.cpu(), evidence.deletion_logits
    falls = log_odds(whole, evidence.predicted)[:, None] - log_odds(
        without, evidence.predicted[:, None].expand(-1, without.shape[1])
    )
    return falls.where(falls.abs() > ROUNDING * (1 + whole.abs().amax(1, keepdim=True)), 0.0)


TEST = BatteryTest(
    sign,
    (
        Question(
            name="sign",
            topic="top word supports the prediction",
            group="relevance",
            wording=lambda item: f"Does the top {item} support the prediction?",
            measured=between("sign.speaks_for", "sign.others_speak_for", "sign.some_speaks_for"),
            unit="share",
            sentence=lambda answer: (
                f"For {per_100(answer.value)} texts deleting the most attended {answer.item} lowers the probability "
                f"of the prediction; for a random {answer.item}, {per_100(answer.floor)}. In the others the top "
                f"{answer.item} opposes the prediction or does not matter."
            ),
        ),
    ),
)
