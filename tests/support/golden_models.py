"""The reference implementation's tiny models, with their weights loaded into ours, and what they computed."""

import json
from dataclasses import dataclass

import numpy as np
import torch

from heedful.models.attention_model import AttentionModel, build_model
from heedful.settings import NetworkSettings
from heedful.types import Batch
from support.folders import golden_folder

NAMES = ("jw_sst_tiny_lstm", "jw_sst_tiny_average")


@dataclass(frozen=True)
class Golden:
    model: AttentionModel
    batch: Batch
    results: dict[str, np.ndarray]


def load_golden(name: str, source: str) -> Golden:
    return load_full(name) if source == "full" else load_extract(name)


def load_extract(name: str) -> Golden:
    """Four texts, part of this repository."""
    stored = json.loads((golden_folder("extract") / f"{name}.json").read_text())
    weights = {k: np.array(v, dtype=np.float32) for k, v in stored["weights"].items()}
    results = {k: np.array(v) for k, v in stored["results"].items()}
    return Golden(load_weights(name, weights), batch_of(np.array(stored["X"]), np.array(stored["lengths"])), results)


def load_full(name: str) -> Golden:
    """All 64 texts."""
    stored = dict(np.load(golden_folder("full") / f"{name}.npz"))
    return Golden(load_weights(name, stored), batch_of(stored["X"], stored["lengths"], stored["y"]), stored)


def load_weights(name: str, stored: dict[str, np.ndarray], prefix: str = "") -> AttentionModel:
    """Our model in float64 with the reference's weights: its module names against ours."""
    encoder = "bilstm" if "lstm" in name else "average"
    vocabulary, embed_size = stored[f"{prefix}enc.embedding.weight"].shape
    settings = NetworkSettings(encoder=encoder, activation="tanh", embed_size=embed_size, hidden_size=16)
    model = build_model(settings, vocabulary, 2).double()
    names = {"embedding.weight": "enc.embedding.weight", "head.linear.weight": "dec.linear_1.weight"}
    names |= {"head.linear.bias": "dec.linear_1.bias", "attention.score.weight": "dec.attention.attn2.weight"}
    names |= {f"attention.hidden.{part}": f"dec.attention.attn1.{part}" for part in ("weight", "bias")}
    if encoder == "average":
        names |= {f"encoder.layers.0.{part}": f"enc.projection.{part}" for part in ("weight", "bias")}
    else:
        for part in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
            names |= {f"encoder.ahead.{part}": f"enc.rnn.{part}", f"encoder.back.{part}": f"enc.rnn.{part}_reverse"}
    state = {ours: torch.tensor(stored[prefix + theirs]).double() for ours, theirs in names.items()}
    model.load_state_dict(state)
    return model.eval()


def batch_of(ids: np.ndarray, lengths: np.ndarray, labels: np.ndarray | None = None) -> Batch:
    """Their padded ids, with a start and an end symbol that are read but never attended."""
    tokens, known = torch.tensor(ids).long(), torch.tensor(lengths).long()[:, None]
    place = torch.arange(tokens.shape[1])
    attendable_mask = (place > 0) & (place < known - 1)
    gold = torch.zeros(len(tokens)) if labels is None else torch.tensor(labels)
    return Batch(torch.arange(len(tokens)), tokens, place < known, attendable_mask, gold.long())
