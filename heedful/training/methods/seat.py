"""Stable and explainable attention: as the reference run predicts and ranks, and steady under perturbed weights."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from heedful.attacks import ball_of, slope
from heedful.errors import SettingError, pick
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
from heedful.models.trace import detached
from heedful.training.methods.method import Method
from heedful.types import LinearModel, Model, Reference, Trace

WORST_CASES: dict[str, Callable[..., WorstCase]] = {
    "free": worst_case_free,
    "zero_sum": worst_case_zero_sum,
    "box": worst_case_in_box,
    "simplex": worst_case_on_simplex,
}
"""What perturbed weights may be: anything; of the same sum; each between 0 and 1; a distribution."""

STEEPEST: dict[str, Callable[[Tensor, Tensor, Tensor, float, Norm], Tensor]] = {
    "free": lambda direction, attention, items, radius, norm: steepest_free(direction, items, radius, norm),
    "zero_sum": lambda direction, attention, items, radius, norm: steepest_zero_sum(direction, items, radius, norm),
    "box": steepest_in_box,
    "simplex": steepest_on_simplex,
}


def seat(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    lambda1: float = 1.0,
    lambda2: float = 1000.0,
    k: int = 7,
    radius: float = 0.001,
    norm: str = "linf",
    weights: str = "free",
    steps: int = 5,
) -> Float[Tensor, " batch"]:
    """KL(reference's p || p) + lambda1 x max over perturbed weights of KL(p || p') + lambda2 x top-k gap.

    The first keeps the reference's predictions, the last its k largest weights (`top_k_gap`); the maximum, over
    perturbations of the weights in a ball, is how far an answer moves at worst. No label is looked at. 0 where
    predictions and largest weights are the reference's and no perturbation moves the answer.

    Hu et al. (2023, equation 6), with cross-entropies less their entropy, so that what does not move costs nothing. The
    maximum is exact for two classes and a linear head, and elsewhere what gradient ascent finds. `seat` trains
    attention alone, as the paper defines it: encoder and head then fix how far perturbed weights can move the logit, so
    the middle term rewards confident answers, not steady attention. `seat_all` trains everything. Both start where the
    first and the last term are 0, and long steps lead away from there: use a small learning rate.

    Args:
        weights: what perturbed weights may be: "free", "zero_sum", "box" or "simplex" (see `WORST_CASES`).
        steps: of ascent, where it is needed.
    """
    base = _given(reference)
    pick("weights", weights, WORST_CASES)
    measured = ball_of(radius, norm).norm
    if isinstance(model, LinearModel) and trace.logits.shape[-1] == 2:
        moved = worst_move(model, trace, radius, measured, weights)
    else:
        moved = searched_move(model, trace, radius, measured, weights, steps)
    gap = top_k_gap(trace.attention, base.attention, trace.encoded.items, k)
    return _divergence(base.logits, trace.logits) + lambda1 * moved.to(gap.dtype) + lambda2 * gap


def top_k_gap(
    a: Float[Tensor, "batch item"], b: Float[Tensor, "batch item"], items: Bool[Tensor, "batch item"], k: int
) -> Float[Tensor, " batch"]:
    """How far the k largest weights of a and of b are from the other's: (sum of |a - b| over both sets) / 2k.

    0 where the two agree on both sets; at most 2 / k. Hu et al. (2023, equation 5), who train by it for overlapping
    sets. Of equal weights the earlier is taken; a text of fewer than k items has all of them in both sets.

    >>> a, b = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.1, 0.6, 0.3]])
    >>> top_k_gap(a, b, torch.tensor([[True, True, True]]), 1)  # item 0, then item 1: (0.4 + 0.3) / 2
    tensor([0.3500])
    """
    gap = (a - b).abs().where(items, 0.0)
    tops = [rank_descending(weights.detach(), items)[:, :k] for weights in (a, b)]
    return sum((gap.gather(1, top).sum(-1) for top in tops), gap.new_zeros(len(gap))) / (2 * k)


def top_k_course(trace: Trace, reference: Reference | None, *, k: int = 7) -> dict[str, Float[Tensor, " batch"]]:
    """The surrogate and what it stands for: `top_k_gap` to the reference's attention, and the `top_k_overlap` with it.

    Hu et al. (2023, Figure 5) draw both, epoch by epoch.
    """
    own, base, items = trace.attention, _given(reference).attention, trace.encoded.items
    return {"top_k_gap": top_k_gap(own, base, items, k), "top_k_overlap": top_k_overlap(own, base, items, k)}


def worst_move(model: LinearModel, trace: Trace, radius: float, norm: Norm, weights: str) -> Float[Tensor, " batch"]:
    """The largest KL(p || p') over perturbed weights of a linear model with two classes, exactly and in float64."""
    encoded = trace.encoded
    said = (model.item_logits(encoded), model.empty_logits(encoded), encoded.items)
    return WORST_CASES[weights](trace.attention, *said, radius, norm).kl


def searched_move(
    model: Model, trace: Trace, radius: float, norm: Norm, weights: str, steps: int
) -> Float[Tensor, " batch"]:
    """The largest KL(p || p') over perturbed weights that ascent finds: for any head and any number of classes.

    Each step goes to the perturbation, among all that may be, that raises a linear function with the present gradient
    the most. For a linear head KL is convex in the weights, so no step lowers it and the end is a corner of what may
    be; projected steps can stop short of one. The first step is the one that hurts the predicted class most, so nothing
    is drawn.
    """
    encoded, attention, items = detached(trace.encoded), trace.attention.detach(), trace.encoded.items
    said = trace.logits.detach()

    def answer(change: Float[Tensor, "batch item"]) -> Float[Tensor, "batch classes"]:
        return model.decode(encoded, attention + change)

    def hurt(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return cross_entropy(answer(change), said.argmax(-1), reduction="none")

    def moved(change: Float[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
        return _divergence(said, answer(change))

    change = torch.zeros_like(attention)
    for objective in [hurt] + steps * [moved]:
        change = STEEPEST[weights](slope(objective, change), attention, items, radius, norm)
    return _divergence(trace.logits, model.decode(trace.encoded, trace.attention + change))


def _divergence(
    logits: Float[Tensor, "batch classes"], others: Float[Tensor, "batch classes"]
) -> Float[Tensor, " batch"]:
    """KL of the first's probabilities from the second's."""
    return kl_div(others.log_softmax(-1), logits.log_softmax(-1), reduction="none", log_target=True).sum(-1)


def _given(reference: Reference | None) -> Reference:
    if reference is None:
        raise SettingError("seat needs a reference run: give `reference` the key of a finished vanilla one.")
    return reference


METHOD_ALL = Method(seat, start="reference", needs_reference=True, weighs="nothing", logs=top_k_course)
METHOD = replace(METHOD_ALL, trains="attention")
