"""The worst attention in a ball around the model's own, and the radius within which the prediction cannot flip."""

from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attacks import Ball, ascend
from heedful.attribution.items import items_with
from heedful.battery.certificate import APART
from heedful.battery.embedding_noise import noise_on_one_word
from heedful.exact import certified_radius_on_simplex, worst_case_on_simplex
from heedful.exact.ball import project_on_simplex, steepest_on_simplex
from heedful.measures import total_variation_distance
from heedful.models.trace import rerun
from heedful.server.actions.action import SEAT, answer_with, button, check_several
from heedful.server.contract import ActionResult, ActOptions, Norm, Solver
from heedful.subjects.read_text import Reader, ReadText

# Noise on the embedding of a word.


@button(
    "Noise on a word",
    "Do attention and prediction stay when a word's embedding is a little noisy?",
    SEAT,
    ("scale", "seed"),
)
def embedding_noise(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Add Gaussian noise of that variance to the embedding of a random word, and read the text again."""
    trace, generator = read.evidence.trace, torch.Generator().manual_seed(options.seed)
    noise = noise_on_one_word(trace, generator)
    other = rerun(read.evidence.model, trace, options.scale**0.5 * noise)
    noisy = items_with(trace, (noise != 0).any(-1)).cpu()[0, read.real].nonzero()[:, 0].tolist()
    named = f" on “{read.labels[noisy[0]]:.60}”" if noisy else ""
    return answer_with(
        embedding_noise,
        read,
        other.attention.cpu(),
        other.logits.cpu(),
        before=f"With noise of variance {options.scale:g}{named}:",
        is_settable=False,
        more={"items": noisy},
    )


ORDERS = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
MOST_RIVALS = 32
"""Number of classes toward which attention is moved, the likeliest first, if there are more than two."""


@button(
    "Worst perturbation",
    "How far can slightly changed weights move the prediction, and how far must they change to flip it?",
    f"{SEAT}, who search by gradient; the certified radius is Heedful's",
    ("radius", "norm"),
)
def worst_perturbation(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """The worst distribution over the items within the radius of attention: exact for two classes and a linear head."""
    check_several(read)
    radius, norm = options.radius, options.norm
    attention, solver = _worst(read, radius, norm)
    evidence, radius_of, after = read.evidence, None, ""
    if evidence.item_logits is not None:
        problem = (evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items)
        certified = float(certified_radius_on_simplex(*problem, norm)[0])
        radius_of = certified if isfinite(certified) else None
        after = (
            "No attention at all flips the prediction."
            if radius_of is None
            else f"No attention nearer than {certified:.3g} ({norm}) flips the prediction; some beyond it does."
        )
    within = f"within {radius:g} ({norm}) of the model's own"
    return answer_with(
        worst_perturbation,
        read,
        attention,
        evidence.decode(attention),
        solver=solver,
        before=f"The worst attention {within}:"
        if solver == "exact"
        else f"The worst attention that was found {within}; a worse one might exist:",
        after=after,
        more={"radius": radius_of, "most_radius": APART[norm]},
    )


def _worst(read: ReadText, radius: float, norm: Norm) -> tuple[Float[Tensor, "1 item"], Solver]:
    evidence = read.evidence
    if radius == 0:
        return evidence.attention, "exact"
    if evidence.item_logits is None:
        return _climbed(read, radius, norm), "search"
    if evidence.item_logits.shape[-1] == 2:
        problem = (evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items)
        perturbation = worst_case_on_simplex(*problem, radius, norm).perturbation
        return (evidence.attention + perturbation).clamp_min(0.0), "exact"
    return _toward_each_class(read, radius, norm), "bound"


def _toward_each_class(read: ReadText, radius: float, norm: Norm) -> Float[Tensor, "1 item"]:
    """The perturbation that moves the prediction furthest, of those that move its margin over one class the most."""
    evidence = read.evidence
    assert evidence.item_logits is not None
    decided = int(evidence.predicted[0])
    likely = evidence.probabilities[0].argsort(descending=True, stable=True).tolist()
    rivals = [label for label in likely if label != decided][:MOST_RIVALS]
    tried = []
    for rival in rivals:
        gap = (evidence.item_logits[..., rival] - evidence.item_logits[..., decided]).where(evidence.items, 0.0)
        for direction in (gap, -gap):
            step = steepest_on_simplex(direction, evidence.attention, evidence.items, radius, norm)
            tried.append((evidence.attention + step).clamp_min(0.0))
    each = torch.cat(tried)
    predictions = torch.einsum("ni,ic->nc", each, evidence.item_logits[0].where(read.real[:, None], 0.0)).softmax(-1)
    moved = total_variation_distance(predictions, evidence.probabilities.expand_as(predictions))
    return each[int(moved.argmax())][None]


def _climbed(read: ReadText, radius: float, norm: Norm) -> Float[Tensor, "1 item"]:
    """The attention that projected gradient ascent on the lead of the best other class ends with."""
    evidence = read.evidence
    own, items, decided = evidence.attention, evidence.items, evidence.predicted[:, None]

    def lead(change: Float[Tensor, "1 item"]) -> Float[Tensor, " 1"]:
        logits = evidence.decode(own + change)
        return logits.scatter(1, decided, -torch.inf).amax(1) - logits.gather(1, decided)[:, 0]

    def keep(change: Float[Tensor, "1 item"]) -> Float[Tensor, "1 item"]:
        moved = project_on_simplex(own + change, items, torch.ones(1, 1, dtype=own.dtype)) - own
        size = torch.linalg.vector_norm(moved, ORDERS[norm], dim=-1, keepdim=True)
        # The way back to attention stays among the distributions.
        return moved * (radius / size.where(size > 0, 1.0)).clamp_max(1.0)

    return own + ascend(lead, torch.zeros_like(own), items, Ball(radius, norm), keep=keep)
