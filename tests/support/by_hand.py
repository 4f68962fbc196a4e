"""A model whose numbers can be worked out by hand."""

from dataclasses import dataclass

import torch

from heedful.battery import BATTERY, Evidence
from heedful.models.trace import trace
from heedful.types import Batch, Encoded


@dataclass
class Toy:
    """Tokens are their own item logits of class 1; attention and bias are given."""

    weights: torch.Tensor
    bias: float = 0.0

    def embed(self, batch):
        return batch.tokens.double()[..., None]

    def encode(self, embedded, batch):
        return Encoded(embedded, batch.attendable)

    def attend(self, encoded, batch):
        weights = self.weights[:, : encoded.items.shape[1]] * encoded.items
        weights = weights / weights.sum(1, keepdim=True)
        return weights.log(), weights

    def decode(self, encoded, attention):
        logit = (attention * encoded.hidden[..., 0]).sum(1) + self.bias
        return torch.stack([torch.zeros_like(logit), logit], 1)

    def item_logits(self, encoded):
        logit = encoded.hidden[..., 0] + self.bias
        return torch.stack([torch.zeros_like(logit), logit], 2)

    def empty_logits(self, encoded):
        logit = torch.full((len(encoded.hidden),), self.bias, dtype=torch.float64)
        return torch.stack([torch.zeros_like(logit), logit], 1)


def findings_of(name, tokens, weights, bias=0.0, label=1, **options):
    """What a test of the battery measures of one text, by measure."""
    tokens = torch.tensor([tokens])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    batch = Batch(torch.tensor([0]), tokens, mask, mask, torch.tensor([label]))
    model = Toy(torch.tensor([weights]).double(), bias)
    evidence = Evidence(model, trace(model, batch))
    findings = BATTERY[name].function(evidence, torch.Generator().manual_seed(0), **options)
    return {measure: value.item() for measure, value in findings.values.items()}


def sigmoid(x: float) -> float:
    return torch.tensor(x).double().sigmoid().item()
