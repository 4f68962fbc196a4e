"""Does attention rank words as the gradient does?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings


def gradient_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with the input gradient of each text, and its p-value.

    Jain and Wallace (2019, algorithm 1). NaN for one item, or where all of either are tied.
    """
    items = evidence.items
    tau, p = kendall_tau(ties_within(evidence.attention, items), ties_within(evidence.input_gradient, items), items)
    return Findings({"tau": tau, "p": p})
