"""Minus the gradient of the loss to each token's polarity and attention score, summed over the texts it occurs in."""

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
"""Batch size: texts whose gradients are summed at once."""


@dataclass(frozen=True)
class TokenGradients:
    """Minus the gradients of a loss to the two scores of each token, summed over the token's occurrences.

    Minus, so that they point where gradient descent goes.

    Args:
        polarity: to its polarity at fixed attention: Sun and Lu's (2020) pi(e), equation 16.
        score: to its attention score: their rho(e), equation 20, divided by the temperature.
    """

    polarity: Float[Tensor, "token rows"]
    score: Float[Tensor, " token"]


def token_gradients(
    split: EncodedSplit,
    polarity: Float[Tensor, "token rows"],
    scores: Float[Tensor, " token"],
    bias: Float[Tensor, " rows"],
    temperature: float,
) -> TokenGradients:
    """Minus the gradients of the summed loss of a split to the polarity and attention score of every token.

    For a model without context: a token has the same two scores in every text, so they are looked up and the model need
    not be run.
    """
    to_polarity, to_score = torch.zeros_like(polarity), torch.zeros_like(scores)
    for batch in read(split, SIZE, scores.device):
        attention = masked_softmax(scores[batch.tokens] / temperature, batch.attendable)
        item_polarity = polarity[batch.tokens]
        errors = _errors(batch, (attention[:, None] @ item_polarity)[:, 0] + bias)
        item_to_polarity, item_to_score = item_gradients(attention, item_polarity, errors)
        tokens = batch.tokens[batch.attendable]
        to_polarity.index_add_(0, tokens, item_to_polarity[batch.attendable])
        to_score.index_add_(0, tokens, item_to_score[batch.attendable] / temperature)
    return TokenGradients(to_polarity, to_score)


def item_gradients(
    attention: Float[Tensor, "batch item"],
    polarity: Float[Tensor, "batch item rows"],
    errors: Float[Tensor, "batch rows"],
) -> tuple[Float[Tensor, "batch item rows"], Float[Tensor, "batch item"]]:
    """Minus the gradients of each text's loss to the polarities and to the attention scores of its items.

    alpha_j r, and alpha_j r . (s_j - s) with s = sum over items of alpha_j s_j; the latter sum to 0 over the items.

    Args:
        errors: r, minus the gradient of the loss to the logits.

    >>> attention, polarity = torch.tensor([[0.75, 0.25]]), torch.tensor([[[1.0], [-1.0]]])
    >>> item_gradients(attention, polarity, torch.tensor([[0.4]]))  # s = 0.5
    (tensor([[[0.3000], [0.1000]]]), tensor([[ 0.1500, -0.1500]]))
    """
    mean = attention[:, None] @ polarity
    to_polarity = attention[..., None] * errors[:, None]
    return to_polarity, (to_polarity * (polarity - mean)).sum(-1)


def _errors(batch: Batch, logits: Float[Tensor, "batch rows"]) -> Float[Tensor, "batch rows"]:
    """Minus the gradient of each text's -ln p(label) to its logits: onehot(label) - p."""
    p = with_both_classes(logits).softmax(-1)
    return (one_hot(batch.labels, p.shape[1]) - p)[:, -logits.shape[1] :]
