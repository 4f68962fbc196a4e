"""How the errors of the texts pull on each token: towards another polarity, and towards another weight."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from heedful.data.batching import EncodedSplit, read
from heedful.models.attention import masked_softmax
from heedful.models.heads import with_both_classes
from heedful.types import Batch

SIZE = 256
"""Texts whose pulls are summed at once."""


@dataclass(frozen=True)
class Pulls:
    """What the texts ask of each token, summed over its places: minus the gradient of the summed loss.

    Args:
        label: to its polarity at fixed attention: Sun and Lu's pi(e), equation 16.
        weight: to its attention score: their rho(e), equation 20, divided by the temperature.
    """

    label: Float[Tensor, "token rows"]
    weight: Float[Tensor, " token"]


def pulls(
    split: EncodedSplit,
    polarity: Float[Tensor, "token rows"],
    scores: Float[Tensor, " token"],
    bias: Float[Tensor, " rows"],
    temperature: float,
) -> Pulls:
    """The pulls of a split's texts on every token, for a model in which a token has the same scores in every text.

    So the model need not be run: what it makes of a text is looked up.
    """
    label, weight = torch.zeros_like(polarity), torch.zeros_like(scores)
    for batch in read(split, SIZE, scores.device):
        attention = masked_softmax(scores[batch.tokens] / temperature, batch.attendable)
        each = polarity[batch.tokens]
        errors = _errors(batch, (attention[:, None] @ each)[:, 0] + bias)
        on_label, on_weight = pulls_on_items(attention, each, errors)
        tokens = batch.tokens[batch.attendable]
        label.index_add_(0, tokens, on_label[batch.attendable])
        weight.index_add_(0, tokens, on_weight[batch.attendable] / temperature)
    return Pulls(label, weight)


def pulls_on_items(
    attention: Float[Tensor, "batch item"],
    polarity: Float[Tensor, "batch item rows"],
    errors: Float[Tensor, "batch rows"],
) -> tuple[Float[Tensor, "batch item rows"], Float[Tensor, "batch item"]]:
    """What each text asks of its items: minus the gradient of its loss to their polarities and their scores.

    alpha_j r, and alpha_j r . (s_j - s) with s = sum over items of alpha_j s_j, whose sum over the items is 0.

    >>> attention, polarity = torch.tensor([[0.75, 0.25]]), torch.tensor([[[1.0], [-1.0]]])
    >>> pulls_on_items(attention, polarity, torch.tensor([[0.4]]))  # s = 0.5
    (tensor([[[0.3000], [0.1000]]]), tensor([[ 0.1500, -0.1500]]))
    """
    mean = attention[:, None] @ polarity
    on_label = attention[..., None] * errors[:, None]
    return on_label, (on_label * (polarity - mean)).sum(-1)


def _errors(batch: Batch, logits: Float[Tensor, "batch rows"]) -> Float[Tensor, "batch rows"]:
    """Minus the gradient of each text's -ln p(label) to its logits: onehot(label) - p."""
    p = with_both_classes(logits).softmax(-1)
    return (one_hot(batch.labels, p.shape[1]) - p)[:, -logits.shape[1] :]
