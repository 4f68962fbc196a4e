"""Teachers: runs that a run learns from, trained before it; and what they, or a reference run, make of the texts."""

from collections.abc import Sequence
from dataclasses import replace
from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.attribution.leave_one_out import leave_one_out
from heedful.data.batching import EncodedSplit, encode_split, read
from heedful.errors import SettingError, lookup
from heedful.measures import total_variation_distance
from heedful.models.attention_model import AttentionModel
from heedful.models.trace import trace
from heedful.settings import Run, TrainingSettings
from heedful.settings.validation import update_settings
from heedful.training.methods import METHODS, Teachers, bind_teachers
from heedful.training.metrics import READ_SIZE, Outputs, outputs
from heedful.training.trained import Trained
from heedful.types import Dataset

SEEDS = 1000
"""Seeds that are set aside for the teachers of each seed."""


def teachers_of(run: Run) -> tuple[Run, ...]:
    """The runs that a run learns from; none if its method has no teachers, or where it names a reference instead.

    They differ from the run in method, options and seed: 1000 x (1 + its seed) + 1, + 2, ... Runs of different seeds so
    have different teachers, and where they agree it is not because they copied the same ones.
    """
    plan = planned_teachers(run.training)
    if run.reference is not None:
        return ()
    first = SEEDS * (1 + run.seed) + 1 if plan.first_seed is None else plan.first_seed
    training = {"training.method": plan.method, "training.options": dict(plan.options)}
    return tuple(
        update_settings(run, {**training, "training.record_flow": (), "seed": (first + more) % 2**63})
        for more in range(plan.count)
    )


def planned_teachers(training: TrainingSettings) -> Teachers:
    """The teachers that a method with its options asks for."""
    return bind_teachers(lookup("method", training.method, METHODS), training)


def check_teachers(run: Run, teachers: Sequence[Trained]) -> None:
    """Raise unless these are the teachers of the run."""
    wanted = teachers_of(run)
    if tuple(teacher.run for teacher in teachers) == wanted:
        return
    if not teachers:
        raise SettingError(
            f"method '{run.training.method}' needs {len(wanted)} teachers: give `teachers`, trained as "
            "`heedful.training.teachers.teachers_of(run)` says, or name a reference run instead. `heedful train` and "
            "sweeps train them by themselves."
        )
    raise SettingError(
        f"`teachers` must be the {len(wanted)} runs that `heedful.training.teachers.teachers_of(run)` lists, in that "
        f"order; {len(teachers)} others were given."
    )


def reference_outputs(
    references: Sequence[Trained],
    dataset: Dataset,
    splits: Sequence[str],
    device: torch.device,
    *,
    with_leave_one_out: Sequence[str] = (),
) -> dict[str, Outputs]:
    """The mean outputs of the reference runs on each split, computed once rather than every epoch; empty without any.

    Args:
        with_leave_one_out: splits of which it is also computed how far their predictions move without each item.
    """
    if not references:
        return {}
    means = {}
    for name in splits:
        parts = []
        for reference in references:
            model, split = reference.model.to(device), encode_split(getattr(dataset, name), reference.words)
            part = outputs(model, split)
            if name in with_leave_one_out:
                part = replace(part, leave_one_out=leave_one_out_sizes(model, split))
            parts.append(part)
        means[name] = mean_outputs(parts)
    return means


def mean_outputs(parts: Sequence[Outputs]) -> Outputs:
    """Mean attention, the logarithm of the mean probabilities, and mean sizes of leave-one-out; of one, its own.

    >>> rows = (torch.tensor([0.25, 0.75]),), (torch.tensor([0.75, 0.25]),)
    >>> mean = mean_outputs([Outputs(row, torch.tensor([[0.9, 0.1]]).log()) for row in rows])
    >>> mean.attention, mean.logits.softmax(-1)
    ((tensor([0.5000, 0.5000]),), tensor([[0.9000, 0.1000]]))
    """
    if len(parts) == 1:
        return parts[0]
    logits = torch.stack([part.logits.log_softmax(-1) for part in parts]).logsumexp(0) - log(len(parts))
    sizes = [part.leave_one_out for part in parts if part.leave_one_out is not None]
    return Outputs(_means([part.attention for part in parts]), logits, _means(sizes) if sizes else None)


def _means(rows: Sequence[tuple[Float[Tensor, " _"], ...]]) -> tuple[Float[Tensor, " _"], ...]:
    return tuple(torch.stack(same).mean(0) for same in zip(*rows, strict=True))


def leave_one_out_sizes(model: AttentionModel, split: EncodedSplit) -> tuple[Float[Tensor, " _"], ...]:
    """For each text, the total variation distance of the prediction without each item; NaN where nothing is left.

    One value per position without padding, as attention in `outputs`; 0 where there is no item.
    """
    sizes: dict[int, Tensor] = {}
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for batch in read(split, READ_SIZE, model.device):
            seen = trace(model, batch)
            without, items = leave_one_out(model, seen).softmax(-1), seen.encoded.items
            moved = total_variation_distance(without, seen.logits.softmax(-1)[:, None].expand_as(without))
            moved = moved.masked_fill(~items, 0.0).cpu()
            last = items.long().cumsum(1).argmax(1) + 1
            sizes |= {index: moved[row, : last[row]] for row, index in enumerate(batch.index.tolist())}
    model.train(was_training)
    return tuple(sizes[index] for index in range(len(split.texts)))
