"""Predictions under modified attention, compared with the model's own."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from heedful.measures import js_divergence, total_variation
from heedful.server.reading import ReadText


@dataclass(frozen=True)
class PredictionChange:
    """A prediction, and how far it is from that of the text as it is.

    Args:
        label: the predicted label.
        probability: of that label.
        is_changed: whether the decision is another.
    """

    logits: list[float]
    probabilities: list[float]
    predicted: int
    tvd: float
    label: str
    probability: float
    is_changed: bool

    @property
    def answer(self) -> str:
        """The label and its probability, in words."""
        return f"{self.label} ({self.probability:.2f})"

    @property
    def move(self) -> str:
        """How far the prediction moved, and whether the decision is another, in words that follow a colon."""
        changed = f"changes to {self.answer}" if self.is_changed else f"stays {self.answer}"
        return f"the prediction moves by {self.tvd:.2f} and the answer {changed}."


def prediction_change(read: ReadText, logits: Float[Tensor, "1 classes"]) -> PredictionChange:
    """What these logits say, beside those of the text as it is."""
    evidence = read.evidence
    probabilities = logits.softmax(-1)
    predicted = int(logits[0].argmax())
    return PredictionChange(
        logits=logits[0].tolist(),
        probabilities=probabilities[0].tolist(),
        predicted=predicted,
        tvd=float(total_variation(probabilities, evidence.probabilities)[0]),
        label=evidence.context.labels[predicted],
        probability=float(probabilities[0, predicted]),
        is_changed=predicted != int(evidence.predicted[0]),
    )


def divergence(read: ReadText, attention: Float[Tensor, "1 item"]) -> float:
    """The Jensen-Shannon divergence of an attention from the model's own."""
    return float(js_divergence(attention, read.evidence.attention, read.evidence.items)[0])
