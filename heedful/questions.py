"""The questions of the verdict: what each measures, between which floor and best, and how it is said in plain words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import nan

import torch
from jaxtyping import Float
from torch import Tensor

Values = Float[Tensor, "seed text"]
Columns = Mapping[str, Values]
"""One measure of one test, `test.measure`, for each seed and text."""

Triple = tuple[Values, Values, Values]
"""Value, floor, and best possible, text by text."""


@dataclass(frozen=True)
class Question:
    """How a line is made from columns: what is measured, against which floor and best, and how it is said."""

    name: str
    question: str
    needs: tuple[str, ...]
    measured: Callable[[Columns], Triple]
    best_kind: str
    said: Callable[[float, float, float, dict[str, float]], str]
    beside: Callable[[Columns], dict[str, float]] = lambda columns: {}
    unless_exact: str = ""
    """What must be added where the test was not answered exactly; the best is then a yardstick."""


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


def _lost(other: str) -> Callable[[Columns], Triple]:
    def measured(columns: Columns) -> Triple:
        correct, label = columns["prediction.correct"], columns["prediction.label"]
        constant = (label == label.flatten().mode().values).double()
        return correct - columns[other], torch.zeros_like(correct), correct - constant

    return measured


def _by_confidence(columns: Columns) -> dict[str, float]:
    value, _, _ = _adversary(columns)
    sure = columns["prediction.probability"]
    bands = {"below .75": sure < 0.75, ".75 to .95": (sure >= 0.75) & (sure < 0.95), "above .95": sure >= 0.95}
    return {f"confidence {name}": value.where(band, nan).nanmean().item() for name, band in bands.items()}


def _mean(name: str) -> Callable[[Columns], float]:
    return lambda columns: columns[name].nanmean().item()


def _points(lost: float) -> str:
    return f"{'gains' if lost < 0 else 'loses'} {100 * abs(lost):.1f} points"


def _percent(share: float) -> str:
    return "none" if share != share else f"{100 * share:.0f} of 100"


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
            f"dealing would move it by {b:.2f}. For {_percent(beside['some permutation flips'])} texts some dealing "
            "changes the answer."
        ),
        lambda columns: {"some permutation flips": _mean("permutation.some_flips")(columns)},
        unless_exact="The most harmful dealing is the worst that was found; a worse one may exist.",
    ),
    Question(
        "without_top",
        "Could the answer stand without the top words?",
        ("adversary",),
        _without_top,
        "ceiling",
        lambda v, f, b, beside: (
            f"For {_percent(1 - v)} texts the answer stands with no attention at all on the most attended word; "
            f"for {_percent(beside['stands without the top 3'])}, with none on the top three."
        ),
        lambda columns: {"stands without the top 3": _mean("adversary.without_top_3")(columns)},
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
            f"Erasing the most attended word changes {_percent(v)} decisions, any other word at random {_percent(f)}; "
            f"for {_percent(b)} texts some single word would."
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
)
