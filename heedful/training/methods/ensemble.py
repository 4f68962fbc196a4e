"""Distillation of an ensemble: one model that attends and predicts as several seeds do in the mean."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.measures import js_divergence, kl_divergence
from heedful.settings import NonNegative, Seed
from heedful.training.methods.method import Method, Step, TeacherCount, Teachers, require_reference
from heedful.training.methods.vanilla import vanilla
from heedful.types import Reference, Trace


def ensemble(
    step: Step,
    *,
    teachers: TeacherCount = 3,
    teacher_seed: Seed | None = None,
    weight_attention: NonNegative = 1.0,
    weight_prediction: NonNegative = 1.0,
) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x KL(teachers' mean attention || attention) + weight x KL(their mean p || p).

    What a single training attends to is partly chance; the mean of several trainings is less so. The teachers are plain
    trainings of the same model from other seeds, made before it, or the one reference run that the run names. Hinton et
    al. (2015, arXiv:1503.02531), at temperature 1, for attention as well as for predictions.

    Args:
        teachers: how many.
        teacher_seed: the seed of the first; None: other seeds for each seed of the run, so that runs of different seeds
            share no teacher. Given, they share all: then they are alike because their teachers are the same.
    """
    base = require_reference(step.reference)
    loss = vanilla(step)
    return (
        loss + weight_attention * attention_gap(step.trace, base) + weight_prediction * prediction_gap(step.trace, base)
    )


def attention_gap(trace: Trace, reference: Reference) -> Float[Tensor, " batch"]:
    """KL(reference's attention || attention), in nats.

    A weight that underflowed to 0, where the divergence is infinite, is replaced by the smallest normal number.
    """
    own = trace.attention.clamp_min(torch.finfo(trace.attention.dtype).tiny)
    return kl_divergence(reference.attention.to(own), own, trace.encoded.items)


def prediction_gap(trace: Trace, reference: Reference) -> Float[Tensor, " batch"]:
    """KL(reference's p || p), in nats."""
    wanted, own = reference.logits.to(trace.logits).log_softmax(-1), trace.logits.log_softmax(-1)
    return (wanted.exp() * (wanted - own)).sum(-1)


def plain_teachers(*, teachers: TeacherCount = 3, teacher_seed: Seed | None = None) -> Teachers:
    """Plain trainings from other seeds."""
    return Teachers(teachers, first_seed=teacher_seed)


def ensemble_logs(trace: Trace, reference: Reference | None) -> dict[str, Float[Tensor, " batch"]]:
    """How far attention is from the teachers' (`teacher_js`), and the prediction from theirs (`teacher_kl`)."""
    base = require_reference(reference)
    js = js_divergence(trace.attention, base.attention.to(trace.attention), trace.encoded.items)
    return {"teacher_js": js, "teacher_kl": prediction_gap(trace, base)}


METHOD = Method(ensemble, logs=ensemble_logs, teachers=plain_teachers)
