"""The model's prediction for each text: not a test, but what the tests are compared with."""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.question import BatteryTest
from heedful.types import Findings


def prediction(evidence: Evidence, generator: torch.Generator) -> Findings:
    """The predicted class and its probability, the label, the number of items and the largest attention weight.

    A text without a label has label -1, and whether it is correct is undefined.
    """
    label = evidence.labels
    values = {
        "predicted": evidence.predicted,
        "probability": evidence.probabilities.amax(-1),
        "label": label,
        "correct": (evidence.predicted == label).double().masked_fill(label < 0, torch.nan),
        "items": evidence.count,
        "max_attention": evidence.attention.amax(-1),
    }
    return Findings({name: value.double() for name, value in values.items()})


TEST = BatteryTest(prediction)
