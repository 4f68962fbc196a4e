"""Would a retrained model attend elsewhere? Models trained to predict as the audited one does and attend elsewhere."""

from collections.abc import Sequence
from math import log, nan

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.attefa_family import Family, Member, adversary_rows, base_rows, constant_adversary, family
from heedful.battery.question import Columns, Question, Triple, Values
from heedful.models.attention_model import AttentionModel
from heedful.types import LinearModel, Model, Trace

REACHABLE, TRAINED = "attefa", "adversarial_models"
"""Tests in the rows: what an adversary could reach, and what each trained one did, numbered from 1."""


def reachable(model: Model, base: Trace) -> dict[str, Float[Tensor, " batch"]]:
    """What needs no training, of one batch, as `base_rows` names it."""
    item_logits = model.item_logits(base.encoded).cpu() if isinstance(model, LinearModel) else None
    token_wise = isinstance(model, AttentionModel) and getattr(model.encoder, "token_wise", False)
    types = base.batch.tokens.cpu() if token_wise else None  # such a model weighs equal tokens alike
    return base_rows(base.attention.cpu(), base.logits.softmax(-1).cpu(), base.encoded.items.cpu(), item_logits, types)


def reached(base: Trace, other: Trace) -> dict[str, Float[Tensor, " batch"]]:
    """How far a trained adversary went, of one batch, as `adversary_rows` names it."""
    own, base_predictions = other.logits.softmax(-1).cpu(), base.logits.softmax(-1).cpu()
    return adversary_rows(other.attention.cpu(), own, base.attention.cpu(), base_predictions, base.encoded.items.cpu())


def distance_from_constant(
    predictions: Sequence[Float[Tensor, "_ classes"]],
) -> tuple[Float[Tensor, " _"], ...]:
    """For each batch, how far each prediction is from the best constant one, the same for all texts of the split."""
    return constant_adversary(torch.cat(list(predictions))).split([len(batch) for batch in predictions])


def families(columns: Columns) -> list[Family]:
    """The AtteFa family of each seed's model."""
    numbers = sorted(int(name.split("_")[-1]) for name in columns if name.startswith(f"{TRAINED}.tvd_"))
    base = {name.removeprefix("attefa."): columns[name] for name in columns if name.startswith("attefa.")}
    return [
        family(
            {name: values[seed] for name, values in base.items()},
            [{part: columns[f"{TRAINED}.{part}_{n}"][seed] for part in ("tvd", "js", "apart")} for n in numbers],
        )
        for seed in range(len(columns[f"{REACHABLE}.cap"]))
    ]


def _frozen(columns: Columns) -> Triple:
    by_seed = families(columns)
    value = columns["attefa.frozen_tvd"] * _per_divergence([each.frozen for each in by_seed])
    return value, torch.zeros_like(value), _constant(columns, by_seed)


def _attefa(columns: Columns) -> Triple:
    by_seed = families(columns)
    moved = [columns[f"{TRAINED}.tvd_{each.best + 1}"][seed] for seed, each in enumerate(by_seed)]
    value = torch.stack(moved) * _per_divergence([each.seeds[each.best] for each in by_seed])
    return value, torch.zeros_like(value), _constant(columns, by_seed)


def _constant(columns: Columns, by_seed: Sequence[Family]) -> Values:
    return columns["attefa.constant_tvd"] * _per_divergence([each.constant for each in by_seed])


def _per_divergence(members: Sequence[Member | None]) -> Float[Tensor, "seed 1"]:
    """What makes a mean TVD an AtteFa: ln 2 over the mean divergence, one number for all texts of a seed."""
    divergences = [nan if member is None or member.js == 0 else member.js for member in members]
    return log(2) / torch.tensor(divergences, dtype=torch.float64)[:, None]


def _details(columns: Columns) -> dict[str, float]:
    """Every adversary's score and whether it gave up; over several base models, the mean."""
    by_seed = families(columns)
    gave_up = [float(sum(member.gave_up is True for member in each.seeds)) for each in by_seed]
    details = {
        "mean over adversaries": sum(each.mean for each in by_seed) / len(by_seed),
        "standard deviation": sum(each.spread for each in by_seed) / len(by_seed),
        "adversaries": float(len(by_seed[0].seeds)),
        "that gave up": sum(gave_up) / len(gave_up),
        "by the cap instead of ln 2": sum(each.seeds[each.best].attefa_of_cap for each in by_seed) / len(by_seed),
        "if weights may grow without limit": sum(each.rescaled.attefa for each in by_seed) / len(by_seed),
    }
    if len(by_seed) == 1:
        for n, member in enumerate(by_seed[0].seeds, start=1):
            details[f"adversary {n}{' (gave up)' if member.gave_up else ''}"] = member.attefa
    return details


QUESTIONS = (
    Question(
        name="attefa_frozen",
        topic="other attention, retrained alone",
        group="exclusivity",
        wording=lambda item: "Could attention alone go elsewhere and the answers stay?",
        needs=("attefa.frozen_tvd", TRAINED),
        measured=_frozen,
        best_kind="yardstick",
        sentence=lambda answer: (
            f"With all else held fixed, attention that goes elsewhere at the least cost moves the answers by "
            f"{answer.value:.2f} for each unit of divergence; an adversary that gives every text the same answer, by "
            f"{answer.best:.2f}."
        ),
    ),
    Question(
        name="attefa",
        topic="other attention, all retrained",
        group="exclusivity",
        wording=lambda item: "Would a retrained model attend elsewhere?",
        needs=("attefa", TRAINED),
        measured=_attefa,
        best_kind="yardstick",
        sentence=lambda answer: (
            f"The best of {answer.details['adversaries']:.0f} models trained to give the same answers by other "
            f"attention has an AtteFa of {answer.value:.2f} (0: it won), where one that gives every text one answer "
            f"has {answer.best:.2f}"
            + (f"; {answer.details['that gave up']:.0f} gave up predicting." if answer.details["that gave up"] else ".")
        ),
        details=_details,
    ),
)
