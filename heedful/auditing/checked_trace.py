"""What a model makes of a batch, checked: shapes, precision, attention that sums to 1, the same each time."""

from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.auditing.validation import as_tensor, check_shape, first_line, named
from heedful.errors import HeedfulError, SettingError
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, Model, Trace

SUM_TOLERANCE = 1e-4
"""How far the sum of a text's attention may be from 1."""
SAME = {torch.float64: 1e-9, torch.float32: 1e-5}
"""How far, relative to the largest number, two readings of one batch may differ by rounding; known precisions."""
FIXED = (
    "The model is measured in float64: remove what fixes another precision inside it, such as `.float()` or "
    "`dtype=torch.float32`."
)


def checked_trace(model: Model, batch: Batch) -> Trace:
    """What a user's own model makes of the batch: each of its methods is checked, and a second reading is the same."""
    seen = validate_trace(_stepwise(model, batch))
    validate_unchanged(model, seen)
    return seen


def validate_unchanged(model: Model, seen: Trace) -> None:
    """Refuse a model that does not make of a batch again what it made of it before."""
    again = trace(model, seen.batch)
    for name in ("attention", "logits"):
        first, second = getattr(seen, name), getattr(again, name)
        if not _is_same(first, second):
            raise SettingError(
                f"the model must answer the same each time; read twice, the {name} of a text "
                f"differs by {(first - second).abs().max().item():.2g}. Turn off what is random (for dropout, use "
                "nn.Dropout or pass training=self.training, and call .eval() on what is no submodule), and change "
                "neither the model nor the batch while it is read."
            )


def _is_same(first: Float[Tensor, "..."], second: Float[Tensor, "..."]) -> bool:
    tolerance = SAME[first.dtype] * max(1.0, first.abs().max().item())
    return torch.allclose(first, second, rtol=0.0, atol=tolerance, equal_nan=True)


def validate_trace(seen: Trace) -> Trace:
    """The trace, if its attention sums to 1 over the items and is 0 elsewhere, and each text has two logits or more."""
    attention, items = seen.attention, seen.encoded.items
    total = attention.where(items, 0.0).sum(1)
    is_off = ~((total - 1).abs() < SUM_TOLERANCE)
    wrong = is_off | (attention.masked_fill(items, 0.0) != 0).any(1) | (attention < -SUM_TOLERANCE).any(1)
    if wrong.any():
        raise HeedfulError(_wrong_attention(seen, int(wrong.nonzero()[0])))
    shape = tuple(seen.logits.shape)
    if len(shape) != 2 or shape[0] != len(items) or shape[1] < 2:
        raise HeedfulError(
            f"`decode` must return [batch, classes], a logit for each of two classes or more; of {len(items)} texts it "
            f"returned {shape}. With a single (sigmoid) logit z of shape [batch, 1], return [0, z]: "
            "torch.cat([torch.zeros_like(z), z], -1); from `item_logits` and `empty_logits` likewise."
        )
    if not seen.logits.isfinite().all():
        row = int((~seen.logits.isfinite()).any(1).nonzero()[0])
        raise HeedfulError(f"the model's logits of text {int(seen.batch.index[row])} are not numbers.")
    return seen


def _wrong_attention(seen: Trace, row: int) -> str:
    own, items = seen.attention[row], seen.encoded.items[row]
    total, everywhere = own.where(items, 0.0).sum().item(), own.sum().item()
    if own.min().item() < -SUM_TOLERANCE:
        cure = f"Its smallest weight is {own.min().item():.4g}: did `attend` return scores as attention?"
    elif abs(total - 1) < SUM_TOLERANCE:
        cure = "It has weight where there is no item: mask padding before the softmax."
    elif abs(total - 1) < 0.01:
        cure = "Was it rounded, to half precision perhaps? Return attention / attention.sum(-1, keepdim=True)."
    else:
        cure = "Did `attend` return scores as attention?"
    return (
        "attention must be 0 or more, sum to 1 over the items of each text and be 0 elsewhere; that of text "
        f"{int(seen.batch.index[row])} sums to {total:.6g} over its {int(items.sum())} items (and to {everywhere:.6g} "
        f"over all places). {cure}"
    )


def validate_gradient(model: Model, seen: Trace) -> None:
    """Refuse a model through which no gradient comes from the logits to the embeddings."""
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = seen.embedded.detach().requires_grad_()
        logits = model.decode(model.encode(embedded, seen.batch), seen.attention.detach())
        gradient = torch.autograd.grad(logits.sum(), embedded, allow_unused=True)[0] if logits.requires_grad else None
    if gradient is None:
        raise SettingError(
            "`encode` and `decode` must be differentiable in the embeddings that `encode` is given; no gradient comes "
            "through. Remove torch.no_grad, torch.inference_mode and .detach(), and let `encode` use its argument."
        )


def _stepwise(model: Model, batch: Batch) -> Trace:
    """The trace, each step of which is checked before the next."""
    texts, time = batch.tokens.shape
    embedded = _step(model, "embed", batch, batch)
    name = "what `embed` returns"
    check_shape(as_tensor(embedded, name, "[batch, time, embed]"), name, (texts, time, None))
    encoded = _step(model, "encode", batch, embedded, batch)
    if not isinstance(encoded, Encoded):
        raise SettingError(
            f"`encode` must return heedful.Encoded(hidden=..., items=...); it returned {named(encoded)}."
        )
    hidden = as_tensor(encoded.hidden, "`hidden` of what `encode` returns", "[batch, item, hidden]")
    items = as_tensor(encoded.items, "`items` of what `encode` returns", "[batch, item]", "booleans")
    check_shape(hidden, "`hidden` of what `encode` returns", (texts, None, None))
    check_shape(items, "`items` of what `encode` returns", (texts, hidden.shape[1]))
    attended = _step(model, "attend", batch, encoded, batch)
    if not isinstance(attended, tuple | list) or len(attended) != 2:
        raise SettingError(f"`attend` must return two tensors, scores and attention; it returned {named(attended)}.")
    for part, weights in zip(("scores", "attention"), attended, strict=True):
        _check_weights(weights, f"the {part} that `attend` returns", (texts, hidden.shape[1]))
    logits = as_tensor(_step(model, "decode", batch, encoded, attended[1]), "what `decode` returns", "[batch, classes]")
    _check_precision(
        {"embed": embedded, "encode": hidden, "attend": attended[1], "decode": logits},
        is_module=isinstance(model, nn.Module),
    )
    return Trace(batch, embedded, encoded, attended[0], attended[1], logits)


def _step(model: Model, verb: str, batch: Batch, *arguments: Any) -> Any:
    """What the method returns; a failure is an error that says which it was and, where that is known, why."""
    try:
        return getattr(model, verb)(*arguments)
    except HeedfulError:
        raise
    except Exception as error:  # a stranger's code may raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise SettingError(f"`{verb}` failed on {batch!r}: {reason}.{_hint(model, batch, error)}") from error


def _hint(model: Model, batch: Batch, error: Exception) -> str:
    """What is probably wrong."""
    if isinstance(error, IndexError):
        return f" The largest token is {int(batch.tokens.max())}: is the embedding smaller than that?"
    if isinstance(model, nn.Module) and isinstance(error, RuntimeError) and _works_in_float32(model, batch):
        return f" In float32 it works. {FIXED}"
    return ""


def _works_in_float32(model: Model, batch: Batch) -> bool:
    try:
        trace(deepcopy(model).float(), batch)  # pyright: ignore[reportAttributeAccessIssue]
    except Exception:  # then it fails for another reason
        return False
    return True


def _check_weights(weights: Any, name: str, wanted: tuple[int, int]) -> None:
    if isinstance(weights, Tensor) and weights.ndim > 2:
        raise SettingError(
            f"{name} must be [batch, item], here {wanted}: a weight for each item; it is {named(weights)}. Of several "
            "heads audit one, or their mean: return attention[:, head] or attention.mean(1), and let `decode` use that."
        )
    check_shape(as_tensor(weights, name, "[batch, item]"), name, wanted)


def _check_precision(parts: dict[str, Tensor], *, is_module: bool) -> None:
    """Refuse numbers coarser than float32, or not all of one precision."""
    wanted = torch.float64 if is_module else parts["embed"].dtype
    for verb, part in parts.items():
        if part.dtype != wanted or part.dtype not in SAME:
            cure = FIXED if is_module else "Let all methods return one of the two."
            kinds = "torch.float64" if is_module else "torch.float32 or torch.float64"
            raise SettingError(f"`{verb}` must return {kinds}; it returned {part.dtype}. {cure}")
