"""Does attention rank words as leaving them out does?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import AGREEMENT, agreement, reference_agreement, taus_of
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
    left_out = evidence.leave_one_out
    pairs = {
        "tau": (evidence.attention, left_out),
        "tau_gradient": (evidence.input_gradient, left_out),
        "tau_imposed": (evidence.attention, evidence.imposed_leave_one_out),
        "tau_permuted": (evidence.uninformed.attention, evidence.permuted_leave_one_out),
        "tau_reference": (evidence.reference.attention, evidence.reference_leave_one_out),
    }
    taus, p = taus_of(list(pairs.values()), evidence.items)
    return Findings({"tau": taus[0], "p": p[0]} | dict(zip(pairs, taus.unbind(), strict=True)))


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
