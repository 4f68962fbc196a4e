"""Does attention rank words as leaving them out does?"""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.gradient_agreement import taus_of
from heedful.battery.question import BatteryTest, Columns, Question, QuestionResult, ValueFloorBest
from heedful.types import Findings

FLOOR = "leave_one_out_agreement.tau_permuted"


def leave_one_out_agreement(evidence: Evidence, generator: torch.Generator, *, permuted: bool = False) -> Findings:
    """Kendall's tau-b of attention with leave-one-out importance, its p-value, and tau of the input gradient with it.

    Importance is the total variation distance between the probabilities with and without the item. The last,
    `tau_gradient`, is the yardstick: how well two importances that do not look at attention agree. The floor is 0, the
    expectation of a random order, or `tau_permuted` if it is asked for.
    Jain and Wallace (2019, algorithm 1 and figures 3, 4).

    Args:
        permuted: whether to measure `tau_permuted`, which reads every shortened text once more: the same weights
            permuted and imposed, on every shortened text too, and importance recomputed.
    """
    pairs = {
        "tau": (evidence.attention, evidence.leave_one_out_tvd),
        "tau_gradient": (evidence.input_gradient, evidence.leave_one_out_tvd),
    }
    if permuted:
        pairs["tau_permuted"] = (evidence.permuted.attention, evidence.permuted_leave_one_out_tvd)
    taus, p = taus_of(list(pairs.values()), evidence.items)
    return Findings({"p": p[0]} | dict(zip(pairs, taus.unbind(), strict=True)))


def _measured(columns: Columns) -> ValueFloorBest:
    tau = columns["leave_one_out_agreement.tau"]
    floor = columns[FLOOR] if FLOOR in columns else torch.zeros_like(tau)
    return tau, floor, columns["leave_one_out_agreement.tau_gradient"]


def _sentence(answer: QuestionResult) -> str:
    return (
        f"Kendall's tau between attention and leave-one-out is {answer.value:.2f} (1: same order, 0: unrelated). "
        f"For the gradient it is {answer.best:.2f}."
    )


TEST = BatteryTest(
    leave_one_out_agreement,
    (
        Question(
            name="leave_one_out_agreement",
            topic="agreement with leave-one-out",
            group="relevance",
            wording=lambda item: f"Does it rank {item}s as leaving them out does?",
            measured=_measured,
            best_kind="yardstick",
            sentence=_sentence,
        ),
    ),
)
