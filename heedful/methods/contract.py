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
    """

    loss: Callable[..., Float[Tensor, " batch"]]
    start: Literal["fresh", "reference"] = "fresh"
    trains: Literal["all", "attention"] = "all"
    selects: Literal["metric", "loss"] = "metric"
    needs_reference: bool = False
    weighs: Literal["examples", "batch", "nothing"] = "examples"


def bind(loss: Callable[..., Tensor], options: Mapping[str, Option]) -> Loss:
    """The loss with its options set; unknown options are an error that lists the known.

    >>> bind(lambda model, trace, reference, generator, *, radius=0.1: trace, {"radus": 1})
    Traceback (most recent call last):
    heedful.errors.SettingError: unknown option 'radus' of this method. Known: radius.
    """
    parameters = inspect.signature(loss).parameters.values()
    known = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise SettingError(f"unknown option '{name}' of this method. Known: {', '.join(known) or 'none'}.")
    return partial(loss, **options)
