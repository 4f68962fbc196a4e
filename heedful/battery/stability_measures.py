"""How far attention and answer move when the model reads something a little different."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from heedful.battery.evidence import Evidence
from heedful.measures import js_divergence, top_k_overlap, total_variation
from heedful.types import Trace

TOP = 7
"""Words at the top whose overlap is measured, as Hu et al. (2023) choose k."""


def moves(evidence: Evidence, other: Trace) -> dict[str, Float[Tensor, " batch"]]:
    """Between what the model makes of its texts and of the same texts changed: the four measures of Hu et al. (2023).

    `js` of attention, `tvd` of the prediction, `flips` (0 or 1), and `overlap`: the share of the TOP most attended
    items (all, in a shorter text) that stay among them. And `drop`, how much less likely the decision has become (of
    two classes, tvd with a sign).
    """
    attention, logits, items = other.attention.cpu(), other.logits.cpu(), evidence.items
    return {
        "js": js_divergence(attention, evidence.attention, items),
        "tvd": total_variation(logits.softmax(-1), evidence.probabilities),
        "flips": (logits.argmax(-1) != evidence.predicted).double(),
        "overlap": top_k_overlap(attention, evidence.attention, items, TOP),
        "drop": evidence.probabilities.amax(-1) - logits.softmax(-1).gather(1, evidence.predicted[:, None])[:, 0],
    }


def suffixes(radii: Sequence[int | float]) -> dict[str, int | float]:
    """What stands behind the name of a measure at each radius: nothing at the first, of which the verdict speaks.

    >>> suffixes((0.01, 0.001, 0.05))
    {'': 0.01, '_0.001': 0.001, '_0.05': 0.05}
    """
    return {"" if place == 0 else f"_{radius:g}": radius for place, radius in enumerate(radii)}
