"""What attention looks like, whatever it is worth: how sharp, how even, over how similar states, on punctuation."""

import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.battery.evidence import Context, Evidence, undefined_where
from heedful.battery.question import BatteryTest
from heedful.measures import conicity, entropy
from heedful.types import Findings


def shape(evidence: Evidence, generator: torch.Generator) -> Findings:
    """`sharpness`, `evenness`, `conicity` and `punctuation`: they judge nothing; they describe attention next to the
    tests.

    `sharpness`: the largest weight x the number of items, 1 for uniform weights. `evenness`: the entropy of the weights
        /
    that of uniform weights. `conicity`: the mean cosine between each hidden state and their mean. `punctuation`: the
        weight
    on words without a letter or digit, undefined if the words are not known. After Mohankumar et al.
    (2020, arXiv:2004.14243).
    """
    attention, items = evidence.attention, evidence.items
    count = evidence.count.double()
    encoded = evidence.trace.encoded
    values = {
        "sharpness": attention.amax(1) * count,
        "evenness": entropy(attention, items) / count.log(),
        "conicity": conicity(encoded.hidden.double(), encoded.items).cpu(),
    }
    marks, numbers = evidence.context.once(_marks), evidence.item_numbers
    if len(marks) and numbers is not None:
        is_mark = marks[numbers.clamp(0, len(marks) - 1)] & (numbers >= 0) & (numbers < len(marks)) & items
        values["punctuation"] = (attention * is_mark).sum(1)
    return Findings(undefined_where(evidence.count < 2, values))


def _marks(context: Context) -> Bool[Tensor, " token"]:
    """Which words of the vocabulary have neither letter nor digit."""
    return torch.tensor([not any(sign.isalnum() for sign in word) for word in context.vocabulary], dtype=torch.bool)


TEST = BatteryTest(shape, cost="named")
