"""Does attention rank words as leaving them out does?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import AGREEMENT, agreement, reference_agreement, tau_of
from heedful.battery.question import BatteryTest, Question
from heedful.types import Findings


def leave_one_out_agreement(evidence: Evidence, generator: torch.Generator) -> Findings:
    """Kendall's tau-b of attention with leave-one-out importance, its p-value, and tau of the input gradient with it.

    The last, `tau_gradient`, is the yardstick: how well two importances that do not look at attention agree.
    `tau_permuted` is the floor: the same weights permuted and imposed, on every shortened text too, and importance
    computed anew. `tau_imposed` separates what attending anew does: the own weights, imposed likewise. `tau_reference`:
    likewise, of weights in proportion to what each item says.
    Jain and Wallace (2019, algorithm 1 and figures 3, 4).
    """
    items, left_out = evidence.items, evidence.leave_one_out
    tau, p = tau_of(evidence.attention, left_out, items)
    yardstick, _ = tau_of(evidence.input_gradient, left_out, items)
    imposed, _ = tau_of(evidence.attention, evidence.imposed_leave_one_out, items)
    permuted, _ = tau_of(evidence.uninformed.attention, evidence.permuted_leave_one_out, items)
    reference, _ = tau_of(evidence.reference.attention, evidence.reference_leave_one_out, items)
    taus = {"tau": tau, "p": p, "tau_gradient": yardstick}
    return Findings(taus | {"tau_imposed": imposed, "tau_permuted": permuted, "tau_reference": reference})


TEST = BatteryTest(
    leave_one_out_agreement,
    (
        Question(
            name="leave_one_out_agreement",
            topic="agreement with leave-one-out",
            group="relevance",
            material=AGREEMENT,
            wording=lambda item: f"Does it rank {item}s as leaving them out does?",
            needs=("leave_one_out_agreement",),
            measured=agreement("leave_one_out_agreement"),
            attainable=reference_agreement("leave_one_out_agreement"),
            best_kind="yardstick",
            sentence=lambda answer: (
                f"Attention and the effect of leaving a {answer.item} out order the {answer.item}s with an agreement "
                f"of {answer.value:.2f}, the same weights permuted of {answer.floor:.2f}, and the gradient of "
                f"{answer.best:.2f}."
            ),
        ),
    ),
)
