"""How redundant is the text? Where several words, each alone, give the answer, none of them is needed."""

import torch

from heedful.attribution.subsets import logits_of_subsets
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.types import Findings

ENOUGH = 2
"""Items that must give the decision alone for a text to be redundant."""


def redundancy(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Whether a text is redundant: no single deletion changes the decision, and two items or more give it alone.

    `redundant` (0 or 1); `single_deletion_flips`; `give_alone`, the share of items that give the decision as a text of
    their own. In redundant texts, it does not count against attention that other attention gives the same prediction.
    """
    deletions = evidence.deletion_logits
    flips = ((deletions.argmax(-1) != evidence.predicted[:, None]) & deletions.isfinite().all(-1)).any(1)
    alone = torch.eye(evidence.items.shape[1], dtype=torch.bool).expand(len(evidence.items), -1, -1)
    parts = (alone & evidence.items[:, None]).to(evidence.trace.attention.device)
    logits = logits_of_subsets(evidence.model, evidence.trace, parts, reader=evidence.variant_reader).cpu()
    give = (logits.argmax(-1) == evidence.predicted[:, None]) & logits.isfinite().all(-1) & evidence.items
    values = {
        "redundant": ~flips & (give.sum(1) >= ENOUGH),
        "single_deletion_flips": flips,
        "give_alone": give.sum(1) / evidence.count,
    }
    return Findings(undefined_where(evidence.num_weighted < 2, values))


TEST = BatteryTest(redundancy)
