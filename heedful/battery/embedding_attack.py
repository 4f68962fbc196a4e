"""Is attention stable under the worst noise that its embeddings may have?"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from heedful.attacks import ascend, ball_of, clamped_change, draw, project
from heedful.battery.evidence import Context, Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.battery.stability_measures import (
    Radii,
    moves,
    stability_question,
    suffixes,
)
from heedful.measures import js_divergence
from heedful.models.abilities import own_parts
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import rerun
from heedful.settings import Count
from heedful.types import Findings, Model, Trace

Aim = Callable[[Trace, Trace], Float[Tensor, " batch"]]
"""What an attack raises, from what the model made of the texts and makes of them perturbed."""


def embedding_attack(
    evidence: Evidence,
    generator: torch.Generator,
    *,
    radii: Radii = (0.01,),
    norm: str = "linf",
    steps: Count = 10,
    clamp: bool = False,
) -> Findings:
    """How far the worst change of all embeddings in a ball, as projected gradient ascent finds it, moves things.

    Two attacks: on the answer (raising -ln p of the decision) and on attention (raising its divergence). After each
    `js`, `tvd`, `flips`, `overlap` (see `moves`) with the suffix `_answer` or `_attention`, then the radius where it is
    not the first; and `shuffled_js`, what shuffled attention would be at.

    What Hu et al. (2023) publish as their measurement of stability is the attack on the answer, with a clamp of every
    coordinate to [0, 1]. What is found is a lower bound on the worst. Our own models are searched in
    single precision, which is faster; what the change does is measured in double precision.

    Args:
        clamp: also clamp every coordinate of the perturbed embeddings to [0, 1] after each step, as their code does:
            negative coordinates become 0, however small the radius.
    """
    trace, values = evidence.trace, {"shuffled_js": evidence.shuffled_js}
    model, searched = _for_search(evidence)
    movable = trace.batch.mask.unsqueeze(-1).expand_as(trace.embedded)

    def keep(change: Tensor) -> Tensor:
        return clamped_change(change, searched.embedded, movable) if clamp else change

    for suffix, radius in suffixes(radii).items():
        ball = ball_of(radius, norm)
        start = draw(movable, ball, generator, trace.embedded.dtype)
        for name, aim in AIMS.items():

            def raised(change: Float[Tensor, "batch time embed"], aim: Aim = aim) -> Float[Tensor, " batch"]:
                return aim(searched, rerun(model, searched, change))

            change = ascend(raised, start.to(searched.embedded), movable, ball, steps=steps, keep=keep)
            # Rounding may lead out of the ball; a clamp does by far.
            change = change.to(trace.embedded) if clamp else project(change.to(trace.embedded), ball)
            moved = moves(evidence, rerun(evidence.model, trace, change))
            values |= {f"{measure}_{name}{suffix}": value for measure, value in moved.items()}
    return Findings(undefined_where(evidence.count < 2, values), "search")


def _for_search(evidence: Evidence) -> tuple[Model, Trace]:
    """The model and the trace that an attack starts from: in single precision where the model is our own."""
    model, trace = own_parts(evidence.model), evidence.trace
    if model is None:
        return evidence.model, trace
    embedded, attention, logits = (part.float() for part in (trace.embedded, trace.attention, trace.logits))
    single = evidence.context.once(_single_precision, model)
    return single, replace(trace, embedded=embedded, attention=attention, logits=logits)


def _single_precision(context: Context, model: AttentionModel) -> AttentionModel:
    return deepcopy(model).float()


def _answer(trace: Trace, other: Trace) -> Float[Tensor, " batch"]:
    return cross_entropy(other.logits, trace.logits.argmax(-1), reduction="none")


def _attention(trace: Trace, other: Trace) -> Float[Tensor, " batch"]:
    diverged = js_divergence(other.attention, trace.attention, trace.encoded.items)
    # Uniform and imposed attention do not depend on the embeddings: without this there would be no gradient at all.
    return diverged + 0 * other.embedded.flatten(1).sum(-1)


AIMS: dict[str, Aim] = {"answer": _answer, "attention": _attention}


TEST = BatteryTest(
    embedding_attack,
    (
        stability_question(
            "embedding_attack",
            "worst embedding noise",
            "the worst embedding noise",
            "The worst noise that was found, small on each word but chosen to do harm,",
            measures=("js_attention", "tvd_answer", "flips_answer"),
            answers="; chosen against the answer, it changes",
        ),
    ),
    cost="deep",
)
