"""Counterfactuals: the smallest set of items whose erasure flips the prediction, and adversarial attention."""

from collections.abc import Sequence
from math import isnan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.battery.adversarial_attention import EPS, EPS_QA, draw_start, search_adversary
from heedful.battery.checked_witness import check_adversarial_attention, check_flip_set
from heedful.battery.evidence import RANKINGS, Evidence, Weights
from heedful.exact import eps_max_js, eps_max_js_bound, minimal_flip_set
from heedful.explaining.explanation import OtherAttention, SmallestSet, Solver
from heedful.models.abilities import several_heads
from heedful.models.hugging_face.same_prediction import most_different


def smallest_sets(evidence: Evidence, labels: Sequence[str]) -> list[SmallestSet | None]:
    """The smallest set of items whose erasure changes the prediction, for each text; None if there is none."""
    if evidence.item_logits is None:
        erased = _pruned(evidence, _smallest_prefix(evidence))
    else:
        erased = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items).erased
        check_flip_set(evidence, erased)
    logits = evidence.decode_kept(evidence.items & ~erased)
    # If two classes tie within rounding, the prediction may still win: what it becomes is the best of the others.
    becomes = logits.scatter(1, evidence.predicted[:, None], -torch.inf).argmax(1)
    probability = logits.softmax(-1).gather(1, becomes[:, None])[:, 0]
    return [
        SmallestSet(
            positions=tuple(erased[row, evidence.items[row]].nonzero()[:, 0].tolist()),
            becomes=labels[int(becomes[row])],
            probability=probability[row].item(),
        )
        if erased[row].any()
        else None
        for row in range(len(erased))
    ]


def _flips(evidence: Evidence, erased: Bool[Tensor, "batch item"]) -> Bool[Tensor, " batch"]:
    logits = evidence.decode_kept(evidence.items & ~erased)
    return (logits.argmax(-1) != evidence.predicted) & logits.isfinite().all(1)


def _smallest_prefix(evidence: Evidence) -> Bool[Tensor, "batch item"]:
    """The shortest prefix of any ranking that changes the prediction; empty if none does."""
    best = torch.zeros_like(evidence.items)
    # Ties in the order of the text: a random order would depend on the other texts of the batch.
    in_order = torch.arange(best.shape[1]).expand_as(best)
    for name in RANKINGS:
        erased, flipped = torch.zeros_like(evidence.items), torch.zeros_like(evidence.predicted, dtype=torch.bool)
        for place in evidence.ranked(name, in_order).unbind(1):
            erased = torch.where(flipped[:, None], erased, erased.scatter(1, place[:, None], True) & evidence.items)
            flipped = _flips(evidence, erased)
            if flipped.all():
                break
        is_better = flipped & (~best.any(1) | (erased.sum(1) < best.sum(1)))
        best = torch.where(is_better[:, None], erased, best)
    return best


def _pruned(evidence: Evidence, erased: Bool[Tensor, "batch item"]) -> Bool[Tensor, "batch item"]:
    """The sets without the items that are not needed: put back in turn if the prediction stays changed."""
    for position in range(erased.shape[1]):
        fewer = erased.clone()
        fewer[:, position] = False
        is_kept = _flips(evidence, fewer) & erased[:, position]
        erased = torch.where(is_kept[:, None], fewer, erased)
    return erased


def other_attention(evidence: Evidence, labels: Sequence[str]) -> list[OtherAttention | None]:
    """Adversarial attention for each text: the farthest that keeps the prediction within eps."""
    eps = EPS_QA if evidence.context.task == "qa" else EPS
    js, weights, solver = _most_different(evidence, eps)
    predictions = under(evidence, weights).softmax(-1)
    kept = predictions.gather(1, evidence.predicted[:, None])[:, 0]
    cap = eps_max_js(evidence.attention, torch.zeros(*evidence.items.shape, 2), evidence.items, eps).cap
    return [
        None
        if isnan(js[row].item()) or evidence.count[row] < 2
        else OtherAttention(
            weights=tuple(weights[row, evidence.items[row]].tolist()),
            js=js[row].item(),
            share=(js[row] / cap[row]).item() if cap[row] > 0 else 0.0,
            predicted=labels[int(predictions[row].argmax())],
            probability=kept[row].item(),
            eps=eps,
            solver=solver,
        )
        for row in range(len(js))
    ]


def _most_different(evidence: Evidence, eps: float) -> tuple[Float[Tensor, " batch"], Weights, Solver]:
    """Its divergence (NaN if none was found), its weights and its solver."""
    attention, items = evidence.attention, evidence.items
    if (heads := several_heads(evidence.model)) is not None:
        best = most_different(heads, evidence.trace, eps)
        return best.js.where(best.is_found, torch.nan).cpu(), best.attention.cpu(), "bound"
    if evidence.item_logits is None:
        js, weights = search_adversary(evidence.decode, attention, items, _starts(items), eps=eps).best(eps)
        return js.where(js > 0, torch.nan), weights, "search"
    if evidence.item_logits.shape[-1] == 2:
        best = eps_max_js(attention, evidence.item_logits, items, eps)
        js, weights, solver = best.js, best.attention, "exact"
    else:
        witness = eps_max_js_bound(attention, evidence.item_logits, items, eps)
        js, weights, solver = witness.js, witness.attention, "bound"
    check_adversarial_attention(evidence, weights, js, eps)
    return js, weights, solver


def under(evidence: Evidence, weights: Weights) -> Float[Tensor, "batch classes"]:
    """The logits under imposed attention, which is the same in every head of a transformer."""
    if (heads := several_heads(evidence.model)) is not None:
        return heads.impose_each(evidence.trace.encoded, weights.to(evidence.trace.attention)[:, None])[:, 0].cpu()
    return evidence.decode(weights)


def _starts(items: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch candidate item"]:
    """Starting points of the search for each text; they do not depend on the rest of the batch."""
    rows = []
    for real in items:
        generator = torch.Generator().manual_seed(0)
        drawn = draw_start(real[real][None], generator)[0]
        rows.append(drawn.new_zeros(len(drawn), len(real)).masked_scatter(real.expand(len(drawn), -1), drawn))
    return torch.stack(rows)
