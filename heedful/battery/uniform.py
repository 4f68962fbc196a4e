"""Is attention needed at all?"""

from collections.abc import Callable

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.question import BatteryTest, Columns, Question, ValueFloorBest
from heedful.measures import total_variation_distance
from heedful.types import Findings


def uniform(evidence: Evidence, generator: torch.Generator) -> Findings:
    """What the same model says with the same weight on every item.

    `correct_uniform`, `flips_uniform` (0 or 1) and `tvd_uniform`, how far the prediction moves. Wiegreffe and Pinter
    (2019, section 3.2) retrain with uniform attention; this asks the trained model itself.
    """
    weights = (evidence.items / evidence.count[:, None]).to(evidence.attention)
    logits = evidence.decode(weights)
    decided = logits.argmax(-1)
    values = {
        "correct_uniform": decided == evidence.labels,
        "flips_uniform": decided != evidence.predicted,
        "tvd_uniform": total_variation_distance(logits.softmax(-1), evidence.probabilities),
    }
    return Findings({name: value.double() for name, value in values.items()})


def accuracy_lost(correct_otherwise: str) -> Callable[[Columns], ValueFloorBest]:
    """Accuracy lost against another way to answer, between nothing and what always giving one answer loses."""

    def measured(columns: Columns) -> ValueFloorBest:
        correct, label = columns["prediction.correct"], columns["prediction.label"]
        constant = (label == label.flatten().mode().values).double()
        return correct - columns[correct_otherwise], torch.zeros_like(correct), correct - constant

    return measured


def accuracy_change_text(lost: float) -> str:
    """Accuracy lost or gained, in words.

    >>> accuracy_change_text(0.021), accuracy_change_text(-0.004)
    ('loses 2.1 points', 'gains 0.4 points')
    """
    return f"{'gains' if lost < 0 else 'loses'} {100 * abs(lost):.1f} points"


TEST = BatteryTest(
    uniform,
    (
        Question(
            name="uniform",
            topic="uniform weights",
            group="exclusivity",
            wording=lambda item: "Is attention needed at all? (same model)",
            measured=accuracy_lost("uniform.correct_uniform"),
            unit="share",
            sentence=lambda answer: (
                f"With the same weight on every {answer.item} this model {accuracy_change_text(answer.value)} "
                f"of accuracy; always predicting the most common class {accuracy_change_text(answer.best)}."
            ),
        ),
    ),
)
