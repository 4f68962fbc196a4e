"""Do rankings agree with each other? Heedful's own rankings, and external scores."""

from itertools import combinations

import torch

from heedful.battery.evidence import RANKINGS, Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.errors import lookup
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings


def ranking_agreement(
    evidence: Evidence, generator: torch.Generator, *, by: tuple[str, ...] = tuple(RANKINGS)
) -> Findings:
    """Kendall's tau-b of every two rankings of a text's items: `tau_attention_weight_gradient` ....

    1 is the same order, 0 no relation. External scores are rankings, too. For two by the same method, with another seed
    or other noise, the agreement says how stable the method is. Undefined if a ranking ties all items, or a text has no
    scores.

    Args:
        by: only these of the named rankings, in addition to external scores.
    """
    for name in by:
        lookup("ranking", name, RANKINGS)
    names = (*by, *evidence.given)
    if len(names) < 2:
        return Findings({})
    ranks = torch.stack([ties_within(evidence.importance(name), evidence.items) for name in names])
    ahead, behind = torch.combinations(torch.arange(len(names))).unbind(1)
    taus, _ = kendall_tau(ranks[ahead], ranks[behind], evidence.items.expand(len(ahead), -1, -1))
    values = {}
    for (first, second), tau in zip(combinations(names, 2), taus.unbind(), strict=True):
        values |= undefined_where(
            evidence.missing_scores(first) | evidence.missing_scores(second), {f"tau_{first}_{second}": tau}
        )
    return Findings(undefined_where(evidence.count < 2, values))


TEST = BatteryTest(ranking_agreement)
