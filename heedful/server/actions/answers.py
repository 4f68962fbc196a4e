"""The answer of an action that ends with other attention."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.models.transformers.model import TransformerModel
from heedful.server.actions.action import Action
from heedful.server.contract import Acted, Solver
from heedful.server.predictions import PredictionChange, divergence, prediction_change
from heedful.server.reading import ReadText


def answer_with(
    action: Action,
    read: ReadText,
    attention: Float[Tensor, "1 item"],
    logits: Float[Tensor, "1 classes"],
    *,
    solver: Solver = "exact",
    before: str,
    after: str = "",
    is_settable: bool = True,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Acted:
    """The answer where an action imposes an attention.

    Args:
        before, after: sentences before (it ends with a colon) and after that on what happens to the prediction.
        is_settable: whether `decode` of that attention gives these logits.
        more: further fields of the answer.
    """
    reached = prediction_change(read, logits)
    fields = {
        "action": action.name,
        "solver": solver,
        "sentence": f"{before} {reached.move} {after}".rstrip(),
        "paper": action.paper,
        "attention": read.listed(attention),
        "is_settable": is_settable,
        "jsd": divergence(read, attention),
    }
    return Acted(**{**fields, **predicted(reached), **more})


def predicted(reached: PredictionChange) -> dict[str, Any]:
    """What an answer says of the prediction."""
    return {
        "logits": reached.logits,
        "probabilities": reached.probabilities,
        "predicted": reached.predicted,
        "tvd": reached.tvd,
        "is_changed": reached.is_changed,
    }


def kept_attention(read: ReadText, keep: Bool[Tensor, "1 item"]) -> Float[Tensor, "1 item"]:
    """The weights of the kept items, renormalised; 0 throughout where none of them has weight."""
    return read.evidence.log_attention.masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0.0)


def is_of_one_head(read: ReadText) -> bool:
    """Whether there is a single attention, so that what imposes it elsewhere and the sliders agree."""
    return not isinstance(read.evidence.model, TransformerModel)
