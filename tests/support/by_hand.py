"""A model whose numbers can be worked out by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from heedful.battery import BATTERY, Context, Evidence
from heedful.models.trace import trace
from heedful.types import Batch, Encoded


@dataclass
class Bag:
    """A bag of words: each has its own logit of class 1 and its own attention score, whatever stands beside it."""

    logits: torch.Tensor
    scores: torch.Tensor
    bias: float = 0.0

    def embed(self, batch):
        return self.logits[batch.tokens][..., None]

    def encode(self, embedded, batch):
        return Encoded(embedded, batch.attendable_mask)

    def attend(self, encoded, batch):
        scores = self.scores[batch.tokens]
        return scores, scores.masked_fill(~encoded.items, -torch.inf).softmax(-1)

    def decode(self, encoded, attention):
        logit = (attention * encoded.hidden[..., 0]).sum(1) + self.bias
        return torch.stack([torch.zeros_like(logit), logit], 1)

    def item_logits(self, encoded):
        logit = encoded.hidden[..., 0] + self.bias
        return torch.stack([torch.zeros_like(logit), logit], 2)

    def empty_logits(self, encoded):
        logit = torch.full((len(encoded.hidden),), self.bias, dtype=torch.float64)
        return torch.stack([torch.zeros_like(logit), logit], 1)


def batch_of(texts: int, words: int, label: int = 1) -> Batch:
    """Texts of as many words each, all of them different."""
    tokens = torch.arange(texts * words).reshape(texts, words)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    return Batch(torch.arange(texts), tokens, mask, mask, torch.full((texts,), label))


def evidence_by_hand(
    logits: Sequence[float],
    weights: Sequence[float] | None = None,
    *,
    scores: Sequence[float] | None = None,
    bias: float = 0.0,
    label: int = 1,
    seed: int = 0,
) -> Evidence:
    """One text of words with these logits and these attention weights, or the softmax of these scores."""
    given = torch.tensor(scores).double() if weights is None else torch.tensor(weights).double().log()
    model = Bag(torch.tensor(logits).double(), given, bias)
    seen = trace(model, batch_of(1, len(logits), label))
    return Evidence(model, seen, Context(), torch.Generator().manual_seed(seed))


def findings_in(name: str, evidence: Evidence, **options) -> dict[str, float]:
    """What a test of the battery measures of the one text, by measure."""
    findings = BATTERY[name].function(evidence, torch.Generator().manual_seed(0), **options)
    return {measure: value.item() for measure, value in findings.values.items()}


def findings_of(name, logits, weights, bias=0.0, label=1, **options):
    """What a test of the battery measures of one text of words with these logits and weights, by measure."""
    return findings_in(name, evidence_by_hand(logits, weights, bias=bias, label=label), **options)


def sigmoid(x: float) -> float:
    return torch.tensor(x).double().sigmoid().item()
