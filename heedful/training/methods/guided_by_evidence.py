"""Attention guided by evidence: attend to each item as much as it moves the answer."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import SettingError
from heedful.measures import js_divergence, kl_divergence
from heedful.models.abilities import linear
from heedful.settings import NonNegative, Seed
from heedful.training.methods.method import Method, Step, TeacherCount, Teachers, require_reference
from heedful.training.methods.vanilla import vanilla
from heedful.types import LinearModel, Trace

Target = Literal["item_logit", "squared_item_logit", "leave_one_out"]
Divergence = Literal["js", "kl"]


def guided_by_evidence(
    step: Step,
    *,
    weight: NonNegative = 1.0,
    target: Target = "item_logit",
    divergence: Divergence = "js",
    moves_target: bool = False,
    teachers: TeacherCount = 1,
    teacher_seed: Seed | None = None,
) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x JSD(attention, evidence), the evidence being how much each item says, scaled to sum to 1.

    In our own recipe; no paper has it. See `evidence_of` for what an item says.

    Args:
        target: "item_logit", "squared_item_logit" (of this model, which must be linear), or "leave_one_out": exact, of
            the reference run, or else of `teachers` plain trainings from other seeds in the mean.
        divergence: "js", or "kl" for KL(evidence || attention).
        moves_target: whether the gradient also draws the evidence to attention.
        teachers, teacher_seed: as in method 'ensemble'; for "leave_one_out" alone.
    """
    gap = evidence_gap(step, target=target, divergence=divergence, moves_target=moves_target)
    return vanilla(step) + weight * gap


def evidence_gap(
    step: Step, *, target: Target, divergence: Divergence = "js", moves_target: bool = False
) -> Float[Tensor, " batch"]:
    """The divergence of attention from the evidence; 0 for a text in which no item says anything."""
    wanted, is_known = normalised(evidence_of(step, target), step.trace.encoded.items)
    wanted = wanted if moves_target else wanted.detach()
    items, own = step.trace.encoded.items, step.trace.attention
    if divergence == "js":
        gap = js_divergence(own, wanted, items)
    else:
        # A weight that underflowed to 0 still has a finite logarithm.
        gap = kl_divergence(wanted, own.clamp_min(torch.finfo(own.dtype).tiny), items)
    return gap.where(is_known, 0.0)


def evidence_of(step: Step, target: Target) -> Float[Tensor, "batch item"]:
    """How much each item says, never negative.

    `item_logit`: |z_i|, with z_i what the item alone adds to the margin of the predicted class over the mean of the
    others: its logits minus those of nothing. Its square for `squared_item_logit`. `leave_one_out`: the total variation
    distance between the reference's predictions with and without the item.
    """
    if target == "leave_one_out":
        sizes = require_reference(step.reference).leave_one_out
        if sizes is None:
            raise SettingError(
                "target 'leave_one_out' needs a reference with `leave_one_out`: train by `heedful.train` or the "
                "commands, which compute it."
            )
        return sizes.to(step.trace.attention)
    if (head := linear(step.model)) is None:
        raise SettingError(
            f"target '{target}' needs a model that is linear after attention; this {type(step.model).__name__} is not. "
            "Choose `network.head` 'linear', or target 'leave_one_out'."
        )
    margin = item_margins(head, step.trace)
    return margin.square() if target == "squared_item_logit" else margin.abs()


def item_margins(model: LinearModel, trace: Trace) -> Float[Tensor, "batch item"]:
    """What each item alone adds to the margin of the predicted class over the mean of the others."""
    added = model.item_logits(trace.encoded) - model.empty_logits(trace.encoded)[:, None]
    classes = added.shape[-1]
    own = added.gather(2, trace.logits.argmax(-1)[:, None, None].expand(-1, added.shape[1], 1))[..., 0]
    return (own * classes - added.sum(-1)) / (classes - 1)


def normalised(
    sizes: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"]
) -> tuple[Float[Tensor, "batch item"], Bool[Tensor, " batch"]]:
    """Sizes scaled to sum to 1 over the items, and whether they can be: NaN or no size at all cannot.

    >>> sizes, items = torch.tensor([[1.0, 3.0, 9.0], [0.0, 0.0, 0.0]]), torch.tensor([[True, True, False]] * 2)
    >>> normalised(sizes, items)
    (tensor([[0.2500, 0.7500, 0.0000],
            [0.0000, 0.0000, 0.0000]]), tensor([ True, False]))
    """
    real = sizes.where(items, 0.0)
    total = real.sum(-1, keepdim=True)
    is_known = total > 0
    return (real / total.where(is_known, 1.0)).where(is_known, 0.0), is_known[:, 0]


def evidence_teachers(
    *, target: Target = "item_logit", teachers: TeacherCount = 1, teacher_seed: Seed | None = None
) -> Teachers:
    """Plain trainings whose leave-one-out is the target; none for other targets."""
    if target != "leave_one_out":
        return Teachers()
    return Teachers(teachers, first_seed=teacher_seed, leave_one_out=True)


METHOD = Method(guided_by_evidence, teachers=evidence_teachers)
