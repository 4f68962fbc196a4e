"""What the mean over a transformer's heads, which is shown, leaves out of its attention."""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.question import BatteryTest
from heedful.measures import total_variation_distance
from heedful.types import Findings


def mean_of_heads(evidence: Evidence, generator: torch.Generator) -> Findings:
    """How much weight special tokens have, and what the model predicts with the shown attention in every head.

    `special_weight`, the share of all weight that falls on special tokens, which are no items; `tvd` and `flips`, how
    far the prediction moves and whether the decision changes. Nothing for models that are no transformers.
    """
    if evidence.heads is None:
        return Findings()
    logits = evidence.impose(evidence.trace.attention)
    values = {
        "special_weight": evidence.heads.special_weight(evidence.trace.encoded).cpu(),
        "tvd": total_variation_distance(logits.softmax(-1), evidence.probabilities),
        "flips": (logits.argmax(-1) != evidence.predicted).double(),
    }
    return Findings(values)


TEST = BatteryTest(mean_of_heads)
