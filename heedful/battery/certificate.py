"""How far may the weights be off before the decision can change?"""

import torch

from heedful.battery.evidence import Evidence, undefined_where
from heedful.exact import Norm, certified_radius, certified_radius_zero_sum
from heedful.types import Findings

APART: dict[Norm, float] = {"l1": 2.0, "l2": 2**0.5, "linf": 1.0}
"""How far apart two distributions can be at all, in each norm."""


def certificate(evidence: Evidence, generator: torch.Generator) -> Findings:
    """The radius within which no perturbation of the attention weights changes the decision, and beyond which one does.

    `l1_free`, `l2_free`, `linf_free`, where the sum of the weights may change, and `l1_zero_sum` ..., where it may not
    (but weights may turn negative): exact for any number of classes. Where it is larger than two distributions can be
    apart (2, the root of 2, 1) it is given as that: no other attention is so far away. NaN where the head is not
    linear. None of the papers has it; it is Hu et al.'s (2023) worst case turned round.
    """
    values = {}
    for norm, most in APART.items():
        for name, radius in {"free": certified_radius, "zero_sum": certified_radius_zero_sum}.items():
            if evidence.item_logits is None:
                found = torch.full_like(evidence.count, torch.nan)
            else:
                found = radius(
                    evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items, norm
                ).clamp_max(most)
            values[f"{norm}_{name}"] = found
    return Findings(undefined_where(evidence.count < 2, values), evidence.solver)
