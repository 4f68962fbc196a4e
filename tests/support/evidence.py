"""One batch through a model of each kind, as the tests of the battery see it."""

import torch

from heedful.battery import Evidence
from heedful.models.trace import trace
from support.models import give_attention, make, make_batch

KINDS = {
    "token-wise": {"encoder": "average"},
    "recurrent": {"encoder": "bilstm"},
    "five classes": {"encoder": "cnn", "classes": 5},
    "sentences": {"encoder": "hierarchical"},
    "query": {"encoder": "bilstm", "classes": 5, "has_query": True, "attention": "dot"},
    "not linear": {"encoder": "bilstm", "has_query": True, "head": "tanh"},
    "uniform": {"encoder": "identity", "attention": "uniform"},
    "frozen": {"encoder": "rnn", "attention": "frozen"},
}


def evidence_of_kind(kind: str, batch=None) -> Evidence:
    choice = KINDS[kind]
    model = make(**choice)
    batch = batch or make_batch(choice.get("has_query", False))
    if choice.get("attention") == "frozen" and batch.imposed_attention is None:
        batch = give_attention(batch, hierarchical=False)
    with torch.no_grad():
        return Evidence(model, trace(model, batch))


def evidence_of(model, batch=None) -> Evidence:
    with torch.no_grad():
        return Evidence(model, trace(model, batch or make_batch()))


def seeded(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
