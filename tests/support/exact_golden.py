"""Jain and Wallace's tiny models, from their stored weights: attention and item logits without any model of ours."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from support.folders import golden_folder

NAMES = ("lstm", "average")


@dataclass(frozen=True)
class Golden:
    attention: Tensor
    item_logits: Tensor
    items: Tensor
    stored: dict[str, Tensor]

    def linear(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.attention, self.item_logits, self.items


def load(name: str) -> Golden:
    arrays = np.load(golden_folder("full") / f"jw_sst_tiny_{name}.npz")
    stored = {key: torch.from_numpy(arrays[key]) for key in arrays.files}
    tokens, lengths = stored["X"].long(), stored["lengths"].long()
    weight, bias = stored["dec.linear_1.weight"].double(), stored["dec.linear_1.bias"].double()
    encode = _lstm(stored) if name == "lstm" else _average(stored)
    margin = torch.zeros(tokens.shape).double()
    for row, length in enumerate(lengths.tolist()):
        embedded = stored["enc.embedding.weight"].double()[tokens[row, :length]]
        margin[row, :length] = (encode(embedded) @ weight.T + bias).squeeze(-1)
    place = torch.arange(tokens.shape[1])
    items = (place > 0) & (place < lengths.unsqueeze(-1) - 1)
    return Golden(stored["attn_f64"], torch.stack([torch.zeros_like(margin), margin], -1), items, stored)


def _average(stored: dict[str, Tensor]):
    weight, bias = stored["enc.projection.weight"].double(), stored["enc.projection.bias"].double()
    return lambda embedded: torch.tanh(embedded @ weight.T + bias)


def _lstm(stored: dict[str, Tensor]):
    names = {key.removeprefix("enc.rnn."): key for key in stored if key.startswith("enc.rnn.")}
    size = stored["enc.rnn.weight_hh_l0"].shape[1]
    module = torch.nn.LSTM(stored["enc.embedding.weight"].shape[1], size, bidirectional=True).double()
    module.load_state_dict({ours: stored[theirs].double() for ours, theirs in names.items()})
    return lambda embedded: module(embedded)[0].detach()
