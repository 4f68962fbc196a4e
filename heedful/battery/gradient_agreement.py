"""Does attention rank words as the gradient does?"""

from collections.abc import Callable

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.question import BatteryTest, Columns, Question, Triple
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings


def gradient_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with the input gradient of each text, and its p-value.

    Jain and Wallace (2019, algorithm 1). NaN for one item, or where all of either are tied.
    """
    items = evidence.items
    tau, p = kendall_tau(ties_within(evidence.attention, items), ties_within(evidence.input_gradient, items), items)
    return Findings({"tau": tau, "p": p})


def agreement(test: str) -> Callable[[Columns], Triple]:
    """Tau of attention with one measure of importance, between none and what gradient and leave-one-out agree by."""

    def measured(columns: Columns) -> Triple:
        value = columns[f"{test}.tau"]
        return value, torch.zeros_like(value), columns["leave_one_out_agreement.tau_gradient"]

    return measured


TEST = BatteryTest(
    gradient_agreement,
    (
        Question(
            name="gradient_agreement",
            wording=lambda item: f"Does attention rank {item}s as the gradient does?",
            needs=("gradient_agreement", "leave_one_out_agreement"),
            measured=agreement("gradient_agreement"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"Attention and the gradient order the {answer.item}s with an agreement of {answer.value:.2f} (1: the "
                f"same order, 0: no relation); the gradient and leaving {answer.item}s out agree with each other by "
                f"{answer.best:.2f}."
            ),
        ),
    ),
)
