"""Is attention needed at all?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.measures import total_variation
from heedful.types import Findings


def uniform(evidence: Evidence, generator: torch.Generator) -> Findings:
    """What the same model says with the same weight on every item.

    `correct_uniform`, `flips_uniform` (0 or 1) and `tvd_uniform`, how far the prediction moves. Wiegreffe and Pinter
    (2019, section 3.2) retrain with uniform attention; this asks the trained model itself.
    """
    weights = (evidence.items / evidence.count[:, None]).to(evidence.attention)
    logits = evidence.decode(weights)
    decided = logits.argmax(-1)
    values = {
        "correct_uniform": decided == evidence.labels,
        "flips_uniform": decided != evidence.predicted,
        "tvd_uniform": total_variation(logits.softmax(-1), evidence.probabilities),
    }
    return Findings({name: value.double() for name, value in values.items()})
