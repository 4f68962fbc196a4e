"""Importance by gradients: of the prediction to an item's embeddings, and to its attention weight."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attribution.items import sum_by_item
from heedful.data.batching import rows_of_batch
from heedful.models.abilities import linear
from heedful.types import Encoded, LinearModel, Model, Trace

Graph = tuple[Float[Tensor, "batch time embed"], Encoded]
"""Embedded texts and their states, through which several gradients can be taken."""


def encoded_graph(model: Model, trace: Trace) -> Graph:
    """The texts encoded once more, so that gradients can be taken through their states."""
    # cudnn's recurrent layers can run backward only in training mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = trace.embedded.detach().requires_grad_()
        return embedded, model.encode(embedded, trace.batch)


def input_gradients(
    model: Model,
    trace: Trace,
    weightings: Sequence[tuple[Float[Tensor, "batch item"], Int[Tensor, " batch"]]],
    graph: Graph | None = None,
) -> list[Float[Tensor, "batch item"]]:
    """How much a class's probability changes as an item's embeddings grow, under several attentions; 0 for no item.

    sum over the item's tokens t and dimensions d of (dp / d embedded[t, d]) embedded[t, d], with attention held fixed
    and p the probability of the class: positive where the item is evidence for it. Texts are encoded once.

    Jain and Wallace (2019, arXiv:1902.10186, section 4.1, algorithm 1), who take its size for the predicted class: the
    derivative to the one entry that is 1 in the word's one-hot vector, with the graph cut at attention. A sentence
    takes the sum over its tokens.

    Args:
        weightings: each attention with the class of each text whose probability is differentiated.
        graph: graph of these texts, if there is one already; it is kept.
    """
    embedded, encoded = graph or encoded_graph(model, trace)
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        several = [log_odds(model.decode(encoded, weights.detach()), classes) for weights, classes in weightings]
        gradients = [
            torch.autograd.grad(odds, embedded, _slope(odds.detach()), retain_graph=True)[0] for odds in several
        ]
    return [sum_by_item(trace, (gradient * trace.embedded.detach()).sum(-1)) for gradient in gradients]


def weight_gradient(model: Model, trace: Trace) -> Float[Tensor, "batch item"]:
    """How the predicted class's probability changes with each attention weight, signed; 0 outside items.

    dp_y / d attention_i = p_y (s_iy - sum over k of p_k s_ik), with s = item_logits - empty_logits, y the prediction.

    Each weight is a free variable: neither the softmax nor a renormalization is differentiated. Serrano and Smith
    (2019, arXiv:1906.03731, section 5.2) rank by it, and by its product with attention. A model that is not linear
    after attention is differentiated through its `decode`.
    """
    predicted = trace.logits.argmax(-1)
    if (head := linear(model)) is not None:
        with torch.no_grad():
            gradient = _closed_form(head, trace, predicted)
    else:
        with torch.enable_grad():
            attention = trace.attention.detach().requires_grad_()
            odds = log_odds(model.decode(trace.encoded, attention), predicted)
            (gradient,) = torch.autograd.grad(odds, attention, _slope(odds.detach()))
    return gradient.where(trace.encoded.items, 0.0)


def _closed_form(model: LinearModel, trace: Trace, predicted: Int[Tensor, " batch"]) -> Float[Tensor, "batch item"]:
    p = trace.logits.softmax(-1)
    scores = model.item_logits(trace.encoded) - model.empty_logits(trace.encoded)[:, None]
    own = scores.gather(-1, predicted[:, None, None].expand(-1, scores.shape[1], 1))
    # The predicted class's own term is 0 exactly, so nothing is lost where its probability is nearly 1.
    return p.gather(-1, predicted[:, None]) * ((own - scores) @ p[..., None])[..., 0]


def log_odds(logits: Float[Tensor, "*batch classes"], classes: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """ln(p / (1 - p)) of the probability p of that class: its logit minus the log-sum-exp of the others.

    Unlike p, it does not round to the same number for all confident predictions.

    >>> log_odds(torch.tensor([[0.0, 50.0, 1.0]]), torch.tensor([1]))  # 50 - ln(1 + e)
    tensor([48.6867])
    """
    own = logits.gather(-1, classes[..., None])
    return (own - logits.scatter(-1, classes[..., None], -torch.inf).logsumexp(-1, keepdim=True))[..., 0]


def _slope(odds: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    # The sigmoid's slope, in a form that for a confident prediction does not round to 0, and all importances with it.
    return odds.sigmoid() * (-odds).sigmoid()


# Gradient x input through the whole model, attention included: what most tools call by that name.


def gradient_x_input(model: Model, trace: Trace, graph: Graph | None = None) -> Float[Tensor, "batch item"]:
    """How much each item's embeddings support the prediction, to first order; signed, 0 outside items.

    sum over the item's tokens t and dimensions d of (d odds / d embedded[t, d]) embedded[t, d], where odds is the log
    odds of the predicted class.

    `input_gradients` differs: it holds attention fixed, as Jain and Wallace do, and has no sign. Here attention changes
    with the embeddings, as in captum, ferret and inseq. Shrikumar et al. (2016, arXiv:1605.01713).

    Args:
        graph: graph of these texts, if there is one already; it is kept.
    """
    embedded, encoded = graph or encoded_graph(model, trace)
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        logits = model.decode(encoded, model.attend(encoded, trace.batch)[1])
        odds = log_odds(logits, trace.logits.argmax(-1)).sum()
        (gradient,) = torch.autograd.grad(odds, embedded, retain_graph=graph is not None)
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


# SmoothGrad: gradient x input with the gradient averaged over noisy embeddings.


def smoothgrad(
    model: Model, trace: Trace, generator: torch.Generator, *, draws: int = 25, share: float = 0.15
) -> Float[Tensor, "batch item"]:
    """As `gradient_x_input` with the mean gradient over noisy embeddings; signed, 0 outside items.

    Smilkov et al. (2017, arXiv:1706.03825). Where the model is linear in its embeddings, noise changes nothing.

    Args:
        draws: number of draws of the noise, which is normal.
        share: its standard deviation, as a share of the distance between a text's smallest and largest number.
    """
    embedded, mask = trace.embedded.detach(), trace.batch.mask[..., None]
    widths = embedded.masked_fill(~mask, -torch.inf).amax((1, 2)) - embedded.masked_fill(~mask, torch.inf).amin((1, 2))
    scale = share * widths[:, None, None] * mask
    gradient = torch.zeros_like(embedded)
    for _ in range(draws):
        noise = torch.randn(embedded.shape, generator=generator, dtype=torch.float64).to(embedded)
        gradient = gradient + odds_gradient(model, trace, embedded + scale * noise) / draws
    return sum_by_item(trace, (gradient * embedded).sum(-1))
