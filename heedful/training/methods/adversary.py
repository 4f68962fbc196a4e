"""Training an adversary: a fresh model that must predict as the reference run does and attend elsewhere.

No label is looked at. Both methods train everything and keep the epoch with the least loss of their own.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import SettingError
from heedful.measures import js_divergence, kl_divergence, total_variation
from heedful.training.methods.method import Method
from heedful.types import Model, Reference, Trace


def adversary(
    model: Model, trace: Trace, reference: Reference | None, generator: torch.Generator
) -> Float[Tensor, " batch"]:
    """How far the prediction moved less how far attention did: TVD - JSD / ln 2, both from the reference run's.

    Between -1, the same answer by quite other attention, and 1; 0 for the reference itself. For two classes the TVD is
    |p - p_reference|. Class weights do not count here. Amini and Kosseim (section 3.2, equation 4), who take the plain
    mean over the batch: their runs have `loss_sum = "mean"`, `epochs = 80`, `patience = 10`, `selection = "paper"`.
    The adversary of a recurrent model may sit for 5 to 20 epochs on a plateau, with one prediction for every text:
    `min_epochs` keeps patience from ending it there.
    """
    base = _given(reference)
    js = js_divergence(trace.attention, base.attention, trace.encoded.items)
    return _moved(trace, base) - js / log(2)


def adversary_kl(
    model: Model,
    trace: Trace,
    reference: Reference | None,
    generator: torch.Generator,
    *,
    weight: float = 1e-3,
    tvd_weight: float = 1.0,
) -> Float[Tensor, " batch"]:
    """The move less an unbounded divergence: tvd_weight x TVD - weight x KL(attention || reference's attention).

    Only the ratio of the two weights matters to the least loss; their size matters beside weight decay. Wiegreffe and
    Pinter (2019, arXiv:1908.04626, section 4). Their code sums |dp| / 2 over one output unit, half of our TVD, and
    multiplies the sum over the batch by the sum of its class weights: `tvd_weight = 0.5`, `weight` their lambda,
    `loss_sum = "sum"` and `class_weights = true` give that; `epochs = 80`, `patience = 10` and `selection = "train"`
    stop and select as they do (their training loss, though, counts each batch times its class weights).

    A reference weight that underflowed to 0, where the divergence is infinite and their code stops, counts as the
    smallest normal number.

    Args:
        weight: how much the divergence counts; their lambda, or twice it with a `tvd_weight` of 1.
    """
    base = _given(reference)
    floor = torch.finfo(base.attention.dtype).tiny
    kl = kl_divergence(trace.attention, base.attention.clamp_min(floor), trace.encoded.items)
    return tvd_weight * _moved(trace, base) - weight * kl


def _moved(trace: Trace, base: Reference) -> Float[Tensor, " batch"]:
    return total_variation(trace.logits.softmax(-1), base.logits.softmax(-1))


def _given(reference: Reference | None) -> Reference:
    if reference is None:
        raise SettingError("an adversary needs a reference run: give `reference` the key of a finished one.")
    return reference


METHOD = Method(adversary, selects="loss", needs_reference=True, weighs="nothing")
METHOD_KL = Method(adversary_kl, selects="loss", needs_reference=True, weighs="batch")
