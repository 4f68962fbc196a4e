"""How little weight can the top words of a transformer have with exactly the same logits?"""

from math import nan

import torch

from heedful.battery.evidence import Evidence, undefined_where
from heedful.battery.question import BatteryTest, Columns, Question, QuestionResult, ValueFloorBest, means
from heedful.models.hugging_face.same_mixture import least_weight
from heedful.types import Findings

TOPS = (1, 3)


def same_mixture(evidence: Evidence, generator: torch.Generator) -> Findings:
    """The least share of the words' weight that the most attended words can have with the same mixture of values.

    Weights that mix the same values into the row that the classifier reads, head by head, give exactly the same logits,
    whatever follows. Of the 1 and the 3 most attended words `weight_1`, what they have, and `least_1`, the least of
    all such weights: a linear program for each head. `freedom`: in how many dimensions a head's weights are free, on
    average; 0 for texts with fewer tokens than a head's values have dimensions, as a rule. Nothing for models that are
    no transformers, or where the classifier reads several rows or the site is not in the last layer.
    """
    if evidence.heads is None or evidence.heads.one_row is None:
        return Findings()
    values: dict[str, torch.Tensor] = {}
    for top in TOPS:
        tops = (evidence.items & ~evidence.without_top(top)).to(evidence.trace.attention.device)
        least = least_weight(evidence.heads, evidence.trace.encoded, tops)
        is_part = evidence.count > top
        values[f"weight_{top}"] = least.own.cpu().where(is_part, nan)
        values[f"least_{top}"] = least.weight.cpu().where(is_part, nan)
        values["freedom"] = least.freedom.cpu()
    return Findings(undefined_where(evidence.count < 2, values))


def _measured(columns: Columns) -> ValueFloorBest:
    own, least = columns["same_mixture.weight_1"], columns["same_mixture.least_1"]
    value = least / own.where(own > 0, nan)
    return value, torch.zeros_like(value), torch.ones_like(value)


def _sentence(answer: QuestionResult) -> str:
    if answer.details["free dimensions"] == 0:
        return (
            "No other weights mix the same values in any head: the texts have no more tokens than a head's values have "
            "dimensions."
        )
    percent = {name: f"{100 * value:.0f}%" for name, value in answer.details.items()}
    return (
        f"With exactly the same logits the top {answer.item} could have {percent['least weight of the top word']} of "
        f"the weight instead of {percent['weight of the top word']}, the top three "
        f"{percent['least weight of the top three']} instead of {percent['weight of the top three']}: other weights "
        "mix the same values."
    )


TEST = BatteryTest(
    same_mixture,
    (
        Question(
            name="same_mixture",
            topic="same logits with less weight on the top word",
            group="exclusivity",
            wording=lambda item: f"Does exactly the same output need the weight of the top {item}?",
            needs=("same_mixture.least_1",),
            measured=_measured,
            unit="share",
            sentence=_sentence,
            details=means(
                {
                    "free dimensions": "same_mixture.freedom",
                    "weight of the top word": "same_mixture.weight_1",
                    "least weight of the top word": "same_mixture.least_1",
                    "weight of the top three": "same_mixture.weight_3",
                    "least weight of the top three": "same_mixture.least_3",
                }
            ),
        ),
    ),
)
