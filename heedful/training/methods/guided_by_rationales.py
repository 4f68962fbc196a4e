"""Attention guided by rationales: also attend to the words that people marked."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import items_with
from heedful.errors import SettingError
from heedful.settings import NonNegative
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import vanilla
from heedful.types import Reference, Trace

Compared = Literal["attention", "softmax"]


def guided_by_rationales(
    step: Step, *, weight: NonNegative = 1.0, sharpness: NonNegative = 5.0, compared: Compared = "attention"
) -> Float[Tensor, " batch"]:
    """-ln p(label) + weight x KL(target || attention), the target being softmax(sharpness x share of annotators).

    The share is that of a text's annotators who marked the item: a text in which nobody marked anything has a uniform
    target, as HateXplain's normal posts do; a text that nobody looked at has no such term. Mathew et al. (2021,
    arXiv:2012.10289), whose code adds the cross-entropy, which differs from KL by a constant, with a sharpness of 5.

    Args:
        weight: of the term; their code has 100, for "softmax".
        compared: what the target is compared with: the attention weights, or ("softmax", as in their code) the softmax
            of the attention weights, which can never be sharp: its gradient is far smaller.
    """
    return vanilla(step) + weight * rationale_kl(step.trace, sharpness=sharpness, compared=compared)


def rationale_kl(trace: Trace, *, sharpness: float, compared: Compared) -> Float[Tensor, " batch"]:
    """KL of attention from the target; 0 for texts that nobody looked at."""
    share, is_known = annotator_shares(trace)
    items = trace.encoded.items
    target = (sharpness * share).masked_fill(~items, -torch.inf).log_softmax(-1)
    if compared == "softmax":
        logs = trace.attention.masked_fill(~items, -torch.inf).log_softmax(-1)
    else:
        # A weight that underflowed to 0 still has a finite logarithm.
        logs = trace.attention.clamp_min(torch.finfo(trace.attention.dtype).tiny).log()
    terms = (target.exp() * (target.masked_fill(~items, 0.0) - logs.masked_fill(~items, 0.0))).masked_fill(~items, 0.0)
    return terms.sum(-1).where(is_known, 0.0)


def annotator_shares(trace: Trace) -> tuple[Float[Tensor, "batch item"], Bool[Tensor, " batch"]]:
    """The share of a text's annotators who marked each item (a word of it), and whether the text has annotators."""
    marks = trace.batch.marks
    if marks is None:
        raise SettingError(
            "method 'guided_by_rationales' needs texts in which people marked words; these have no marks. Choose data "
            "with rationales, or name the column that holds them by --rationale."
        )
    is_present = ~marks.isnan().all(2)
    marked = torch.stack([items_with(trace, (own > 0) & trace.batch.attendable_mask) for own in marks.unbind(1)], 1)
    count = is_present.sum(1)
    share = (marked & is_present[..., None]).sum(1) / count.clamp_min(1)[:, None]
    return share.to(trace.attention), count > 0


def rationale_logs(
    trace: Trace, reference: Reference | None, *, sharpness: NonNegative = 5.0, compared: Compared = "attention"
) -> dict[str, Float[Tensor, " batch"]]:
    """How far attention is from the target: `rationale_kl`, 0 for texts that nobody looked at."""
    return {"rationale_kl": rationale_kl(trace, sharpness=sharpness, compared=compared)}


METHOD = Method(guided_by_rationales, logs=rationale_logs)
