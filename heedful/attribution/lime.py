"""LIME, by captum: a linear model of the odds around a text."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.integrated_gradients import captum_attr
from heedful.attribution.present_words import odds_of_present, seeded_by
from heedful.types import Model, Trace

WIDTH = 0.25
"""Of the exponential kernel over cosine distances, as in LIME's own code for texts."""
ROWS = 256
"""Variants of a text that are run in one batch."""


def lime(model: Model, trace: Trace, generator: torch.Generator, *, samples: int = 500) -> Float[Tensor, "batch item"]:
    """The weight of each item in a ridge regression of the decision's log odds on which items are present.

    Signed; 0 where there is no item. Ribeiro et al. (2016, arXiv:1602.04938): variants of the text with items absent at
    random, weighed by how near they are to the whole text. Requires captum.

    Args:
        samples: variants of each text.
    """
    attr, odds = captum_attr(), odds_of_present(model, trace)
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr._core.lime import get_exp_kernel_similarity_function

    scores = torch.zeros_like(trace.attention)
    kernel = get_exp_kernel_similarity_function("cosine", WIDTH)
    with seeded_by(generator):
        for row, items in enumerate(trace.encoded.items):
            places = items.nonzero()[:, 0]

            def forward(present: Float[Tensor, "variant some"], row=row, places=places) -> Float[Tensor, " variant"]:
                whole = present.new_zeros(len(present), len(trace.encoded.items[row])).index_copy(1, places, present)
                return odds(whole, torch.full((len(present),), row, device=present.device))

            method = attr.Lime(forward, SkLearnRidge(alpha=1.0), kernel)
            present = torch.ones(1, len(places), dtype=scores.dtype, device=scores.device)
            weights = method.attribute(present, n_samples=samples, perturbations_per_eval=ROWS)
            scores[row, places] = weights[0].to(scores)
    return scores
