"""Integrated gradients, by captum."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.gradient_x_input import odds_at
from heedful.attribution.items import sum_by_item
from heedful.errors import SettingError
from heedful.types import Model, Trace

ROWS = 256
"""Texts run in one batch; each stands in it several times, on its way from the baseline."""


def integrated_gradients(model: Model, trace: Trace, *, steps: int = 50) -> Float[Tensor, "batch item"]:
    """How much each item's embeddings add to the log odds of the decision, from zeros on; 0 where there is no item.

    sum over the item's tokens t and dimensions d of embedded[t, d] x the integral, over a from 0 to 1, of
    (d odds / d embedded[t, d]) at a x embedded.

    Signed; but for the error of the integral they add up to odds(text) - odds(all embeddings 0), apart from what start
    and end symbols add. Sundararajan et al. (2017, arXiv:1703.01365). Requires captum.

    Args:
        steps: points at which the integral is taken, by Gauss and Legendre.
    """
    method = captum_attr().IntegratedGradients(_forward(model, trace))
    embedded = trace.embedded.detach()
    texts = torch.arange(len(embedded), device=embedded.device)
    with torch.backends.cudnn.flags(enabled=False):
        parts = method.attribute(
            embedded, additional_forward_args=(texts,), n_steps=steps, internal_batch_size=max(ROWS, len(embedded))
        )
    return sum_by_item(trace, parts.detach().to(embedded).sum(-1))


def _forward(model: Model, trace: Trace) -> Callable[[Tensor, Tensor], Tensor]:
    def forward(embedded: Float[Tensor, "row time embed"], texts: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
        return odds_at(model, trace, embedded, texts)

    return forward


def captum_attr() -> ModuleType:
    """Captum's attribution methods, or what to do where it is not installed."""
    try:
        return import_module("captum.attr")
    except ImportError as error:
        raise SettingError(
            f"this attribution needs the package captum, which cannot be imported ({error}). Install it: "
            "pip install 'heedful[captum]'."
        ) from error
