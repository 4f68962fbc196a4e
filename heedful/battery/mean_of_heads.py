"""What the mean over a transformer's heads, which is shown, leaves out of its attention."""

import torch

from heedful.battery.evidence import Evidence
from heedful.battery.question import BatteryTest
from heedful.measures import total_variation_distance
from heedful.models.hugging_face.attention_view import EncodedTexts, TransformerModel
from heedful.types import Findings


def mean_of_heads(evidence: Evidence, generator: torch.Generator) -> Findings:
    """How much weight special tokens have, and what the model says with the shown attention in every head alike.

    `special_weight`, the share of all weight that falls on special tokens, which are no items; `tvd` and `flips`, how
    far the prediction moves and whether the decision changes. Nothing for models that are no transformers.
    """
    model, encoded = evidence.model, evidence.trace.encoded
    if not isinstance(model, TransformerModel) or not isinstance(encoded, EncodedTexts):
        return Findings()
    logits = model.impose_each(encoded, evidence.trace.attention[:, None])[:, 0].cpu()
    special = torch.empty_like(evidence.count)
    for part in encoded.parts:
        special[part.texts.cpu()] = part.shown.special.mean(1).cpu()
    values = {
        "special_weight": special,
        "tvd": total_variation_distance(logits.softmax(-1), evidence.probabilities),
        "flips": (logits.argmax(-1) != evidence.predicted).double(),
    }
    return Findings(values)


TEST = BatteryTest(mean_of_heads)
