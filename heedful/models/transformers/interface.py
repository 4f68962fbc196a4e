"""Attention heard through transformers' attention interface: nothing in the model is patched."""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from heedful.models.transformers.calls import current_hearing

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
    """The model's own eager attention, with its own bias, cap and sinks, as whoever listens changes it."""
    output, weights = _own_attention(module)(module, query, key, value, attention_mask, **options)
    hearing = current_hearing()
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
