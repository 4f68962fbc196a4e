"""Does it matter which words get the weight?"""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.evidence import Evidence, undefined_where
from heedful.exact import draw_permutations, most_harmful_permutation, permuted_logits, some_permutation_flips
from heedful.measures import total_variation
from heedful.types import Findings


def permutation(evidence: Evidence, generator: torch.Generator, *, count: int = 100) -> Findings:
    """How far the prediction moves (total variation distance) when the weights are dealt to the items at random.

    `median_tvd` over `count` random permutations (Jain and Wallace 2019, algorithm 2); `worst_tvd` of the most harmful
    permutation, exact for two classes and the worst found for more; `some_flips`: whether any permutation changes the
    decision, exact for any number of classes. Where the head is not linear, the last two are over the drawn ones.
    """
    if evidence.item_logits is None:
        logits, solver = _decoded(evidence, generator, count), "search"
        worst = flips = None
    else:
        given = (evidence.attention, evidence.item_logits, evidence.items)
        logits = permuted_logits(*given, generator, count=count)
        harmful = most_harmful_permutation(*given)
        worst, solver = harmful.tvd, harmful.solver
        flips = some_permutation_flips(*given)
    moved = total_variation(logits.softmax(-1), evidence.probabilities[:, None].expand_as(logits))
    values = {
        "median_tvd": moved.quantile(0.5, 1),
        "worst_tvd": moved.amax(1) if worst is None else worst,
        "some_flips": (logits.argmax(-1) != evidence.predicted[:, None]).any(1) if flips is None else flips,
    }
    return Findings(undefined_where(evidence.count < 2, values), solver)


def _decoded(evidence: Evidence, generator: torch.Generator, count: int) -> Float[Tensor, "batch count classes"]:
    orders = draw_permutations(evidence.items, generator, count)
    return torch.stack([evidence.decode(evidence.attention.gather(1, order)) for order in orders.unbind(1)], 1)
