"""Adversarial models: fresh models trained to predict as the reference run does and to attend elsewhere.

Labels are not used. Both methods train all parameters and keep the epoch with their lowest loss.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.measures import js_divergence, kl_divergence, total_variation_distance
from heedful.settings import NonNegative
from heedful.training.methods.method import Method, Step, require_reference
from heedful.types import Reference, Trace


def adversarial_model(step: Step) -> Float[Tensor, " batch"]:
    """Distance of the predictions minus that of attention: TVD - JSD / ln 2, both from the reference run's.

    Between -1, the same prediction from disjoint attention, and 1; 0 for the reference itself. For two classes the TVD
    is |p - p_reference|. Class weights are not used. Amini and Kosseim (2022, section 3.2, equation 4) take the
    plain mean over the batch: their runs have `loss_sum = "mean"`, `epochs = 80`, `patience = 10`,
    `selection = "paper"`. The adversarial model of a recurrent model may stay for 5 to 20 epochs on a plateau where it
    predicts the same for every text; `min_epochs` keeps it from being stopped there.
    """
    trace = step.trace
    base = require_reference(step.reference)
    js = js_divergence(trace.attention, base.attention, trace.encoded.items)
    return _prediction_distance(trace, base) - js / log(2)


def adversarial_model_kl(
    step: Step, *, weight: NonNegative = 1e-3, tvd_weight: NonNegative = 1.0
) -> Float[Tensor, " batch"]:
    """The same with an unbounded divergence: tvd_weight x TVD - weight x KL(attention || reference's attention).

    Only the ratio of the two weights affects where the minimum is; their size matters relative to weight decay.
    Wiegreffe and Pinter (2019, arXiv:1908.04626, section 4). Their code sums |dp| / 2 over one output unit, half of our
    TVD, and multiplies the sum over the batch by the sum of its class weights. `tvd_weight = 0.5`, `weight` their
    lambda, `loss_sum = "sum"` and `class_weights = true` reproduce that; `epochs = 80`, `patience = 10` and
    `selection = "train"` stop and select as they do (except that their training loss multiplies each batch by its class
    weights).

    A reference weight that underflowed to 0, where the divergence is infinite and their code stops, is replaced by the
    smallest normal number.

    Args:
        weight: the weight of the divergence; their lambda, or twice that with a `tvd_weight` of 1.
    """
    trace = step.trace
    base = require_reference(step.reference)
    floor = torch.finfo(base.attention.dtype).tiny
    kl = kl_divergence(trace.attention, base.attention.clamp_min(floor), trace.encoded.items)
    return tvd_weight * _prediction_distance(trace, base) - weight * kl


def _prediction_distance(trace: Trace, base: Reference) -> Float[Tensor, " batch"]:
    return total_variation_distance(trace.logits.softmax(-1), base.logits.softmax(-1))


METHOD = Method(adversarial_model, selects="loss", needs_reference=True, stops_early=False, weighs="nothing")
METHOD_KL = Method(adversarial_model_kl, selects="loss", needs_reference=True, stops_early=False, weighs="batch")
