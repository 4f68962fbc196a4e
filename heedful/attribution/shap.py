"""SHAP: Shapley values of the items, by captum, from sampled orders."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.integrated_gradients import captum_attr
from heedful.attribution.present_words import odds_of_present, seeded_by
from heedful.types import Model, Trace

ROWS = 512
"""Variants of texts that are run in one batch."""


def shap(model: Model, trace: Trace, generator: torch.Generator, *, orders: int = 25) -> Float[Tensor, "batch item"]:
    """The mean, over random orders, of what each item adds to the decision's log odds when it joins those before it.

    Signed; 0 where there is no item. They add up to odds(text) - odds(all items absent). Lundberg and Lee (2017,
    arXiv:1705.07874) name them SHAP values; sampled as by Strumbelj and Kononenko (2010). Requires captum.

    Args:
        orders: in which items join, drawn at random.
    """
    items = trace.encoded.items
    method = captum_attr().ShapleyValueSampling(odds_of_present(model, trace))
    texts = torch.arange(len(items), device=items.device)
    with seeded_by(generator):
        values = method.attribute(
            items.to(trace.attention),
            additional_forward_args=(texts,),
            feature_mask=torch.arange(items.shape[1], device=items.device)[None],
            n_samples=orders,
            perturbations_per_eval=max(1, ROWS // len(items)),
        )
    return values.to(trace.attention).masked_fill(~items, 0.0)
