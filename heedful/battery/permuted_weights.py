"""Does it matter which words get the weight?"""

import torch

from heedful.battery.evidence import Evidence, affordable, undefined_where
from heedful.battery.question import BatteryTest, Question, between, means, per_100
from heedful.exact import draw_permutations, permuted_logits, some_permutation_flips, worst_permutation
from heedful.measures import total_variation_distance
from heedful.settings import Count
from heedful.types import Findings


def permutation(evidence: Evidence, generator: torch.Generator, *, count: Count = 100) -> Findings:
    """How far the prediction moves (total variation distance) when the weights are permuted at random.

    `median_tvd` over `count` random permutations (Jain and Wallace 2019, algorithm 2); `worst_tvd` of the worst
    permutation, exact for two classes and the worst found for more; `some_flips`: whether any permutation changes the
    decision, exact for any number of classes. Where the head is not linear, the last two are over the drawn ones.
    """
    if evidence.item_logits is None:
        orders = draw_permutations(evidence.items, generator, affordable(evidence, count))
        logits, solver = evidence.decode_permuted(orders), "search"
        worst = flips = None
    else:
        problem = (evidence.attention, evidence.item_logits, evidence.items)
        logits = permuted_logits(*problem, generator, count=count)
        found_worst = worst_permutation(*problem)
        worst, solver = found_worst.tvd, found_worst.solver
        flips = some_permutation_flips(*problem)
    moved = total_variation_distance(logits.softmax(-1), evidence.probabilities[:, None].expand_as(logits))
    values = {
        "median_tvd": moved.quantile(0.5, 1),
        "worst_tvd": moved.amax(1) if worst is None else worst,
        "some_flips": (logits.argmax(-1) != evidence.predicted[:, None]).any(1) if flips is None else flips,
    }
    return Findings(undefined_where(evidence.count < 2, values), solver)


TEST = BatteryTest(
    permutation,
    (
        Question(
            name="permutation",
            topic="permuted weights",
            group="exclusivity",
            wording=lambda item: f"Does it matter which {item}s get the weight?",
            measured=between("permutation.median_tvd", 0.0, "permutation.worst_tvd"),
            sentence=lambda answer: (
                f"Permuting the weights at random typically moves the prediction by {answer.value:.2f}; the worst "
                f"permutation would move it by {answer.best:.2f}. For "
                f"{per_100(answer.details['some permutation flips'])} texts some permutation flips the prediction."
            ),
            details=means({"some permutation flips": "permutation.some_flips"}),
            if_inexact="The worst permutation is the worst that was found; a worse one may exist.",
        ),
    ),
)
