"""What a user hands in, checked at the door: a model of their own, its batches, the names of its classes."""

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from heedful.errors import SettingError
from heedful.types import Batch, Model

VERBS = ("embed", "encode", "attend", "decode")
LINEAR_VERBS = ("item_logits", "empty_logits")
DEVICES = ("cpu", "cuda", "xpu")
"""Kinds of devices that have float64, in which models are measured."""
LARGEST = 10_000_000
"""Numbers of tokens are below this: a table has a row for each."""

MODEL = "an object with the methods embed, encode, attend and decode"
BATCHES = "a list of `Batch` for a model of your own: only you can number its tokens"


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
        part = as_tensor(getattr(batch, field), f"`{field}` {which}", "[batch]", "whole numbers")
        check_shape(part, f"`{field}` {which}", (texts,))
    for field in ("mask", "attendable_mask"):
        part = as_tensor(getattr(batch, field), f"`{field}` {which}", "[batch, time]", "booleans")
        check_shape(part, f"`{field}` {which}", (texts, time))
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
    """What the classes are called; their numbers where nobody says."""
    if isinstance(labels, str) or not all(isinstance(label, str) for label in labels):
        raise SettingError(f"labels must be a list of strings, a name for each class; it is {labels!r:.60}.")
    if labels and not len(labels) == len(set(labels)) == classes:
        raise SettingError(
            f"labels must name each of the model's {classes} classes, each differently; they are "
            f"{', '.join(map(repr, labels))}. Give `labels` a name for each class, in the order of the logits."
        )
    return tuple(labels) or tuple(map(str, range(classes)))


def as_tensor(value: object, name: str, axes: str, kind: str = "floats") -> Tensor:
    """The tensor, if it is one, of that kind and with so many axes."""
    if not isinstance(value, Tensor) or value.ndim != axes.count(",") + 1 or _kind(value) != kind:
        cure = ""
        if isinstance(value, Tensor) and kind == "booleans" and _kind(value) != kind:
            cure = " Give .bool() of it."
        elif isinstance(value, Tensor) and kind == "whole numbers" and _kind(value) != kind:
            cure = " Give .long() of it."
        raise SettingError(f"{name} must be a tensor {axes} of {kind}; it is {named(value)}.{cure}")
    return value


def check_shape(value: Tensor, name: str, wanted: tuple[int | None, ...]) -> None:
    """Refuse a tensor whose sizes are not those wanted; None stands for any."""
    if any(size is not None and size != own for size, own in zip(wanted, value.shape, strict=True)):
        sizes = ", ".join("any" if size is None else str(size) for size in wanted)
        raise SettingError(f"{name} must have the shape ({sizes}); it has {tuple(value.shape)}.")


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
