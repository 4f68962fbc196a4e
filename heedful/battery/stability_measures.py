"""How far attention and answer move when the model reads something a little different."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from heedful.battery.evidence import Evidence, Weights
from heedful.battery.question import Columns, Question, QuestionResult, ValueFloorBest, means, per_100
from heedful.measures import js_divergence, top_k_overlap, total_variation_distance
from heedful.models.trace import rerun
from heedful.settings import Positive
from heedful.types import Trace

TOP = 7
"""Words at the top whose overlap is measured, as Hu et al. (2023) choose k."""

Radii = Annotated[tuple[Positive, ...], Field(min_length=1)]

NEARLY_UNIFORM = 0.01
"""Divergence (nats) below which permuting the weights changes so little that attention must be nearly uniform."""


@dataclass(frozen=True)
class PerturbedOutput:
    """What the model makes of the same texts when they are a little different."""

    attention: Weights
    logits: Float[Tensor, "batch classes"]


def rerun_perturbed(
    evidence: Evidence, changed: Bool[Tensor, "batch time"], vectors: Float[Tensor, "changed embed"]
) -> PerturbedOutput | Trace:
    """What the model makes of its texts where some tokens have other embeddings.

    A recurrent model of ours reads only these and what they move; any other reads the texts again.

    Args:
        vectors: vectors of the changed tokens, text after text.
    """
    trace, reader = evidence.trace, evidence.variant_reader
    if reader is not None:
        return PerturbedOutput(*reader.attention_and_logits(vectors, changed))
    change = torch.zeros_like(trace.embedded)
    change[changed] = vectors - trace.embedded[changed]
    return rerun(evidence.model, trace, change)


def moves(evidence: Evidence, other: PerturbedOutput | Trace) -> dict[str, Float[Tensor, " batch"]]:
    """Between what the model makes of its texts and of the same texts changed: the four measures of Hu et al. (2023).

    `js` of attention, `tvd` of the prediction, `flips` (0 or 1), and `overlap`: the share of the TOP most attended
    items (all, in a shorter text) that stay among them. And `drop`, how much less likely the decision has become (of
    two classes, tvd with a sign).
    """
    attention, logits, items = other.attention.cpu(), other.logits.cpu(), evidence.items
    return {
        "js": js_divergence(attention, evidence.attention, items),
        "tvd": total_variation_distance(logits.softmax(-1), evidence.probabilities),
        "flips": (logits.argmax(-1) != evidence.predicted).double(),
        "overlap": top_k_overlap(attention, evidence.attention, items, TOP),
        "drop": evidence.probabilities.amax(-1) - logits.softmax(-1).gather(1, evidence.predicted[:, None])[:, 0],
    }


def suffixes(radii: Sequence[int | float]) -> dict[str, int | float]:
    """What stands behind the name of a measure at each radius: nothing at the first, of which the verdict speaks.

    >>> suffixes((0.01, 0.001, 0.05))
    {'': 0.01, '_0.001': 0.001, '_0.05': 0.05}
    """
    return {"" if place == 0 else f"_{radius:g}": radius for place, radius in enumerate(radii)}


def relative_to_shuffled(answer: QuestionResult) -> str:
    """How far attention moves, compared with permuting the weights at random, as text.

    >>> relative_to_shuffled(QuestionResult(value=0.27, floor=0.0, best=0.3))
    '10% as far as permuting the weights at random would'
    >>> relative_to_shuffled(QuestionResult(value=0.0004, floor=0.0, best=0.0004))
    '0% as far as permuting the weights at random would (but attention is nearly uniform: there is little to move)'
    """
    share = 100 * (1 - answer.value / answer.best) if answer.best > 0 else 0.0
    nearly = " (but attention is nearly uniform: there is little to move)" if answer.best < NEARLY_UNIFORM else ""
    return f"{share:.0f}% as far as permuting the weights at random would{nearly}"


def stability_question(
    test: str,
    topic: str,
    kind: str,
    change: str,
    *,
    measures: tuple[str, str, str] = ("js", "tvd", "flips"),
    answers: str = ", and changes",
) -> Question:
    """How much less attention diverges than shuffled weights would, between not at all and by all of that.

    Args:
        kind: what may change, as the question names it; `change` as the sentence does.
        measures: the columns of the divergence, of how far the answer moves, and of whether it changes.
        answers: what stands between how far attention moves and how many answers change.
    """
    js, tvd, flips = (f"{test}.{measure}" for measure in measures)

    def measured(columns: Columns) -> ValueFloorBest:
        shuffled = columns[f"{test}.shuffled_js"]
        return shuffled - columns[js], torch.zeros_like(shuffled), shuffled

    return Question(
        name=test,
        topic=topic,
        group="stability",
        wording=lambda item: f"Is it stable? ({kind})",
        needs=(f"{test}.shuffled_js",),
        measured=measured,
        sentence=lambda answer: (
            f"{change} moves attention {relative_to_shuffled(answer)}{answers} "
            f"{per_100(answer.details['answers change'])} answers."
        ),
        details=means({"answer moves by": tvd, "answers change": flips}),
    )
