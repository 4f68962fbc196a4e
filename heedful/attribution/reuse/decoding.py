"""Heads as a linear map of the states and then a function, so that sums over items need not keep whole states."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.heads import LinearHead, TanhHead, with_both_classes
from heedful.types import Encoded

Finish = Callable[[Float[Tensor, "way batch item size"]], Float[Tensor, "way batch item classes"]]


@dataclass(frozen=True)
class Decoding:
    """logits = finish(sum over items of attention x weight state).

    Args:
        weight: one for all texts, or (a linear head with a query) one per text; None is the state itself.
    """

    weight: Float[Tensor, "size hidden"] | Float[Tensor, "batch size hidden"] | None
    finish: Finish

    def of_sums_in(self, precision: torch.dtype, own: torch.dtype) -> "Decoding":
        """The same for weighted sums in another precision than the head's own, which logits keep."""
        if precision == own:
            return self
        weight = None if self.weight is None else self.weight.to(precision)
        return Decoding(weight, lambda sums: self.finish(sums.to(own)))


def decoding_of(head: nn.Module, encoded: Encoded) -> Decoding:
    """How a head decodes these texts; one that is not Heedful's own is given the whole weighted sum of states."""
    if type(head) is LinearHead:
        return _linear(head, encoded)
    if type(head) is TanhHead:
        return _tanh(head, encoded)
    return of_contexts(head, encoded)


def of_contexts(head: nn.Module, encoded: Encoded) -> Decoding:
    """The head as it is, on weighted sums of whole states."""

    def finish(contexts: Float[Tensor, "way batch item size"]) -> Float[Tensor, "way batch item classes"]:
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
