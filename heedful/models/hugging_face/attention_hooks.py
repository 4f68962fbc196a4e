"""Attention heard through transformers' attention interface: nothing in the model is patched."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

# Attention calls of a running transformer: who listens to them, and how it may change them.

CallWeights = Float[Tensor, "batch head row time"]
"""What each row (query) gives to each token (key), in each head."""
CallValues = Float[Tensor, "batch head time size"]
"""What is mixed: the value of each token, in each head."""
CallContext = Float[Tensor, "batch head row size"]
"""What is mixed into each row: weights @ values."""


@runtime_checkable
class AttentionHook(Protocol):
    """Hears every attention call of a forward pass, numbered from 0 in the order in which the model makes them.

    Layers are known by the order of calls: some models (ALBERT) share one module among all layers.
    """

    def weights(self, call: int, weights: CallWeights) -> CallWeights:
        """The weights that the model should go on with: the same tensor to leave them as they are."""
        return weights

    def context(self, call: int, weights: CallWeights, values: CallValues) -> CallContext | None:
        """What the model should go on with in place of weights @ values; None to let it mix them itself."""
        return None


@dataclass
class HookedPass:
    """A forward pass that is listened to, and how many calls it has made so far."""

    listener: AttentionHook
    calls: int = 0


_hearing: ContextVar[HookedPass | None] = ContextVar("heedful_hearing", default=None)


@contextmanager
def hook_attention(listener: AttentionHook) -> Iterator[HookedPass]:
    """Let the listener hear the attention calls of the forward pass made inside."""
    token = _hearing.set(hearing := HookedPass(listener))
    try:
        yield hearing
    finally:
        _hearing.reset(token)


def current_pass() -> HookedPass | None:
    """The current forward pass, if a hook is attached to it."""
    return _hearing.get()


# Attention heard at its softmax, for model files that do not know transformers' attention interface.
#
# Such a file computes softmax(scores), passes the weights through dropout, casts and views, and mixes the values by
# matmul, bmm or einsum. Both moments are intercepted; nothing in the model is patched.

SOFTMAX: tuple[Callable[..., Any], ...] = (functional.softmax, torch.softmax, Tensor.softmax)
PRODUCT: tuple[Callable[..., Any], ...] = (torch.matmul, torch.bmm, Tensor.matmul, Tensor.bmm, Tensor.__matmul__)


class SoftmaxMode(TorchFunctionMode):
    """Intercepts softmax over the last of four axes, and the first product in which its result takes part."""

    def __init__(self, hearing: HookedPass):
        super().__init__()
        self.hearing = hearing
        self.weights: CallWeights | None = None
        self.aliases: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """What torch calls in place of each of its functions."""
        kwargs = kwargs or {}
        if func in SOFTMAX and _is_attention(args, kwargs):
            return self._heard_weights(func(*args, **kwargs))
        if self.weights is not None and any(self._is_alias(part) for part in _flat(args)):
            if func in PRODUCT or func is torch.einsum:
                return self._mixed(func, args, kwargs)
            result = func(*args, **kwargs)
            # Dropout, casts and views of the weights are the weights.
            if isinstance(result, Tensor) and result.numel() == self.weights.numel():
                self.aliases.append(result)
            return result
        return func(*args, **kwargs)

    def _heard_weights(self, weights: CallWeights) -> CallWeights:
        self.weights = self.hearing.listener.weights(self.hearing.calls, weights)
        self.aliases = [self.weights]
        self.hearing.calls += 1
        return self.weights

    def _is_alias(self, part: Any) -> bool:
        return isinstance(part, Tensor) and any(part is alias for alias in self.aliases)

    def _mixed(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
        """The product of weights and values, or what the hook replaces it with."""
        weights, self.weights, self.aliases = self.weights, None, []
        assert weights is not None
        product = func(*args, **kwargs)
        form = _Form.of(func, args, weights)
        if form is None:
            return product
        context = self.hearing.listener.context(self.hearing.calls - 1, weights, form.values)
        return product if context is None else form.arranged(context).to(product.dtype)


class _Form:
    """How a model file arranges values and contexts.

    Args:
        values: values of the call, in our order of axes.
        arranged: a context in the model's order of axes.
    """

    def __init__(self, values: CallValues, arranged: Callable[[CallContext], Tensor]):
        self.values = values
        self.arranged = arranged

    @classmethod
    def of(cls, func: Callable[..., Any], args: Sequence[Any], weights: CallWeights) -> "_Form | None":
        """The form of a product in which the weights come first; None for any other."""
        batch, heads, _, time = weights.shape
        if func is torch.einsum:
            return cls._of_equation(*_flat(args))
        values = args[1]
        if values.dim() == 3 and values.shape[:2] == (batch * heads, time):
            return cls(values.unflatten(0, (batch, heads)), lambda context: context.flatten(0, 1))
        if values.dim() == 4 and values.shape[2] == time:
            return cls(values.expand(batch, heads, -1, -1), lambda context: context)
        return None

    @classmethod
    def _of_equation(cls, equation: str, *operands: Tensor) -> "_Form | None":
        """The form of an einsum such as "bnij,jbnd->ibnd"."""
        inputs, _, output = equation.replace(" ", "").partition("->")
        first, _, second = inputs.partition(",")
        if len(operands) != 2 or len(first) != 4 or len(second) != 4:
            return None
        batch, head, row, time = first
        (size,) = set(second) - set(first)
        values = torch.einsum(f"{second}->{batch}{head}{time}{size}", operands[1])
        return cls(values, lambda context: torch.einsum(f"{batch}{head}{row}{size}->{output}", context))


def _is_attention(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a softmax is over the last of four axes."""
    scores = args[0] if args else kwargs.get("input")
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return isinstance(scores, Tensor) and scores.dim() == 4 and dim in (-1, 3)


def _flat(args: Sequence[Any]) -> list[Any]:
    """The arguments, those in a list or tuple among them."""
    return [part for arg in args for part in (arg if isinstance(arg, list | tuple) else (arg,))]


NAME = "heedful"
"""What our attention function is called in transformers' registries."""


def register() -> None:
    """Make our attention function known to transformers; to do so again changes nothing.

    With a mask function of the same name, always: without it transformers silently passes no mask at all, so that
    padding is read and a decoder sees the future.
    """
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor]:
    """The model's own eager attention, with its own bias, cap and sinks, as changed by the hook."""
    output, weights = _own_attention(module)(module, query, key, value, attention_mask, **options)
    hearing = current_pass()
    if hearing is None:
        return output, weights
    call, hearing.calls = hearing.calls, hearing.calls + 1
    # Grouped queries share their keys and values.
    values = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
    changed = hearing.listener.weights(call, weights)
    context = hearing.listener.context(call, changed, values)
    if context is None:
        if changed is weights:
            return output, weights
        context = torch.matmul(changed.to(values.dtype), values)
    return context.transpose(1, 2).contiguous(), changed


def _own_attention(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention of the file that the module, or a class that it inherits from, is written in."""
    for kind in type(module).__mro__:
        own = getattr(sys.modules[kind.__module__], "eager_attention_forward", None)
        if own is not None:
            return own
    raise AttributeError(f"{type(module).__name__} has no eager attention")
