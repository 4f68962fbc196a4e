"""The questions of the verdict: what each measures, between which floor and best, and how it is said in plain words."""

from collections.abc import Callable, Sequence
from math import log, nan

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.battery.attefa_family import Family, Member, family
from heedful.battery.question import Columns, Question, Triple, Values, mean, percent
from heedful.battery.stability_questions import STABILITY

__all__ = ["QUESTIONS", "Columns", "Question", "Triple", "Values"]


def _agreement(test: str) -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        value = columns[f"{test}.tau"]
        return value, torch.zeros_like(value), columns["leave_one_out_agreement.tau_gradient"]

    return measured


def _permutation(columns: Columns) -> Triple:
    value = columns["permutation.median_tvd"]
    return value, torch.zeros_like(value), columns["permutation.worst_tvd"]


def _without_top(columns: Columns) -> Triple:
    value = 1 - columns["adversary.without_top_1"]
    return value, torch.zeros_like(value), torch.ones_like(value)


def _adversary(columns: Columns) -> Triple:
    value = 1 - columns["adversary.js"] / columns["adversary.cap"].where(columns["adversary.cap"] > 0, nan)
    return value, torch.zeros_like(value), torch.ones_like(value)


def _erase_one(columns: Columns) -> Triple:
    flips = columns["erase_one.flips_attention"]
    return flips, columns["erase_one.other_flips_attention"], columns["erase_one.some_item_flips"]


def _erase_until_flip(columns: Columns) -> Triple:
    fraction = "erase_until_flip.fraction"
    return columns[f"{fraction}_attention"], columns[f"{fraction}_random"], columns[f"{fraction}_minimal"]


def _token_scores(columns: Columns) -> Triple:
    value = columns["token_scores.polar_above_neutral"]
    return value, torch.full_like(value, 0.5), torch.ones_like(value)


def _lost(other: str) -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        correct, label = columns["prediction.correct"], columns["prediction.label"]
        constant = (label == label.flatten().mode().values).double()
        return correct - columns[other], torch.zeros_like(correct), correct - constant

    return measured


def families(columns: Columns) -> list[Family]:
    """The AtteFa family of each seed's model."""
    found = []
    for seed in range(len(columns["attefa.cap"])):
        base = {name.removeprefix("attefa."): v[seed] for name, v in columns.items() if name.startswith("attefa.")}
        numbers = sorted(int(name.split("_")[-1]) for name in columns if name.startswith("adversaries.tvd_"))
        parts = ("tvd", "js", "apart")
        rows = [{part: columns[f"adversaries.{part}_{n}"][seed] for part in parts} for n in numbers]
        found.append(family(base, rows))
    return found


def _frozen(columns: Columns) -> Triple:
    found = families(columns)
    value = columns["attefa.frozen_tvd"] * _per_divergence([one.frozen for one in found])
    return value, torch.zeros_like(value), _constant(columns, found)


def _attefa(columns: Columns) -> Triple:
    found = families(columns)
    moved = [columns[f"adversaries.tvd_{one.best + 1}"][seed] for seed, one in enumerate(found)]
    value = torch.stack(moved) * _per_divergence([one.seeds[one.best] for one in found])
    return value, torch.zeros_like(value), _constant(columns, found)


def _constant(columns: Columns, found: Sequence[Family]) -> Values:
    return columns["attefa.constant_tvd"] * _per_divergence([one.constant for one in found])


def _per_divergence(members: Sequence[Member | None]) -> Float[Tensor, "seed 1"]:
    """What makes a mean TVD an AtteFa: ln 2 over the mean divergence, one number for all texts of a seed."""
    divergences = [nan if one is None or one.js == 0 else one.js for one in members]
    return log(2) / torch.tensor(divergences, dtype=torch.float64)[:, None]


def _adversaries(columns: Columns) -> dict[str, float]:
    """Every adversary's score and whether it gave up; over several base models, the mean."""
    found = families(columns)
    counts = [float(sum(one.gave_up is True for one in each.seeds)) for each in found]
    said = {
        "mean over adversaries": sum(one.mean for one in found) / len(found),
        "standard deviation": sum(one.spread for one in found) / len(found),
        "adversaries": float(len(found[0].seeds)),
        "that gave up": sum(counts) / len(counts),
        "by the cap instead of ln 2": sum(one.seeds[one.best].attefa_of_cap for one in found) / len(found),
        "if weights may grow without limit": sum(one.rescaled.attefa for one in found) / len(found),
    }
    if len(found) == 1:
        for n, one in enumerate(found[0].seeds, start=1):
            said[f"adversary {n}{' (gave up)' if one.gave_up else ''}"] = one.attefa
    return said


def _by_confidence(columns: Columns) -> dict[str, float]:
    value, _, _ = _adversary(columns)
    sure = columns["prediction.probability"]
    bands = {"below .75": sure < 0.75, ".75 to .95": (sure >= 0.75) & (sure < 0.95), "above .95": sure >= 0.95}
    return {f"confidence {name}": value.where(band, nan).nanmean().item() for name, band in bands.items()}


def _points(lost: float) -> str:
    return f"{'gains' if lost < 0 else 'loses'} {100 * abs(lost):.1f} points"


QUESTIONS: tuple[Question, ...] = (
    Question(
        "gradient_agreement",
        "Does attention rank words as the gradient does?",
        ("gradient_agreement", "leave_one_out_agreement"),
        _agreement("gradient_agreement"),
        "yardstick",
        lambda v, f, b, beside: (
            f"Attention and the gradient order the words with an agreement of {v:.2f} (1: the same order, 0: no "
            f"relation); the gradient and leaving words out agree with each other by {b:.2f}."
        ),
    ),
    Question(
        "leave_one_out_agreement",
        "Does it rank words as leaving them out does?",
        ("leave_one_out_agreement",),
        _agreement("leave_one_out_agreement"),
        "yardstick",
        lambda v, f, b, beside: (
            f"Attention and the effect of leaving a word out order the words with an agreement of {v:.2f}, "
            f"where the gradient reaches {b:.2f}."
        ),
    ),
    Question(
        "permutation",
        "Does it matter which words get the weight?",
        ("permutation",),
        _permutation,
        "ceiling",
        lambda v, f, b, beside: (
            f"Dealing the weights to other words at random typically moves the prediction by {v:.2f}; the most harmful "
            f"dealing would move it by {b:.2f}. For {percent(beside['some permutation flips'])} texts some dealing "
            "changes the answer."
        ),
        lambda columns: {"some permutation flips": mean("permutation.some_flips")(columns)},
        unless_exact="The most harmful dealing is the worst that was found; a worse one may exist.",
    ),
    Question(
        "without_top",
        "Could the answer stand without the top words?",
        ("adversary",),
        _without_top,
        "ceiling",
        lambda v, f, b, beside: (
            f"For {percent(1 - v)} texts the answer stands with no attention at all on the most attended word; "
            f"for {percent(beside['stands without the top 3'])}, with none on the top three."
        ),
        lambda columns: {"stands without the top 3": mean("adversary.without_top_3")(columns)},
    ),
    Question(
        "adversary",
        "How different can attention be for the same answer?",
        ("adversary",),
        _adversary,
        "ceiling",
        lambda v, f, b, beside: (
            f"Attention that gives the same answer can be {100 * (1 - v):.0f} % as different as it can be at all."
        ),
        _by_confidence,
        unless_exact="That much was found; attention may be more different still.",
    ),
    Question(
        "erase_one",
        "Does the top word carry the decision?",
        ("erase_one",),
        _erase_one,
        "ceiling",
        lambda v, f, b, beside: (
            f"Erasing the most attended word changes {percent(v)} decisions, any other word at random {percent(f)}; "
            f"for {percent(b)} texts some single word would."
        ),
    ),
    Question(
        "erase_until_flip",
        "Does the ranking find what the decision rests on?",
        ("erase_until_flip",),
        _erase_until_flip,
        "ceiling",
        lambda v, f, b, beside: (
            f"Erasing words from the most attended down takes {100 * v:.0f} % of a text before the decision changes, "
            f"in random order {100 * f:.0f} %; the smallest set that changes it is {100 * b:.0f} %."
        ),
        unless_exact="The smallest set is the smallest that was found; a smaller one may exist.",
    ),
    Question(
        "token_scores",
        "Do telling words get more attention than neutral ones?",
        ("token_scores",),
        _token_scores,
        "ceiling",
        lambda v, f, b, beside: (
            "Put side by side a word that mostly occurs under one answer and a word that occurs under all alike: in "
            f"{percent(v)} such pairs the telling word has the more attention (50 would be chance). A telling word "
            f"gets {beside['weight on telling words']:.1f} times an even share of the weight, a neutral one "
            f"{beside['weight on neutral words']:.1f} times."
        ),
        lambda columns: {
            f"weight on {said} words": mean(f"token_scores.weight_{kind}")(columns)
            for said, kind in (("telling", "polar"), ("neutral", "neutral"))
        },
    ),
    Question(
        "uniform",
        "Is attention needed at all? (same model)",
        ("uniform",),
        _lost("uniform.correct_uniform"),
        "ceiling",
        lambda v, f, b, beside: (
            f"With the same weight on every word this model {_points(v)} of accuracy; always giving the commonest "
            f"answer would lose {100 * b:.1f}."
        ),
    ),
    Question(
        "uniform_retrained",
        "Is attention needed at all? (retrained)",
        ("uniform_retrained",),
        _lost("uniform_retrained.correct"),
        "ceiling",
        lambda v, f, b, beside: (
            f"Trained anew with the same weight on every word, the model {_points(v)} of accuracy; always giving the "
            f"commonest answer would lose {100 * b:.1f}."
        ),
    ),
    Question(
        "attefa_frozen",
        "Could attention alone go elsewhere and the answers stay?",
        ("attefa.frozen_tvd", "adversaries"),
        _frozen,
        "yardstick",
        lambda v, f, b, beside: (
            f"With all else held fixed, attention that goes elsewhere at the least cost moves the answers by {v:.2f} "
            f"for each unit of divergence; an adversary that always says the same, by {b:.2f}."
        ),
    ),
    Question(
        "attefa",
        "Would a retrained model attend elsewhere?",
        ("attefa", "adversaries"),
        _attefa,
        "yardstick",
        lambda v, f, b, beside: (
            f"The best of {beside['adversaries']:.0f} models trained to give the same answers by other attention has "
            f"an AtteFa of {v:.2f} (0: it won), where one that always says the same has {b:.2f}"
            + (f"; {beside['that gave up']:.0f} gave up predicting." if beside["that gave up"] else ".")
        ),
        _adversaries,
    ),
    *STABILITY,
)
