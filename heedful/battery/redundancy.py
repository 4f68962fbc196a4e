"""How redundant is the text? Where several words, each alone, give the answer, none of them is needed."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution import logits_of_subsets
from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.types import Findings

ENOUGH = 2
"""Items that must give the decision alone for a text to be redundant."""
CLOSE = 1e-4
"""Two logits so close, relative to their size and one more, are distinguished in double precision."""


def redundancy(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Whether a text is redundant: no single deletion changes the decision, and two items or more give it alone.

    `redundant` (0 or 1); `single_deletion_flips`; `give_alone`, the share of items that give the decision as a text of
    their own. Where texts are redundant, that other attention would do as well is no reproach to attention.
    """
    deletions = evidence.deletion_logits
    flips = ((deletions.argmax(-1) != evidence.predicted[:, None]) & deletions.isfinite().all(-1)).any(1)
    alone = torch.eye(evidence.items.shape[1], dtype=torch.bool).expand(len(evidence.items), -1, -1)
    parts = (alone & evidence.items[:, None]).to(evidence.trace.attention.device)
    logits = _logits(evidence, parts)
    give = (logits.argmax(-1) == evidence.predicted[:, None]) & logits.isfinite().all(-1) & evidence.items
    values = {
        "redundant": ~flips & (give.sum(1) >= ENOUGH),
        "single_deletion_flips": flips,
        "give_alone": give.sum(1) / evidence.count,
    }
    return Findings(undefined_where(evidence.num_weighted < 2, values))


def _logits(evidence: Evidence, parts: Bool[Tensor, "batch part item"]) -> Float[Tensor, "batch part classes"]:
    """Logits of the parts; where single precision might decide for another class, in double precision."""
    model, trace = evidence.model, evidence.trace
    logits = logits_of_subsets(model, trace, parts, reader=evidence.quick_reader)
    first, second = logits.topk(2, -1).values.unbind(-1)
    is_close = first - second <= CLOSE * (1 + first.abs().maximum(second.abs()))
    if evidence.quick_reader is evidence.variant_reader or not is_close.any():
        return logits.cpu()
    exact = logits_of_subsets(model, trace, parts & is_close[..., None], reader=evidence.variant_reader)
    return exact.where(is_close[..., None], logits).cpu()


TEST = BatteryTest(redundancy)
