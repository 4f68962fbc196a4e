"""Do label-indicative words, which mostly occur under one label, get more attention than neutral ones?"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.battery.evidence import Context, Evidence, undefined_where
from heedful.battery.question import BatteryTest, Question, between, means, per_100
from heedful.measures import auroc_per_item
from heedful.token_scores.scores import NEUTRAL, OTHER, token_classes
from heedful.types import Findings

MOST_LABELS = 5
"""With at most this number of labels, the weight on the words of each label is measured."""


def token_scores(evidence: Evidence, generator: torch.Generator, *, share: float = 0.75, least: int = 5) -> Findings:
    """How attention treats label-indicative (polar) words and neutral ones, text by text.

    `polar_above_neutral`: of the pairs of a polar and a neutral word of the text, the share in which the polar one has
    the more attention, equal ones counting half: AUROC within the text, 0.5 if attention is unrelated to polarity, NaN
    without such a pair. `own_above_neutral`: the same for the polar words of the predicted label alone, which are what
    the prediction can depend on if the words of a text disagree. `weight_polar`, `weight_neutral` and, for a few
    labels, `weight[label]`: the mean weight of these words relative to uniform, weight x number of words; NaN if there
    are none.

    Within a text, order of weights is order of attention scores, which Sun and Lu (2020, section 5 and Figure 5)
    compare over the whole vocabulary. Which words are polar the training texts say (`token_classes`, which takes the
    options). Undefined if attention weighs sentences.
    """
    attention, labels, numbers = evidence.attention, evidence.context.labels, evidence.item_numbers
    of_items = torch.full_like(evidence.items, OTHER, dtype=torch.long)
    if numbers is not None:
        classes = evidence.context.once(_classes, share, least)
        of_items = classes[numbers.clamp_min(0)].where(evidence.items & (numbers >= 0), OTHER)
    polar, neutral = of_items >= 0, of_items == NEUTRAL
    shares = evidence.count[:, None] * attention
    above, own = auroc_per_item(attention, neutral), of_items == evidence.predicted[:, None]
    values = {
        "polar_above_neutral": _mean(above, polar),
        "own_above_neutral": _mean(above, own),
        "weight_polar": _mean(shares, polar),
        "weight_neutral": _mean(shares, neutral),
    }
    if len(labels) <= MOST_LABELS:
        values |= {f"weight[{label}]": _mean(shares, of_items == number) for number, label in enumerate(labels)}
    return Findings(undefined_where(evidence.count < 2, values), "exact")


def _mean(values: Float[Tensor, "batch item"], members: Bool[Tensor, "batch item"]) -> Float[Tensor, " batch"]:
    """The mean over the members of each row; NaN if there are none."""
    return values.where(members, 0.0).sum(1) / members.sum(1)


def _classes(context: Context, share: float, least: int) -> Int[Tensor, " token"]:
    return token_classes(context.token_counts(), share=share, least=least)


TEST = BatteryTest(
    token_scores,
    (
        Question(
            name="token_scores",
            topic="label-indicative words",
            group="relevance",
            wording=lambda item: "Do label-indicative words get more attention than neutral ones?",
            measured=between("token_scores.own_above_neutral", 0.5, 1.0),
            sentence=lambda answer: (
                f"Compare a word that in {answer.counted_on} mostly occurs under the predicted label with a neutral "
                f"word, which occurs under all labels alike: in {per_100(answer.value)} such pairs the "
                "label-indicative word has more attention (50 would be chance). Words that indicate any label get "
                f"{answer.details['weight on label-indicative words']:.1f} times the uniform weight, neutral words "
                f"{answer.details['weight on neutral words']:.1f} times."
            ),
            details=means(
                {
                    "weight on label-indicative words": "token_scores.weight_polar",
                    "weight on neutral words": "token_scores.weight_neutral",
                }
            ),
        ),
    ),
)
