"""Does attention rank words as the gradient does?"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.evidence import Evidence, Weights
from heedful.battery.question import BatteryTest, Columns, Question, Triple, Values
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings

AGREEMENT = 0.1
"""The smallest difference of two taus that matters."""

PerPair = Float[Tensor, "pair batch"]


def gradient_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with the input gradient of each text, and its p-value.

    `tau_permuted` is the floor: the same weights permuted, imposed on the model, and the gradient computed anew.
    Weights that are used do matter, so even attention that knows nothing agrees with its own gradient. `tau_reference`:
    likewise, of weights in proportion to what each item says.
    Jain and Wallace (2019, algorithm 1). NaN for one item, or where all of either are tied.
    """
    weightings = [each.attention for each in (evidence, evidence.uninformed, evidence.reference)]
    taus, p = taus_of(list(zip(weightings, evidence.input_gradients, strict=True)), evidence.items)
    tau, permuted, reference = taus.unbind()
    return Findings({"tau": tau, "p": p[0], "tau_permuted": permuted, "tau_reference": reference})


def taus_of(pairs: Sequence[tuple[Weights, Weights]], items: Bool[Tensor, "batch item"]) -> tuple[PerPair, PerPair]:
    """Kendall's tau-b of each pair of importances, and its p-value; what differs by rounding alone is tied."""
    first, second = (torch.stack(side) for side in zip(*pairs, strict=True))
    each = items.expand_as(first)
    return kendall_tau(ties_within(first, each), ties_within(second, each), each)


def agreement(test: str) -> Callable[[Columns], Triple]:
    """Tau of attention with an importance, between that of permuted weights and that of gradient and leave-one-out."""

    def measured(columns: Columns) -> Triple:
        best = columns["leave_one_out_agreement.tau_gradient"]
        return columns[f"{test}.tau"], columns[f"{test}.tau_permuted"], best

    return measured


def reference_agreement(test: str) -> Callable[[Columns], Values]:
    """The same of weights in proportion to what each item says for or against the decision."""
    return lambda columns: columns[f"{test}.tau_reference"]


TEST = BatteryTest(
    gradient_agreement,
    (
        Question(
            name="gradient_agreement",
            topic="agreement with the gradient",
            group="relevance",
            material=AGREEMENT,
            wording=lambda item: f"Does attention rank {item}s as the gradient does?",
            needs=("gradient_agreement", "leave_one_out_agreement"),
            measured=agreement("gradient_agreement"),
            attainable=reference_agreement("gradient_agreement"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"Attention and the gradient order the {answer.item}s with an agreement of {answer.value:.2f} (1: the "
                f"same order, 0: no relation); the same weights permuted reach {answer.floor:.2f}. The gradient and "
                f"leaving {answer.item}s out agree with each other by {answer.best:.2f}."
            ),
        ),
    ),
)
