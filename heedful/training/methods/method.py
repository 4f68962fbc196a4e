"""What a training method is, and how its options are set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from heedful.errors import SettingError
from heedful.settings import Option, TrainingSettings
from heedful.settings.validation import bind_options, option_parameters
from heedful.types import Model, Reference, Trace


@dataclass(frozen=True)
class Step:
    """What a loss is of: a model, what it computed for a batch, and what it learns from.

    Args:
        reference: the reference run's outputs on the same texts; None without such a run.
        generator: draws what the loss needs of chance.
    """

    model: Model
    trace: Trace
    reference: Reference | None
    generator: torch.Generator


Loss = Callable[[Step], Float[Tensor, " batch"]]
"""What a method minimises, with its options set: one number per example."""

Logs = Callable[[Trace, Reference | None], Mapping[str, Float[Tensor, " batch"]]]
"""What a method logs besides its loss, with its options set: by name, one number per example."""


PATIENCE, CHOSEN_FROM = 2, 4
"""Early stopping unless settings say otherwise: after one or two epochs attention is often still nearly uniform."""

TeacherCount = Annotated[int, Field(ge=1, le=100)]


@dataclass(frozen=True)
class Teachers:
    """The runs that a run learns from, trained before it on the same data; their mean is its reference.

    Args:
        count: how many.
        method, options: how they are trained; all other settings are the run's own.
        first_seed: the seed of the first, from which the others count on; None: of each run's own.
        leave_one_out: whether the loss also uses what they (or the reference run) predict without each item.
    """

    count: int = 0
    method: str = "vanilla"
    options: Mapping[str, Option] = field(default_factory=dict)
    first_seed: int | None = None
    leave_one_out: bool = False


@dataclass(frozen=True)
class Method:
    """A training method.

    Args:
        loss: what is minimised: a `Loss` whose options are additional keyword-only parameters with defaults.
        start: from fresh weights, or from the reference run's.
        trains: all parameters, or only the attention module.
        selects: the best epoch by the run's metric (higher is better), or by the method's own loss (lower is better).
        needs_reference: whether the loss uses a reference run.
        needs_rationales: whether the loss uses rationales, those of generated datasets included. `Batch.marks` then has
            each text's rationale, as of one annotator, and every rationale must leave a word of its text.
        honest_epochs: the number of epochs of plain cross-entropy before training by the loss begins. They are never
            chosen and do not count for patience.
        stops_early: whether training stops early, and chooses none of the first epochs, unless settings say otherwise.
        weighs: what class weights multiply, if a run has them: each example's loss, the loss of the whole batch by
            their sum (as Wiegreffe and Pinter's code does), or nothing, for a loss that does not use labels.
        logs: what is logged after every epoch besides the metrics: a `Logs` that may take some of the options.
        teachers: from some of the options, as keyword-only parameters, to the runs that the loss takes as its reference
            unless a run names another; None if it has no teachers.
    """

    loss: Callable[..., Float[Tensor, " batch"]]
    start: Literal["fresh", "reference", "reference without attention"] = "fresh"
    trains: Literal["all", "attention"] = "all"
    selects: Literal["metric", "loss"] = "metric"
    needs_reference: bool = False
    needs_rationales: bool = False
    honest_epochs: int = 0
    stops_early: bool = True
    weighs: Literal["examples", "batch", "nothing"] = "examples"
    logs: Callable[..., Mapping[str, Float[Tensor, " batch"]]] | None = None
    teachers: Callable[..., Teachers] | None = None


def stopping(method: Method, settings: TrainingSettings) -> tuple[int, int]:
    """The first epoch that may be chosen, and the patience from there (0: training never stops early)."""
    first, patience = settings.chosen_from, settings.patience
    if first is None:
        first = CHOSEN_FROM if method.stops_early else 1
    if patience is None:
        patience = PATIENCE if method.stops_early and not settings.record_flow else 0
    return max(method.honest_epochs + 1, min(first, settings.epochs)), patience


def bind_loss(method: Method, settings: TrainingSettings) -> Loss:
    """The method's loss with the run's options set; an unknown option is an error that lists the known ones."""
    return bind_options(method.loss, settings.options, f"method '{settings.method}'")


def bind_logs(method: Method, settings: TrainingSettings) -> Logs | None:
    """What the method logs, with those options set that it takes."""
    return None if method.logs is None else _bind_known(method.logs, settings)


def bind_teachers(method: Method, settings: TrainingSettings) -> Teachers:
    """The teachers that the method has with the run's options."""
    return Teachers() if method.teachers is None else _bind_known(method.teachers, settings)()


def _bind_known(function: Callable[..., Any], settings: TrainingSettings) -> Callable[..., Any]:
    """The function with those options set that it takes."""
    known = option_parameters(function)
    own = {name: value for name, value in settings.options.items() if name in known}
    return bind_options(function, own, f"method '{settings.method}'")


def require_reference(reference: Reference | None) -> Reference:
    """The reference, for methods whose loss uses one; raises if there is none."""
    if reference is None:
        raise SettingError("this method needs a reference run: give `reference` the key of a finished one.")
    return reference
