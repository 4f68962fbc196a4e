"""What a training method is."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import SettingError
from heedful.settings import Option
from heedful.types import Model, Reference, Trace

Loss = Callable[[Model, Trace, Reference | None, torch.Generator], Float[Tensor, " batch"]]
"""What a method minimises, with its options set: one number an example."""

Logs = Callable[[Trace, Reference | None], Mapping[str, Float[Tensor, " batch"]]]
"""What is told of a method's course beside its loss, with its options set: numbers of each example, by name."""


@dataclass(frozen=True)
class Method:
    """A way to train.

    Args:
        loss: what is minimised: a `Loss` whose options are further, keyword-only parameters with defaults.
        start: from fresh weights, or from the reference run's.
        trains: every parameter, or the attention module alone.
        selects: the best epoch by the run's metric (higher is better), or by the method's own loss (lower is better).
        needs_reference: whether the loss looks at a reference run.
        weighs: what class weights multiply, where a run has them: each example's own loss, the whole batch's by their
            sum (as Wiegreffe and Pinter's code does), or nothing: a loss that looks at no label has no use for them.
        logs: what is recorded after every epoch beside the metrics: a `Logs` that may take some of the options.
    """

    loss: Callable[..., Float[Tensor, " batch"]]
    start: Literal["fresh", "reference"] = "fresh"
    trains: Literal["all", "attention"] = "all"
    selects: Literal["metric", "loss"] = "metric"
    needs_reference: bool = False
    weighs: Literal["examples", "batch", "nothing"] = "examples"
    logs: Callable[..., Mapping[str, Float[Tensor, " batch"]]] | None = None


def bind(loss: Callable[..., Tensor], options: Mapping[str, Option]) -> Loss:
    """The loss with its options set; unknown options are an error that lists the known.

    >>> bind(lambda model, trace, reference, generator, *, radius=0.1: trace, {"radus": 1})
    Traceback (most recent call last):
    heedful.errors.SettingError: unknown option 'radus' of this method. Known: radius.
    """
    known = _options(loss)
    for name in options:
        if name not in known:
            raise SettingError(f"unknown option '{name}' of this method. Known: {', '.join(known) or 'none'}.")
    return partial(loss, **options)


def bind_logs(method: Method, options: Mapping[str, Option]) -> Logs | None:
    """What the method logs, with those of its options set that this takes."""
    if method.logs is None:
        return None
    known = _options(method.logs)
    return partial(method.logs, **{name: value for name, value in options.items() if name in known})


def _options(function: Callable[..., object]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
