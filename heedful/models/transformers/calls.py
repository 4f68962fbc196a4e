"""Attention calls of a running transformer: who listens to them, and how it may change them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

CallWeights = Float[Tensor, "batch head row time"]
"""What each row (query) gives to each token (key), in each head."""
CallValues = Float[Tensor, "batch head time size"]
"""What is mixed: the value of each token, in each head."""
CallContext = Float[Tensor, "batch head row size"]
"""What is mixed into each row: weights @ values."""


@runtime_checkable
class Listener(Protocol):
    """Hears every attention call of a forward pass, numbered from 0 in the order in which the model makes them.

    Layers are known by the order of calls: some models (ALBERT) share one module among all layers.
    """

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        """The weights that the model should go on with: the same tensor to leave them as they are."""
        ...

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        """What the model should go on with in place of weights @ values; None to let it mix them itself."""
        ...


@dataclass
class Hearing:
    """A forward pass that is listened to, and how many calls it has made so far."""

    listener: Listener
    calls: int = 0


_hearing: ContextVar[Hearing | None] = ContextVar("heedful_hearing", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[Hearing]:
    """Let the listener hear the attention calls of the forward pass made inside."""
    token = _hearing.set(hearing := Hearing(listener))
    try:
        yield hearing
    finally:
        _hearing.reset(token)


def current_hearing() -> Hearing | None:
    """The forward pass at hand, if anybody listens to it."""
    return _hearing.get()
