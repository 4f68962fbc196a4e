"""Common attribution methods to compare attention with; each is a choice of `--rankings`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.deletion import is_kept
from heedful.attribution.gradient import odds_at, smoothgrad
from heedful.attribution.items import item_of_token, sum_by_item
from heedful.errors import SettingError
from heedful.models.abilities import several_heads
from heedful.models.hugging_face.sites import Site
from heedful.types import Model, Trace

# The odds of a decision where some words are absent: what LIME and SHAP ask of a model.

Forward = Callable[[Float[Tensor, "row item"], Int[Tensor, " row"]], Float[Tensor, " row"]]


def log_odds_of_masked(model: Model, trace: Trace) -> Forward:
    """From which items are present, 1 or 0, and the text of each row, to the log odds of that text's decision.

    An absent item has zeros for embeddings, as integrated gradients begin from.
    """
    word_ids = item_of_token(trace)

    def odds(present: Float[Tensor, "row item"], texts: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
        keep = is_kept(word_ids[texts], present > 0.5)
        with torch.no_grad():
            return odds_at(model, trace, trace.embedded.detach()[texts] * keep[..., None], texts)

    return odds


@contextmanager
def seeded_by(generator: torch.Generator) -> Iterator[None]:
    """Inside, torch's own generator, from which captum draws, continues this one; outside it is as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        yield


# Integrated gradients, by captum.

ROWS = 256
"""Variants of texts run in one batch."""


def integrated_gradients(model: Model, trace: Trace, *, steps: int = 50) -> Float[Tensor, "batch item"]:
    """How much each item's embeddings add to the log odds of the decision, from zeros on; 0 outside items.

    sum over the item's tokens t and dimensions d of embedded[t, d] x the integral, over a from 0 to 1, of
    (d odds / d embedded[t, d]) at a x embedded.

    Signed; except for the error of the integral they add up to odds(text) - odds(all embeddings 0), apart from what
    start and end symbols add. Sundararajan et al. (2017, arXiv:1703.01365). Requires captum.

    Args:
        steps: points at which the integral is taken, by Gauss and Legendre.
    """
    method = captum_attr().IntegratedGradients(partial(odds_at, model, trace))
    embedded = trace.embedded.detach()
    texts = torch.arange(len(embedded), device=embedded.device)
    with torch.backends.cudnn.flags(enabled=False):
        parts = method.attribute(
            embedded, additional_forward_args=(texts,), n_steps=steps, internal_batch_size=max(ROWS, len(embedded))
        )
    return sum_by_item(trace, parts.detach().to(embedded).sum(-1))


def captum_attr() -> ModuleType:
    """Captum's attribution methods, or what to do where it is not installed."""
    try:
        return import_module("captum.attr")
    except ImportError as error:
        raise SettingError(
            f"this attribution needs the package captum, which cannot be imported ({error}). Install it: "
            "pip install 'heedful[captum]'."
        ) from error


# LIME, by captum: a linear model of the odds around a text.

WIDTH = 0.25
"""Of the exponential kernel over cosine distances, as in LIME's own code for texts."""


def lime(model: Model, trace: Trace, generator: torch.Generator, *, samples: int = 500) -> Float[Tensor, "batch item"]:
    """The weight of each item in a ridge regression of the decision's log odds on which items are present.

    Signed; 0 outside items. Ribeiro et al. (2016, arXiv:1602.04938): variants of the text with items absent at
    random, weighted by how near they are to the whole text. Requires captum.

    Args:
        samples: variants of each text.
    """
    attr, odds = captum_attr(), log_odds_of_masked(model, trace)
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


# SHAP: Shapley values of the items, by captum, from sampled orders.


def shap(model: Model, trace: Trace, generator: torch.Generator, *, orders: int = 25) -> Float[Tensor, "batch item"]:
    """The mean, over random orders, of what each item adds to the decision's log odds when it joins those before it.

    Signed; 0 outside items. They add up to odds(text) - odds(all items absent). Lundberg and Lee (2017,
    arXiv:1705.07874) name them SHAP values; sampled as by Strumbelj and Kononenko (2010). Requires captum.

    Args:
        orders: in which items join, drawn at random.
    """
    items = trace.encoded.items
    method = captum_attr().ShapleyValueSampling(log_odds_of_masked(model, trace))
    texts = torch.arange(len(items), device=items.device)
    with seeded_by(generator):
        values = method.attribute(
            items.to(trace.attention),
            additional_forward_args=(texts,),
            feature_mask=torch.arange(items.shape[1], device=items.device)[None],
            n_samples=orders,
            perturbations_per_eval=max(1, 2 * ROWS // len(items)),
        )
    return values.to(trace.attention).masked_fill(~items, 0.0)


# What a Hugging Face model attends to elsewhere, as rankings: by rollout through its layers, or by value norm.


def rollout(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """How much of each word reaches the row that is read, through all layers; 0 outside words.

    The product of all layers' attention, each the mean over heads and halved with the identity for the residual
    connection. Abnar and Zuidema (2020, arXiv:2005.00928).
    """
    return _attention_at("rollout", model, trace, "rollout")


def value_norm(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """The length of what each word adds to the row that is read, in the last layer; 0 outside words.

    Kobayashi et al. (2020, arXiv:2004.10102): a weight says little where the value that it multiplies is short.
    """
    return _attention_at("value-norm", model, trace, "value_norm")


def _attention_at(
    kind: Literal["rollout", "value-norm"], model: Model, trace: Trace, ranking: str
) -> Float[Tensor, "batch item"]:
    if (own := several_heads(model)) is None:
        raise SettingError(
            f"ranking '{ranking}' is for Hugging Face models; this model is of class {type(model).__name__}. Leave it "
            "out."
        )
    other = own.at(Site(kind))
    with torch.no_grad():
        _, attention = other.attend(other.encode(trace.embedded, trace.batch), trace.batch)
    return attention.masked_fill(~trace.encoded.items, 0.0)


Attribution = Callable[[Model, Trace, torch.Generator], Float[Tensor, "batch item"]]

ATTRIBUTIONS: dict[str, Attribution] = {
    "integrated_gradients": lambda model, trace, generator: integrated_gradients(model, trace),
    "smoothgrad": smoothgrad,
    "lime": lime,
    "shap": shap,
    "rollout": lambda model, trace, generator: rollout(model, trace),
    "value_norm": lambda model, trace, generator: value_norm(model, trace),
}
"""From a model, what it made of a batch and a generator to a signed score of each item, 0 outside items.

Every audit tests attention, attention x gradient, gradient x input and leave-one-out. Only Hugging Face models have
`rollout` and `value_norm`.
"""
