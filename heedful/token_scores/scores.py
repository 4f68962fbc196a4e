"""Polarity and attention score of every token of the vocabulary: on its own, and averaged over the texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.items import items_are_tokens
from heedful.data.tokenizer import END, START
from heedful.errors import SettingError
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, LinearModel

CHUNK = 1024
"""Tokens scored at once."""


@dataclass(frozen=True)
class TokenScores:
    """The two scores of each token type, in float64.

    Args:
        polarity: the token's contribution to the logits, s_e = W . h_e: one number for two labels, one per label for
            more.
        attention: its attention score a_e, before softmax and temperature.
    """

    polarity: Float[Tensor, "token *classes"]
    attention: Float[Tensor, " token"]


def item_polarity(model: LinearModel, encoded: Encoded) -> Float[Tensor, "batch item *classes"]:
    """The contribution of each item to the logits, without the bias: W . h.

    For two labels one number, the logit of label 1 minus that of label 0; for more one logit per label. Sun and Lu
    (2020, equation 7).
    """
    logits = model.item_logits(encoded) - model.empty_logits(encoded)[:, None]
    return logits[..., 1] - logits[..., 0] if logits.shape[-1] == 2 else logits


@torch.no_grad()
def global_scores(
    model: LinearModel, vocabulary: int, *, framed: bool = False, device: torch.device | None = None
) -> TokenScores:
    """The scores of every token as the only word of a text.

    With a token-wise encoder these are its scores in every text. Sun and Lu (2020, supplementary material) show them
    next to the local ones for their LSTM. The model must be in evaluation mode.

    Args:
        framed: put the token between a start and an end symbol, if the model's texts have them.
    """
    parts = []
    for tokens in torch.arange(vocabulary, device=device).split(CHUNK):
        seen = trace(model, _one_token_texts(tokens, framed))
        parts.append((item_polarity(model, seen.encoded)[seen.encoded.items], seen.scores[seen.encoded.items]))
    polarity, attention = (torch.cat(part).double() for part in zip(*parts, strict=True))
    return TokenScores(polarity, attention)


@torch.no_grad()
def local_scores(model: LinearModel, batches: Iterable[Batch], vocabulary: int) -> TokenScores:
    """The mean score of every token over its occurrences in the texts; NaN for a token that never occurs.

    Sun and Lu (2020, supplementary material). Only attendable positions count as occurrences. The model must be in
    evaluation mode.
    """
    sums = reduce(torch.add, (_sums(model, batch, vocabulary) for batch in batches))
    polarity, attention, count = sums[:, :-2], sums[:, -2], sums[:, -1]
    means = polarity / count[:, None]
    return TokenScores(means[:, 0] if means.shape[1] == 1 else means, attention / count)


def _sums(model: LinearModel, batch: Batch, vocabulary: int) -> Float[Tensor, "token columns"]:
    """Sums over the occurrences of each token: polarity (one or more columns), attention score, and 1 (the count)."""
    seen = trace(model, batch)
    if not items_are_tokens(seen):
        raise SettingError("local scores are of tokens; this model attends to sentences. Take its global scores.")
    items = seen.encoded.items
    polarity, scores = item_polarity(model, seen.encoded)[items], seen.scores[items]
    columns = torch.column_stack([polarity, scores, torch.ones_like(scores)]).double()
    return columns.new_zeros(vocabulary, columns.shape[1]).index_add(0, batch.tokens[items], columns)


def _one_token_texts(tokens: Int[Tensor, " token"], framed: bool) -> Batch:
    """Each token as a text of its own."""
    texts = tokens[:, None]
    if framed:
        texts = torch.cat([torch.full_like(texts, START), texts, torch.full_like(texts, END)], 1)
    mask = torch.ones_like(texts, dtype=torch.bool)
    attendable = mask.clone()
    if framed:
        attendable[:, [0, 2]] = False
    labels = torch.zeros_like(tokens)  # never read
    return Batch(tokens, texts, mask, attendable, labels, sentence=torch.zeros_like(texts))
