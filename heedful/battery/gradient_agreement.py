"""Does attention rank words as the gradient does?"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.evidence import Evidence, Weights
from heedful.battery.question import BatteryTest, Question, between
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings

PerPair = Float[Tensor, "pair batch"]


def gradient_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with the input gradient of each text, and its p-value.

    `tau_permuted` is the floor: the same weights permuted, imposed on the model, and the gradient recomputed.
    Weights that are used do matter, so attention by chance agrees with its own gradient, too.
    Jain and Wallace (2019, algorithm 1). NaN for one item, or where all of either are tied.
    """
    weightings = [evidence.attention, evidence.permuted.attention]
    taus, p = taus_of(list(zip(weightings, evidence.input_gradients, strict=True)), evidence.items)
    return Findings({"tau": taus[0], "p": p[0], "tau_permuted": taus[1]})


def taus_of(pairs: Sequence[tuple[Weights, Weights]], items: Bool[Tensor, "batch item"]) -> tuple[PerPair, PerPair]:
    """Kendall's tau-b of each pair of importances, and its p-value; what differs by rounding alone is tied."""
    first, second = (torch.stack(side) for side in zip(*pairs, strict=True))
    each = items.expand_as(first)
    return kendall_tau(ties_within(first, each), ties_within(second, each), each)


TEST = BatteryTest(
    gradient_agreement,
    (
        Question(
            name="gradient_agreement",
            topic="agreement with the gradient",
            group="relevance",
            wording=lambda item: f"Does attention rank {item}s as the gradient does?",
            needs=("gradient_agreement", "leave_one_out_agreement"),
            measured=between(
                "gradient_agreement.tau",
                "gradient_agreement.tau_permuted",
                "leave_one_out_agreement.tau_gradient",
            ),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"Kendall's tau between attention and the gradient is {answer.value:.2f} (1: same order, 0: "
                f"unrelated). For permuted weights it is {answer.floor:.2f}; between the gradient and leave-one-out, "
                f"{answer.best:.2f}."
            ),
        ),
    ),
)
