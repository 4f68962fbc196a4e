"""From the attention-weighted context to logits."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.settings import NetworkSettings


class LinearHead(nn.Module):
    """logits = W context + b; with a query q, W [context ; q ; context * q] + b.

    Linear in the context, so in attention. Two classes share one weight row: the logit of class 0 is the constant 0.
    """

    def __init__(self, width: int, classes: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        rows = 1 if classes == 2 else classes
        self.linear = nn.Linear(width * (3 if has_query else 1), rows, bias=settings.head_bias)

    def forward(
        self, context: Float[Tensor, "*items hidden"], query: Float[Tensor, "*items hidden"] | None
    ) -> Float[Tensor, "*items classes"]:
        """The logits of each context."""
        features = context if query is None else torch.cat([context, query, context * query], -1)
        return with_both_classes(self.linear(features))


class TanhHead(nn.Module):
    """logits = W tanh(A context + B query) + b: the head of Jain and Wallace's NLI and QA models.

    Not linear in attention, so its tests are solved by search.
    """

    def __init__(self, width: int, classes: int, settings: NetworkSettings, has_query: bool):
        super().__init__()
        size = max(1, width // 2)
        self.context = nn.Linear(width, size)
        self.query = nn.Linear(width, size, bias=False) if has_query else None
        self.linear = nn.Linear(size, 1 if classes == 2 else classes, bias=settings.head_bias)

    def forward(
        self, context: Float[Tensor, "*items hidden"], query: Float[Tensor, "*items hidden"] | None
    ) -> Float[Tensor, "*items classes"]:
        """The logits of each context."""
        projected = self.context(context)
        if self.query is not None and query is not None:
            projected = projected + self.query(query)
        return with_both_classes(self.linear(projected.tanh()))


def with_both_classes(logits: Float[Tensor, "*items rows"]) -> Float[Tensor, "*items classes"]:
    """Logits of every class: a single row is class 1, and class 0 is the constant 0.

    >>> with_both_classes(torch.tensor([[2.0]]))
    tensor([[0., 2.]])
    """
    return logits if logits.shape[-1] > 1 else torch.cat([torch.zeros_like(logits), logits], -1)


HEADS: dict[str, Callable[[int, int, NetworkSettings, bool], nn.Module]] = {"linear": LinearHead, "tanh": TanhHead}
