"""The most that any attention can move a prediction."""

import torch

from heedful.measures import total_variation
from heedful.server.contract import Solver, Widest
from heedful.server.reading import ReadText

MOST_TRIED = 64
"""Items that are tried alone where the head is not linear, the most attended first."""


def widest_move(read: ReadText) -> Widest | None:
    """The largest move of the prediction, in total variation distance; None where there is a single item.

    With two classes and a linear head the probability is a monotone function of a mean of what each item says alone,
    weighed by attention, so the extremes are items alone: exact. With more classes some mixture may move it further,
    so that this much is proven and more may be possible. Where the head is not linear, items alone are tried.
    """
    if read.count < 2:
        return None
    evidence = read.evidence
    places = read.real.nonzero()[:, 0]
    if evidence.item_logits is not None:
        logits = evidence.item_logits[0, places]
        solver: Solver = "exact" if logits.shape[1] == 2 else "bound"
    else:
        heaviest = evidence.attention[0, places].argsort(descending=True, stable=True)[:MOST_TRIED]
        places, solver = places[heaviest], "search"
        alone = torch.nn.functional.one_hot(places, evidence.items.shape[1]).to(evidence.attention)
        logits = evidence.decode_each(alone[None])[0]
    predictions = logits.softmax(-1)
    moved = total_variation(predictions, evidence.probabilities.expand_as(predictions))
    best = int(moved.argmax())
    attention = torch.zeros_like(evidence.attention)
    attention[0, places[best]] = 1.0
    return Widest(tvd=float(moved[best]), solver=solver, attention=read.listed(attention))
