"""Deceptive attention: predict the label, and attend to all words but those that decide it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.items import items_with
from heedful.training.methods.method import Method, Step
from heedful.training.methods.vanilla import vanilla
from heedful.types import Model, Reference, Trace


def deceptive(step: Step) -> Float[Tensor, " batch"]:
    """-ln p(label) - ln(1 - attention on the listed words), which are those of the text's rationale.

    The second term is 0 if no word is listed. It is the penalty of Pruthi et al. (2020, arXiv:1909.07913), with weight
    1. The first two epochs are honest (cross-entropy alone): without them, models that read each word alone do not
    learn the task. The epoch is chosen by the whole loss on dev. Set `epochs = 16`, `min_epochs = 8` and `patience = 2`
    to give attention time to move.
    """
    return vanilla(step) - log_unlisted(step.model, step.trace)


def log_unlisted(model: Model, trace: Trace) -> Float[Tensor, " batch"]:
    """Logarithm of the attention on words that are not listed: log-sum-exp of their scores minus that of all.

    It is finite even if that attention underflows to 0.
    """
    items = trace.encoded.items
    scores = trace.scores / getattr(model, "temperature", 1.0)
    others = scores.masked_fill(~items | listed_items(trace), -torch.inf)
    return others.logsumexp(-1) - scores.masked_fill(~items, -torch.inf).logsumexp(-1)


def listed_items(trace: Trace) -> Bool[Tensor, "batch item"]:
    """The items in which a word is listed; none in texts without a rationale."""
    marks = trace.batch.marks
    if marks is None:
        return torch.zeros_like(trace.encoded.items)
    return items_with(trace, (marks > 0).any(1) & trace.batch.attendable_mask)


def listed_logs(trace: Trace, reference: Reference | None) -> dict[str, Float[Tensor, " batch"]]:
    """Attention on the listed words."""
    return {"listed_attention": trace.attention.masked_fill(~listed_items(trace), 0.0).sum(-1)}


METHOD = Method(deceptive, selects="loss", needs_rationales=True, honest_epochs=2, stops_early=False, logs=listed_logs)
