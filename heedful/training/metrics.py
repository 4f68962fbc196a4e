"""How well a model predicts: accuracy, F1 and ROC-AUC of a split."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.data.batching import EncodedSplit, read
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.types import Batch, Trace

READ_SIZE = 64
"""Batch size for evaluation: 32 to 128 rows stay in cache, larger batches are slower."""


@dataclass(frozen=True)
class Outputs:
    """Attention and logits of every text of a split, in the order of the split.

    Args:
        leave_one_out: how far the prediction moves without each item, where that was computed.
    """

    attention: tuple[Float[Tensor, " _"], ...]
    logits: Float[Tensor, "text classes"]
    leave_one_out: tuple[Float[Tensor, " _"], ...] | None = None


def outputs(
    model: AttentionModel,
    split: EncodedSplit,
    imposed_attention: Sequence[Tensor] | None = None,
    each: Callable[[Batch, Trace], None] | None = None,
) -> Outputs:
    """Attention (one value per position, without padding) and logits of every text, computed in evaluation mode.

    Args:
        each: is given every batch and what the model makes of it.
    """
    device = model.device
    attention: dict[int, Tensor] = {}
    logits: dict[int, Tensor] = {}
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for batch in read(split, READ_SIZE, device, imposed_attention):
            seen = trace(model, batch)
            if each:
                each(batch, seen)
            last = seen.encoded.items.long().cumsum(1).argmax(1) + 1
            for row, index in enumerate(batch.index.tolist()):
                attention[index] = seen.attention[row, : last[row]].cpu()
                logits[index] = seen.logits[row].cpu()
    model.train(was_training)
    order = range(len(split.texts))
    return Outputs(tuple(attention[i] for i in order), torch.stack([logits[i] for i in order]))


def _f1(labels: np.ndarray, probabilities: np.ndarray, average: Literal["binary", "macro"]) -> float:
    from sklearn.metrics import f1_score  # takes longer to import than an audit to be read

    predicted = probabilities.argmax(1)
    return float(f1_score(labels, predicted, average=average, zero_division=0))  # pyright: ignore[reportArgumentType]


def _roc_auc(labels: np.ndarray, probabilities: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    classes = probabilities.shape[1]
    if len(np.unique(labels)) < classes:
        return math.nan  # undefined where a class is missing
    if classes == 2:
        return float(roc_auc_score(labels, probabilities[:, 1]))
    return float(roc_auc_score(labels, probabilities, multi_class="ovr", labels=np.arange(classes)))


METRICS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda labels, probabilities: float((labels == probabilities.argmax(1)).mean()),
    "f1": lambda labels, probabilities: _f1(labels, probabilities, "macro" if probabilities.shape[1] > 2 else "binary"),
    "macro_f1": lambda labels, probabilities: _f1(labels, probabilities, "macro"),
    "roc_auc": _roc_auc,
}
"""Each takes labels [text] and probabilities [text classes].

f1 is that of class 1 for two classes, macro for more, in which each class counts the same; roc_auc is the area under
the ROC curve of class 1, for more classes each against the rest, averaged.
"""


def metrics(logits: Float[Tensor, "text classes"], labels: Int[Tensor, " text"]) -> dict[str, float]:
    """Every metric by name.

    >>> metrics(torch.tensor([[0.0, 2.0], [0.0, -1.0], [0.0, 1.0], [0.0, -2.0]]), torch.tensor([1, 0, 0, 0]))
    {'accuracy': 0.75, 'f1': 0.666..., 'macro_f1': 0.733..., 'roc_auc': 1.0}
    """
    probabilities = logits.double().softmax(-1).numpy()
    return {name: metric(labels.numpy(), probabilities) for name, metric in METRICS.items()}
