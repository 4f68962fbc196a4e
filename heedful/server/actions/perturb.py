"""The worst attention in a ball around the model's own, and the radius within which the decision is certain."""

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
from heedful.server.actions.action import SEAT, Action, answer_with, check_several
from heedful.server.contract import ActionResult, ActOptions, Norm, Solver
from heedful.subjects.read_text import Reader, ReadText

# Noise on the embedding of a word.


def embedding_noise(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """Gaussian noise of that variance on the embedding of a word, both drawn by the seed; the text is read anew."""
    trace, generator = read.evidence.trace, torch.Generator().manual_seed(options.seed)
    noise = noise_on_one_word(trace, generator)
    other = rerun(read.evidence.model, trace, options.scale**0.5 * noise)
    noisy = items_with(trace, (noise != 0).any(-1)).cpu()[0, read.real].nonzero()[:, 0].tolist()
    named = f" on “{read.labels[noisy[0]]:.60}”" if noisy else ""
    return answer_with(
        EMBEDDING_NOISE,
        read,
        other.attention.cpu(),
        other.logits.cpu(),
        before=f"With noise of variance {options.scale:g}{named}:",
        is_settable=False,
        more={"items": noisy},
    )


EMBEDDING_NOISE = Action(
    "embedding_noise",
    "Noise on a word",
    "Do attention and prediction stay when a word's embedding is a little noisy?",
    SEAT,
    embedding_noise,
    ("scale", "seed"),
)


ORDERS = {"l1": 1.0, "l2": 2.0, "linf": torch.inf}
MOST_RIVALS = 32
"""Classes that are moved towards, the likeliest first, where there are more than two."""


def worst_perturbation(read: ReadText, options: ActOptions, reader: Reader) -> ActionResult:
    """The worst distribution over the items within the radius of attention: exact for two classes and a linear head."""
    check_several(read)
    radius, norm = options.radius, options.norm
    attention, solver = _worst(read, radius, norm)
    certified = _certified(read, norm)
    is_finite = certified is not None and isfinite(certified)
    return answer_with(
        WORST_PERTURBATION,
        read,
        attention,
        read.evidence.decode(attention),
        solver=solver,
        before=_intro(radius, norm, solver),
        after=_certificate(certified, norm),
        more={"radius": certified if is_finite else None, "most_radius": APART[norm]},
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
    return _towards_each_class(read, radius, norm), "bound"


def _towards_each_class(read: ReadText, radius: float, norm: Norm) -> Float[Tensor, "1 item"]:
    """Of the perturbations that move the decision's margin over some class as far as can be, the furthest-moving."""
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
    """What projected gradient ascent ends with: the rival's lead over the decision grows along it."""
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


def _certified(read: ReadText, norm: Norm) -> float | None:
    """The certified radius; infinite where no attention changes the decision; None where the head is not linear."""
    evidence = read.evidence
    if evidence.item_logits is None:
        return None
    problem = (evidence.attention, evidence.item_logits, evidence.empty_logits, evidence.items)
    return float(certified_radius_on_simplex(*problem, norm)[0])


def _intro(radius: float, norm: Norm, solver: Solver) -> str:
    if solver == "exact":
        return f"The worst attention within {radius:g} ({norm}) of the model's own:"
    return f"The worst attention that was found within {radius:g} ({norm}) of the model's own; a worse one may exist:"


def _certificate(certified: float | None, norm: Norm) -> str:
    if certified is None:
        return ""
    if not isfinite(certified):
        return "No attention at all changes the decision."
    return f"No attention nearer than {certified:.3g} ({norm}) changes the decision; some beyond it does."


WORST_PERTURBATION = Action(
    "worst_perturbation",
    "Worst perturbation",
    "How far can weights that are a little off move the prediction, and how far off must they be to change it?",
    f"{SEAT}, who search by gradient; the certified radius is Heedful's",
    worst_perturbation,
    ("radius", "norm"),
)
