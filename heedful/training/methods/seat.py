"""Stable and explainable attention (SEAT): keep the reference run's predictions and top words, stably."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from heedful.attacks import ball_of, clamped_change, slope
from heedful.errors import lookup
from heedful.exact import (
    Norm,
    WorstCase,
    worst_case_free,
    worst_case_in_box,
    worst_case_on_simplex,
    worst_case_zero_sum,
)
from heedful.exact.ball import steepest_free, steepest_in_box, steepest_on_simplex, steepest_zero_sum
from heedful.measures import rank_descending, top_k_overlap
from heedful.models.abilities import linear
from heedful.models.trace import detached, rerun
from heedful.settings import Count, NonNegative
from heedful.training.methods.method import Method, Step, require_reference
from heedful.training.methods.vanilla import label_loss
from heedful.training.methods.word_at import worst_change
from heedful.types import LinearModel, Model, Reference, Trace

WORST_CASES: dict[str, Callable[..., WorstCase]] = {
    "free": worst_case_free,
    "zero_sum": worst_case_zero_sum,
    "box": worst_case_in_box,
    "simplex": worst_case_on_simplex,
}
"""Constraints on the perturbed weights: none; the same sum; each between 0 and 1; a distribution."""

STEEPEST: dict[str, Callable[[Tensor, Tensor, Tensor, float, Norm], Tensor]] = {
    "free": lambda direction, attention, items, radius, norm: steepest_free(direction, items, radius, norm),
    "zero_sum": lambda direction, attention, items, radius, norm: steepest_zero_sum(direction, items, radius, norm),
    "box": steepest_in_box,
    "simplex": steepest_on_simplex,
}


def seat(
    step: Step,
    *,
    lambda1: NonNegative = 1.0,
    lambda2: NonNegative = 1000.0,
    k: Count = 7,
    radius: NonNegative = 0.001,
    norm: str = "linf",
    weights: str = "free",
    steps: Count = 5,
    divergence: str = "kl",
) -> Float[Tensor, " batch"]:
    """KL(reference's p || p) + lambda1 x max over perturbed weights of KL(p || p') + lambda2 x top-k gap.

    The first term keeps the reference's predictions, the last its k largest weights (`top_k_gap`); the maximum, over
    perturbations of the weights in a ball, is the worst-case change of the prediction. Labels are not used. 0 if
    predictions and largest weights are the reference's and no perturbation changes the prediction.

    Hu et al. (2023, equation 6), with each cross-entropy minus its entropy, so that no change costs nothing. The
    entropy of p is no constant: `divergence` "bce" keeps it, which also rewards confidence. The maximum is exact for
    two classes and a linear head; otherwise it is what gradient ascent reaches. `seat` trains only attention, as the
    paper defines it: encoder and head then fix how far perturbed weights can move the logit, so the middle term rewards
    confident predictions, not stable attention. `seat_all` trains all parameters. Both start where the first and the
    last term are 0, and long steps lead away from there: use a small learning rate. `seat_fresh` trains an attention
    module that starts at random, with the reference's encoder and head. The epoch is chosen by this loss.

    Args:
        divergence: "kl", or "bce" as in the paper.
        weights: the constraint on the perturbed weights: "free", "zero_sum", "box" or "simplex" (see `WORST_CASES`).
        steps: of gradient ascent, where it is used.
    """
    trace = step.trace
    base = require_reference(step.reference)
    lookup("weights", weights, WORST_CASES)
    with_entropy = lookup("divergence", divergence, {"kl": False, "bce": True})
    checked_norm = ball_of(radius, norm).norm
    if (head := linear(step.model)) is not None and trace.logits.shape[-1] == 2:
        moved = worst_move(head, trace, radius, checked_norm, weights)
    else:
        moved = searched_move(step.model, trace, radius, checked_norm, weights, steps)
    gap = top_k_gap(trace.attention, base.attention, trace.encoded.items, k)
    if with_entropy:
        moved = moved + cross_entropy(trace.logits, trace.logits.softmax(-1), reduction="none")
    return _divergence(base.logits, trace.logits) + lambda1 * moved.to(gap.dtype) + lambda2 * gap


def top_k_gap(
    a: Float[Tensor, "batch item"], b: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"], k: int
) -> Float[Tensor, " batch"]:
    """How far a and b differ on the k largest weights of a and those of b: (sum of |a - b| over both sets) / 2k.

    0 if the two agree on both sets; at most 2 / k. Hu et al. (2023, equation 5) use it as a differentiable surrogate
    for the overlap of the sets. Ties go to the earlier item; a text of fewer than k items has all of them in both sets.

    >>> a, b = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.1, 0.6, 0.3]])
    >>> top_k_gap(a, b, torch.tensor([[True, True, True]]), 1)  # item 0, then item 1: (0.4 + 0.3) / 2
    tensor([0.3500])
    """
    gap = (a - b).abs().where(items, 0.0)
    tops = [rank_descending(weights.detach(), items)[:, :k] for weights in (a, b)]
    return sum((gap.gather(1, top).sum(-1) for top in tops), gap.new_zeros(len(gap))) / (2 * k)


def top_k_logs(trace: Trace, reference: Reference | None, *, k: Count = 7) -> dict[str, Float[Tensor, " batch"]]:
    """The surrogate and what it stands for: `top_k_gap` to the reference's attention, and `top_k_overlap` with it.

    Hu et al. (2023, Figure 5) plot both by epoch.
    """
    attention, base, items = trace.attention, require_reference(reference).attention, trace.encoded.items
    return {
        "top_k_gap": top_k_gap(attention, base, items, k),
        "top_k_overlap": top_k_overlap(attention, base, items, k),
    }


def worst_move(model: LinearModel, trace: Trace, radius: float, norm: Norm, weights: str) -> Float[Tensor, " batch"]:
    """The largest KL(p || p') over perturbed weights of a linear model with two classes, exactly and in float64."""
    encoded = trace.encoded
    item_logits, empty_logits = model.item_logits(encoded), model.empty_logits(encoded)
    return WORST_CASES[weights](trace.attention, item_logits, empty_logits, encoded.items, radius, norm).kl


def searched_move(
    model: Model, trace: Trace, radius: float, norm: Norm, weights: str, steps: int
) -> Float[Tensor, " batch"]:
    """The largest KL(p || p') over perturbed weights that ascent reaches: for any head and any number of classes.

    Each step goes to the allowed perturbation that maximises the linear approximation at the current one. For a linear
    head KL is convex in the weights, so no step lowers it and the ascent ends at a corner of the allowed set; projected
    steps can stop short of one. The gradient of KL is 0 at the start, so the first step lowers the predicted class
    instead; nothing is random.
    """
    encoded, attention, items = detached(trace.encoded), trace.attention.detach(), trace.encoded.items
    logits = trace.logits.detach()

    def perturbed_logits(change: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        return model.decode(encoded, attention + change)

    def predicted_class_loss(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return cross_entropy(perturbed_logits(change), logits.argmax(-1), reduction="none")

    def divergence(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return _divergence(logits, perturbed_logits(change))

    change = torch.zeros_like(attention)
    for objective in [predicted_class_loss] + steps * [divergence]:
        change = STEEPEST[weights](slope(objective, change), attention, items, radius, norm)
    return _divergence(trace.logits, model.decode(trace.encoded, trace.attention + change))


def _divergence(
    logits: Float[Tensor, "batch classes"], others: Float[Tensor, "batch classes"]
) -> Float[Tensor, " batch"]:
    """KL(p || q) of the probabilities that the first and the second logits give."""
    return kl_div(others.log_softmax(-1), logits.log_softmax(-1), reduction="none", log_target=True).sum(-1)


# The published code of SEAT: adversarial training on words that keeps attention on its top words.


def seat_code(
    step: Step,
    *,
    lambda1: NonNegative = 1.0,
    lambda2: NonNegative = 1000.0,
    k: Count = 7,
    radius: NonNegative = 0.01,
    steps: Count = 10,
    clamp: bool = False,
) -> Float[Tensor, " batch"]:
    """-ln p(label) + lambda1 x the same on perturbed embeddings + lambda2 x top-k gap of both attentions / k.

    The loss in the repository of Hu et al. (2023), which is not that of their paper (`seat`): labels take the place of
    the reference run, embeddings are perturbed instead of weights, and the model is fresh, trained as a whole and
    compared with itself. The gap, divided by 2k already, is a mean over the k places, not a sum. The attack is that
    of `word_at`, in an linf ball.

    Args:
        clamp: also clamp every coordinate of the perturbed embeddings to [0, 1] after each step, as their code does:
            negative coordinates become 0, however small the radius.
    """
    trace = step.trace
    embedded, real = trace.embedded.detach(), trace.batch.mask.unsqueeze(-1)

    def keep(change: Tensor) -> Tensor:
        return clamped_change(change, embedded, real.expand_as(embedded)) if clamp else change

    change = worst_change(step.model, trace, ball_of(radius, "linf"), step.generator, steps, keep)
    worst = rerun(step.model, trace, change)
    gap = top_k_gap(worst.attention, trace.attention, trace.encoded.items, k)
    return label_loss(trace.logits, trace) + lambda1 * label_loss(worst.logits, trace) + lambda2 * gap / k


METHOD_ALL = Method(
    seat,
    start="reference",
    selects="loss",
    needs_reference=True,
    stops_early=False,
    weighs="nothing",
    logs=top_k_logs,
)
METHOD = replace(METHOD_ALL, trains="attention")
METHOD_FRESH = replace(METHOD, start="reference without attention")
METHOD_CODE = Method(seat_code, stops_early=False)
