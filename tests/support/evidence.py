"""One batch through a model of each kind, as the tests of the battery see it."""

import torch

from heedful.battery import Context, Evidence
from heedful.battery.word_substitution import Replacements, known_replacements
from heedful.data.synonyms import Synonym, Synonyms
from heedful.models.trace import trace
from heedful.types import Batch
from support.models import VOCABULARY, give_attention, make, make_batch

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

COUNTS = torch.tensor([[0, 0], [9, 9], [9, 0], [0, 9]]).repeat(3, 1)[:VOCABULARY]
"""How often each token occurs under two labels: in turn it says nothing, is neutral, or indicates the one or other."""


WORDS = ("<pad>", "<unk>", "<start>", "<end>", *(f"word{number}" for number in range(4, VOCABULARY)))
SYNONYMS = Synonyms({word: Synonym(WORDS[-1 - place], 1.0) for place, word in enumerate(WORDS[4:])}, "Made up.")
"""Each word is a synonym of another."""


def make_context() -> Context:
    replacements = (Replacements.of(WORDS, SYNONYMS), SYNONYMS.source)
    known = {(known_replacements, "both", "", None): replacements}
    return Context(labels=("bad", "good"), vocabulary=WORDS, token_counts=lambda: COUNTS, computed=known)


def evidence_of_kind(kind: str, batch: Batch | None = None) -> Evidence:
    choice = KINDS[kind]
    model = make(**choice)
    batch = batch or make_batch(choice.get("has_query", False))
    if choice.get("attention") == "frozen" and batch.imposed_attention is None:
        batch = give_attention(batch, hierarchical=False)
    with torch.no_grad():
        return Evidence(model, trace(model, batch), make_context())


def evidence_of(model, batch: Batch | None = None) -> Evidence:
    with torch.no_grad():
        return Evidence(model, trace(model, batch or make_batch()))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
