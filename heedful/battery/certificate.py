"""How far off can the weights be before the prediction can flip?"""

import torch

from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.exact import Norm, certified_radius, certified_radius_on_simplex, certified_radius_zero_sum
from heedful.types import Findings

APART: dict[Norm, float] = {"l1": 2.0, "l2": 2**0.5, "linf": 1.0}
"""How far apart two distributions can be at all, in each norm."""
KINDS = {
    "simplex": certified_radius_on_simplex,
    "zero_sum": certified_radius_zero_sum,
    "free": certified_radius,
}
"""What perturbed weights may be: a distribution; anything of the same sum; anything."""


def certificate(evidence: Evidence, generator: torch.Generator) -> Findings:
    """The radius within which no perturbation of the attention weights changes the decision, and beyond which one does.

    `l1_simplex`, `l2_simplex`, `linf_simplex`, where perturbed weights are still a distribution; `l1_zero_sum` ...,
    where they keep their sum but may turn negative; `l1_free` ..., where they may be anything: exact for any number of
    classes. Where it is larger than two distributions can be apart (2, the root of 2, 1) it is given as that: no other
    attention is so far away. NaN if the head is not linear. It is in none of the papers; it is Hu et al.'s (2023)
    worst case turned round.
    """
    values = {}
    for norm, most in APART.items():
        for name, radius in KINDS.items():
            if evidence.item_logits is None:
                certified = torch.full_like(evidence.count, torch.nan)
            else:
                certified = radius(
                    evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items, norm
                ).clamp_max(most)
            values[f"{norm}_{name}"] = certified
    return Findings(undefined_where(evidence.count < 2, values), evidence.solver)


TEST = BatteryTest(certificate)
