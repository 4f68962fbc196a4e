"""Gradient x input through the whole model, attention included: what most tools call by that name."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.gradient import log_odds
from heedful.attribution.items import sum_by_item
from heedful.data.batching import rows_of_batch
from heedful.types import Model, Trace


def gradient_x_input(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """How much each item's embeddings speak for the decision, to first order; signed, 0 where there is no item.

    sum over the item's tokens t and dimensions d of (d odds / d embedded[t, d]) embedded[t, d], where odds is the log
    odds of the predicted class.

    `input_gradient` differs: it holds attention fixed, as Jain and Wallace do, and has no sign. Here attention changes
    with the embeddings, as in captum, ferret and inseq. Shrikumar et al. (2016, arXiv:1605.01713).
    """
    gradient = odds_gradient(model, trace, trace.embedded.detach())
    return sum_by_item(trace, (gradient * trace.embedded.detach()).sum(-1))


def odds_gradient(
    model: Model, trace: Trace, embedded: Float[Tensor, "batch time embed"]
) -> Float[Tensor, "batch time embed"]:
    """The gradient, at these embeddings, of the log odds of the class that is predicted at the trace's own."""
    texts = torch.arange(len(embedded), device=embedded.device)
    # cudnn's recurrent layers can run backward only in training mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = embedded.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(odds_at(model, trace, embedded, texts).sum(), embedded)
    return gradient


def odds_at(
    model: Model, trace: Trace, embedded: Float[Tensor, "row time embed"], texts: Int[Tensor, " row"]
) -> Float[Tensor, " row"]:
    """The log odds of the class that is predicted at the trace's own embeddings, at others.

    Args:
        texts: which row of the trace each row of embeddings is of; there may be several of a text.
    """
    batch = rows_of_batch(trace.batch, texts)
    encoded = model.encode(embedded, batch)
    _, attention = model.attend(encoded, batch)
    return log_odds(model.decode(encoded, attention), trace.logits.argmax(-1)[texts])
