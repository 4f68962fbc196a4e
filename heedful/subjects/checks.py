"""Checks of what a user provides: a custom model, its batches, its classes, and its output for a batch."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError, SettingError
from heedful.models.trace import trace
from heedful.types import Batch, Encoded, Model, Trace

VERBS = ("embed", "encode", "attend", "decode")
LINEAR_VERBS = ("item_logits", "empty_logits")
DEVICES = ("cpu", "cuda", "xpu")
"""Kinds of devices that have float64, in which models are measured."""
LARGEST = 10_000_000
"""Numbers of tokens are below this: a table has a row for each."""

CASTS = {"booleans": " Give .bool() of it.", "whole numbers": " Give .long() of it."}
"""What makes a tensor one of that kind."""
MODEL = "an object with the methods embed, encode, attend and decode"
BATCHES = "a list of `Batch` for your own model: only you know its token IDs"


def validate_model(model: object) -> Model:
    """The model, if it has the protocol's verbs."""
    if isinstance(model, type):
        name = model.__name__
        raise SettingError(f"model must be {MODEL}; it is the class {name}. Give an instance of it: {name}(...).")
    missing = [verb for verb in VERBS if not callable(getattr(model, verb, None))]
    if missing or not isinstance(model, Model):
        lacks = f", without {' and '.join(missing)}" if len(missing) < len(VERBS) else ""
        raise SettingError(
            f"model must be a finished run, or {MODEL}; it is {named(model)}{lacks}. docs/own-model.md shows a model "
            "with all four."
        )
    linear = [verb for verb in LINEAR_VERBS if callable(getattr(model, verb, None))]
    if len(linear) == 1:
        other = next(verb for verb in LINEAR_VERBS if verb not in linear)
        raise SettingError(
            f"model must define both `item_logits` and `empty_logits`, or neither; it has no `{other}`. With both, "
            f"answers are exact; without `{linear[0]}`, they are searched for."
        )
    return model


def validate_device(device: str | None) -> torch.device | None:
    """The device, if torch can use it here."""
    if device is None:
        return None
    try:
        place = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise SettingError(
            f"device must be one that torch can use here, such as 'cpu' or 'cuda'; {device!r} is not: "
            f"{first_line(error)}"
        ) from None
    if place.type not in DEVICES:
        kinds = ", ".join(DEVICES)
        raise SettingError(f"device must be one that has float64, of the kinds {kinds}; it was {device!r}.")
    return place


def validate_batches(data: object) -> Sequence[Batch]:
    """The batches, if they are a list of `Batch`, each of them whole; the texts of all are numbered, each once."""
    if isinstance(data, Batch):
        raise SettingError(f"data must be {BATCHES}. It is a single `Batch`: put it into a list, [batch].")
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Sequence):
        again = " It is read several times: give list(batches)." if hasattr(data, "__next__") else ""
        raise SettingError(f"data must be {BATCHES}. It is {named(data)}.{again}")
    if not data:
        raise SettingError("data must hold at least one batch; it is empty.")
    for place, batch in enumerate(data):
        if not isinstance(batch, Batch):
            raise SettingError(f"data must be {BATCHES}. Number {place} of it is {named(batch)}.")
        _validate_batch(batch, f"of batch {place}")
    numbers = [index for batch in data for index in batch.index.tolist()]
    if len(set(numbers)) < len(numbers):
        raise SettingError("`index` must number the texts of all batches, each once; some number stands twice.")
    return data


def _validate_batch(batch: Batch, which: str) -> None:
    tokens = as_tensor(batch.tokens, f"`tokens` {which}", "[batch, time]", "whole numbers")
    texts, time = tokens.shape
    if not texts or not time:
        raise SettingError(f"`tokens` {which} must hold a text with a token at least; its shape is {(texts, time)}.")
    if not 0 <= int(tokens.min()) <= int(tokens.max()) < LARGEST:
        raise SettingError(
            f"`tokens` {which} must be numbers from 0 to {LARGEST - 1:,}, as the rows of an embedding are counted; "
            f"they are {int(tokens.min())} to {int(tokens.max())}."
        )
    for field in ("index", "labels"):
        as_tensor(getattr(batch, field), f"`{field}` {which}", "[batch]", "whole numbers", (texts,))
    for field in ("mask", "attendable_mask"):
        as_tensor(getattr(batch, field), f"`{field}` {which}", "[batch, time]", "booleans", (texts, time))
    for field in ("query_tokens", "query_mask", "sentence", "imposed_attention"):
        part = getattr(batch, field)
        if part is not None and (not isinstance(part, Tensor) or part.ndim != 2 or len(part) != texts):
            raise SettingError(
                f"`{field}` {which} must be None, or [batch, ...] with its {texts} texts; it is {named(part)}."
            )
    if (batch.attendable_mask & ~batch.mask).any():
        raise SettingError(
            f"`attendable_mask` {which} must be False wherever `mask` is (on padding); somewhere it is True."
        )
    empty = ~batch.attendable_mask.any(1)
    if empty.any():
        number = int(batch.index[int(empty.nonzero()[0])])
        raise SettingError(f"every text must have a token that attention may weigh; text {number} {which} has none.")


def validate_labels(batches: Sequence[Batch], classes: int) -> None:
    """Refuse labels that are neither the index of a class nor -1, for a text without a label."""
    for batch in batches:
        wrong = (batch.labels < -1) | (batch.labels >= classes)
        if wrong.any():
            row = int(wrong.nonzero()[0])
            raise SettingError(
                f"`labels` must be indices of the model's {classes} classes, 0 to {classes - 1}, or -1 for texts "
                f"without labels; text {int(batch.index[row])} is labeled {int(batch.labels[row])}. Let `decode` "
                "return a logit for every class, and leave out texts of other classes."
            )


def class_names(labels: Collection[str], classes: int) -> tuple[str, ...]:
    """The names of the classes; their indices if no names are given."""
    if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
        raise SettingError(f"labels must be a list of strings, a name for each class; it is {labels!r:.60}.")
    if labels and not len(labels) == len(set(labels)) == classes:
        raise SettingError(
            f"labels must name each of the model's {classes} classes, each differently; they are "
            f"{', '.join(map(repr, labels))}. Give `labels` a name for each class, in the order of the logits."
        )
    return tuple(labels) or tuple(map(str, range(classes)))


def as_tensor(
    value: object, name: str, axes: str, kind: str = "floats", wanted: tuple[int | None, ...] | None = None
) -> Tensor:
    """The tensor, if it is one of that kind, with the expected number of axes and shape; None stands for any size."""
    if not isinstance(value, Tensor) or value.ndim != axes.count(",") + 1 or _kind(value) != kind:
        cure = CASTS.get(kind, "") if isinstance(value, Tensor) and _kind(value) != kind else ""
        raise SettingError(f"{name} must be a tensor {axes} of {kind}; it is {named(value)}.{cure}")
    if wanted and any(size not in (None, own) for size, own in zip(wanted, value.shape, strict=True)):
        sizes = ", ".join("any" if size is None else str(size) for size in wanted)
        raise SettingError(f"{name} must have the shape ({sizes}); it has {tuple(value.shape)}.")
    return value


def named(value: object) -> str:
    """What a thing is, in a few words."""
    if isinstance(value, Tensor):
        return f"a tensor of {_kind(value)} ({value.dtype}) of shape {tuple(value.shape)}"
    written = " ".join(repr(value).split())
    kind = "" if value is None or written.startswith(type(value).__name__) else f"{type(value).__name__} "
    return f"{kind}{written:.60}"


def first_line(error: BaseException) -> str:
    """What an error says, in a line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "booleans"
    return "floats" if tensor.is_floating_point() else "complex numbers" if tensor.is_complex() else "whole numbers"


# What a model makes of a batch: shapes, precision, attention that sums to 1, the same each time.

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
        tolerance = SAME[first.dtype] * max(1.0, first.abs().max().item())
        if not torch.allclose(first, second, rtol=0.0, atol=tolerance, equal_nan=True):
            raise SettingError(
                f"the model must answer the same each time; read twice, the {name} of a text "
                f"differs by {(first - second).abs().max().item():.2g}. Turn off what is random (for dropout, use "
                "nn.Dropout or pass training=self.training, and call .eval() on what is no submodule), and change "
                "neither the model nor the batch while it is read."
            )


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
            "torch.cat([torch.zeros_like(z), z], -1); the same in `item_logits` and `empty_logits`."
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
        cure = "It has weight outside items: mask padding before the softmax."
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
    as_tensor(embedded, "what `embed` returns", "[batch, time, embed]", wanted=(texts, time, None))
    encoded = _step(model, "encode", batch, embedded, batch)
    if not isinstance(encoded, Encoded):
        raise SettingError(
            f"`encode` must return heedful.Encoded(hidden=..., items=...); it returned {named(encoded)}."
        )
    returned = "of what `encode` returns"
    hidden = as_tensor(encoded.hidden, f"`hidden` {returned}", "[batch, item, hidden]", wanted=(texts, None, None))
    count = hidden.shape[1]
    as_tensor(encoded.items, f"`items` {returned}", "[batch, item]", "booleans", (texts, count))
    attended = _step(model, "attend", batch, encoded, batch)
    if not isinstance(attended, tuple | list) or len(attended) != 2:
        raise SettingError(f"`attend` must return two tensors, scores and attention; it returned {named(attended)}.")
    for part, weights in zip(("scores", "attention"), attended, strict=True):
        name = f"the {part} that `attend` returns"
        if isinstance(weights, Tensor) and weights.ndim > 2:
            raise SettingError(
                f"{name} must be [batch, item], here {(texts, count)}: a weight for each item; it is {named(weights)}. "
                "Of several heads audit one, or their mean: return attention[:, head] or attention.mean(1), and let "
                "`decode` use that."
            )
        as_tensor(weights, name, "[batch, item]", wanted=(texts, count))
    logits = as_tensor(_step(model, "decode", batch, encoded, attended[1]), "what `decode` returns", "[batch, classes]")
    parts = {"embed": embedded, "encode": hidden, "attend": attended[1], "decode": logits}
    _check_precision(parts, is_module=isinstance(model, nn.Module))
    return Trace(batch, embedded, encoded, attended[0], attended[1], logits)


def _step(model: Model, verb: str, batch: Batch, *arguments: Any) -> Any:
    """What the method returns; a failure is an error that says which it was and, where that is known, why."""
    try:
        return getattr(model, verb)(*arguments)
    except HeedfulError:
        raise
    except Exception as error:  # untrusted code may raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise SettingError(f"`{verb}` failed on {batch!r}: {reason}.{_hint(model, batch, error)}") from error


def _hint(model: Model, batch: Batch, error: Exception) -> str:
    """What is probably wrong."""
    if isinstance(error, IndexError):
        return f" The largest token is {int(batch.tokens.max())}: is the embedding smaller than that?"
    if isinstance(model, nn.Module) and isinstance(error, RuntimeError):
        with suppress(Exception):  # in float32, too: then it fails for another reason
            trace(deepcopy(model).float(), batch)
            return f" In float32 it works. {FIXED}"
    return ""


def _check_precision(parts: dict[str, Tensor], *, is_module: bool) -> None:
    """Refuse numbers coarser than float32, or not all of one precision."""
    wanted = torch.float64 if is_module else parts["embed"].dtype
    for verb, part in parts.items():
        if part.dtype != wanted or part.dtype not in SAME:
            cure = FIXED if is_module else "Let all methods return one of the two."
            kinds = "torch.float64" if is_module else "torch.float32 or torch.float64"
            raise SettingError(f"`{verb}` must return {kinds}; it returned {part.dtype}. {cure}")
