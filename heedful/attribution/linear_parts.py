"""Heads as a linear map of the states and then a function, so that sums over items need not keep whole states."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard

from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.abilities import own_parts
from heedful.models.attention import Additive, Dot, Frozen, Uniform
from heedful.models.attention_model import AttentionModel, LinearHead, TanhHead, with_both_classes
from heedful.types import Encoded, Model

# Attention scores as a linear map of the state and then a function, so that halves of a state can be mapped apart.

Readout = Callable[[Float[Tensor, "*states size"]], Float[Tensor, "*states"]]


@dataclass(frozen=True)
class Scoring:
    """score = readout(weight state + constant), and attention is the softmax of the scores.

    Args:
        weight: one for all texts, or (dot attention with a query) one per text.
        constant: what depends on the text and the item's position, not on its state.
        readout: may overwrite its argument.
    """

    weight: Float[Tensor, "size hidden"] | Float[Tensor, "batch 1 hidden"]
    constant: Float[Tensor, "batch item size"]
    readout: Readout


def mapped(
    weight: Float[Tensor, "size part"] | Float[Tensor, "batch size part"],
    states: Float[Tensor, "row part"],
    text: Int[Tensor, " row"],
    known: Float[Tensor, "row size"] | None = None,
) -> Float[Tensor, "row size"]:
    """Each state mapped by the weight, or by that of its text where there is one per text.

    Args:
        known: what is added to it; overwritten by the result.
    """
    if weight.dim() == 2:
        return states @ weight.T if known is None else known.addmm_(states, weight.T)
    result = (weight[text] @ states[..., None])[..., 0]
    return result if known is None else known.add_(result)


def scoring_of(
    attention: nn.Module, temperature: float, encoded: Encoded, scores: Float[Tensor, "batch item"]
) -> Scoring:
    """How one of Heedful's attention mechanisms scores the states of these texts, temperature included.

    Args:
        scores: scores of the whole texts; whatever is computed is in their precision.
    """
    return SCORINGS[type(attention)](attention, temperature, encoded, scores)


def _additive(
    attention: Additive, temperature: float, encoded: Encoded, scores: Float[Tensor, "batch item"]
) -> Scoring:
    constant = attention.hidden.bias.expand(*scores.shape, -1)
    if attention.query is not None and encoded.query is not None:
        constant = constant + attention.query(encoded.query)[:, None]
    # tanh(x) = 2 sigmoid(2 x) - 1, and torch's sigmoid takes a sixth of the time of its tanh on a CPU.
    weight = attention.score.weight[0] / temperature
    readout = partial(_sigmoids, weight=(2 * weight).to(scores), shift=weight.sum().to(scores))
    return Scoring((2 * attention.hidden.weight).to(scores), (2 * constant).to(scores), readout)


def _sigmoids(projected: Tensor, weight: Tensor, shift: Tensor) -> Tensor:
    return projected.sigmoid_() @ weight - shift


def _dot(attention: Dot, temperature: float, encoded: Encoded, scores: Float[Tensor, "batch item"]) -> Scoring:
    if attention.query is not None:
        weight = attention.query.weight
    else:
        assert encoded.query is not None
        weight = encoded.query[:, None]
    weight = (weight / (attention.scale * temperature)).to(scores)
    return Scoring(weight, scores.new_zeros(*scores.shape, 1), _single)


def _constant(
    attention: Uniform | Frozen, temperature: float, encoded: Encoded, scores: Float[Tensor, "batch item"]
) -> Scoring:
    no_weight = scores.new_zeros(1, encoded.hidden.shape[-1])
    return Scoring(no_weight, scores[..., None] / temperature, _single)


def _single(projected: Tensor) -> Tensor:
    return projected[..., 0]


SCORINGS: dict[type[nn.Module], Callable[..., Scoring]] = {
    Additive: _additive,
    Dot: _dot,
    Uniform: _constant,
    Frozen: _constant,
}


def has_own_parts(model: Model) -> TypeGuard[AttentionModel]:
    """Whether a model is made of Heedful's own parts, of which it is known how they score and decode states."""
    return (own := own_parts(model)) is not None and type(own.attention) in SCORINGS


Finish = Callable[[Float[Tensor, "batch item size"]], Float[Tensor, "batch item classes"]]


@dataclass(frozen=True)
class Decoding:
    """logits = finish(sum over items of attention x weight state).

    Args:
        weight: one for all texts, or (a linear head with a query) one per text; None is the state itself.
    """

    weight: Float[Tensor, "size hidden"] | Float[Tensor, "batch size hidden"] | None
    finish: Finish


def decoding_of(head: nn.Module, encoded: Encoded) -> Decoding:
    """How a head decodes these texts; one that is not Heedful's own is given the whole weighted sum of states."""
    if type(head) is LinearHead:
        return _linear(head, encoded)
    if type(head) is TanhHead:
        return _tanh(head, encoded)
    return of_contexts(head, encoded)


def of_contexts(head: nn.Module, encoded: Encoded) -> Decoding:
    """The head as it is, on weighted sums of whole states."""

    def finish(contexts: Float[Tensor, "batch item size"]) -> Float[Tensor, "batch item classes"]:
        query = None if encoded.query is None else encoded.query[:, None].expand_as(contexts)
        return head(contexts, query)

    return Decoding(None, finish)


def _linear(head: LinearHead, encoded: Encoded) -> Decoding:
    weight, constant = head.linear.weight, 0.0 if head.linear.bias is None else head.linear.bias
    if encoded.query is not None:
        own, query, product = weight.chunk(3, -1)
        weight = own + product * encoded.query[:, None]
        constant = (encoded.query @ query.T + constant)[:, None]
    return Decoding(weight, lambda sums: with_both_classes(sums + constant))


def _tanh(head: TanhHead, encoded: Encoded) -> Decoding:
    constant = head.context.bias
    if head.query is not None and encoded.query is not None:
        constant = (constant + head.query(encoded.query))[:, None]
    return Decoding(head.context.weight, lambda sums: with_both_classes(head.linear((sums + constant).tanh())))
