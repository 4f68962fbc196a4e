"""Does attention rank words as leaving them out does?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import agreement
from heedful.battery.question import BatteryTest, Question
from heedful.measures import kendall_tau, ties_within
from heedful.types import Findings


def leave_one_out_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with leave-one-out importance, its p-value, and tau of the input gradient with it.

    The last, `tau_gradient`, is the yardstick: how well two measures of importance that do not look at attention agree.
    Jain and Wallace (2019, algorithm 1 and figures 3, 4).
    """
    items = evidence.items
    left_out = ties_within(evidence.leave_one_out, items)
    tau, p = kendall_tau(ties_within(evidence.attention, items), left_out, items)
    yardstick, _ = kendall_tau(ties_within(evidence.input_gradient, items), left_out, items)
    return Findings({"tau": tau, "p": p, "tau_gradient": yardstick})


TEST = BatteryTest(
    leave_one_out_agreement,
    (
        Question(
            name="leave_one_out_agreement",
            wording=lambda item: f"Does it rank {item}s as leaving them out does?",
            needs=("leave_one_out_agreement",),
            measured=agreement("leave_one_out_agreement"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"Attention and the effect of leaving a {answer.item} out order the {answer.item}s with an agreement "
                f"of {answer.value:.2f}, where the gradient reaches {answer.best:.2f}."
            ),
        ),
    ),
)
