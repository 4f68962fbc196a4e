"""What a Hugging Face model attends to elsewhere, as rankings: by rollout through its layers, or by value norm."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import SettingError
from heedful.models.transformers.model import TransformerModel
from heedful.models.transformers.sites import Site
from heedful.types import Model, Trace


def rollout(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """How much of each word reaches the row that is read, through all layers; 0 where there is no word.

    The product of all layers' attention, each the mean over heads and halved with the identity for the residual
    connection. Abnar and Zuidema (2020, arXiv:2005.00928).
    """
    return _attention_at("rollout", model, trace, "rollout")


def value_norm(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """The length of what each word adds to the row that is read, in the last layer; 0 where there is no word.

    Kobayashi et al. (2020, arXiv:2004.10102): a weight says little where the value that it multiplies is short.
    """
    return _attention_at("value-norm", model, trace, "value_norm")


def _attention_at(
    kind: Literal["rollout", "value-norm"], model: Model, trace: Trace, ranking: str
) -> Float[Tensor, "batch item"]:
    if not isinstance(model, TransformerModel):
        raise SettingError(
            f"ranking '{ranking}' is for Hugging Face models; this model is of class {type(model).__name__}. Leave it "
            "out."
        )
    other = model.at(Site(kind))
    with torch.no_grad():
        _, attention = other.attend(other.encode(trace.embedded, trace.batch), trace.batch)
    return attention.masked_fill(~trace.encoded.items, 0.0)
