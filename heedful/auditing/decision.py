"""A decision explained: prediction, ranking, smallest set that changes it, most different attention."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.methods import ATTRIBUTIONS
from heedful.auditing.explanation import Explanation, Guidance, OtherAttention, SmallestSet, Solver
from heedful.auditing.subject import Subject, float64_eval_copy
from heedful.auditing.words import check_count
from heedful.battery.adversarial_attention import EPS, EPS_QA
from heedful.battery.adversarial_search import draw_start, search_adversary
from heedful.battery.evidence import RANKINGS, Evidence, Weights
from heedful.battery.witness import check_adversarial_attention, check_flip_set
from heedful.exact import eps_max_js, eps_max_js_bracket, minimal_flip_set
from heedful.models.linearity import validate_linearity
from heedful.models.transformers.model import TransformerModel
from heedful.models.transformers.other_attention import most_different


@dataclass(frozen=True)
class Described:
    """What is known of a text beyond its tokens.

    Args:
        items: what its items are called; empty: they are numbered.
    """

    text: str = ""
    query: str = ""
    items: tuple[str, ...] = ()
    item: str = "item"
    notes: tuple[str, ...] = ()


def explain_subject(
    subject: Subject, described: Mapping[int, Described], guidance: Guidance
) -> tuple[Explanation, ...]:
    """The decision on each of the subject's texts, explained; measured as in an audit.

    Args:
        described: what is known of each text, by its number.
    """
    model = float64_eval_copy(subject.model)
    explained: dict[int, Explanation] = {}
    for batch in subject.batches():
        with torch.no_grad():
            seen = subject.trace(model, batch)
            evidence = Evidence(validate_linearity(model, seen), seen, subject.context)
            explained |= dict(_explain_batch(evidence, described, guidance))
    return tuple(explained[number] for number in subject.texts)


def _explain_batch(
    evidence: Evidence, described: Mapping[int, Described], guidance: Guidance
) -> Iterator[tuple[int, Explanation]]:
    """The number of each text, and its explanation."""
    labels = evidence.context.labels
    own = _shown_weights(evidence, guidance.ranking)
    smallest, other = smallest_sets(evidence, labels), other_attention(evidence, labels)
    for row, number in enumerate(evidence.trace.batch.index.tolist()):
        real, known = evidence.items[row], described[number]
        probabilities = dict(zip(labels, evidence.probabilities[row].tolist(), strict=True))
        yield (
            number,
            Explanation(
                text=known.text,
                query=known.query,
                items=_names(known, int(real.sum()), number),
                predicted=labels[int(evidence.predicted[row])],
                probabilities=probabilities,
                attention=tuple(evidence.attention[row, real].tolist()),
                weights=tuple(own[row, real].tolist()),
                smallest_set=smallest[row],
                other_attention=other[row],
                solver=evidence.solver,
                guidance=guidance,
                item=known.item,
                notes=(*known.notes, *_notes(int(real.sum()), known.item)),
            ),
        )


def _shown_weights(evidence: Evidence, ranking: str) -> Weights:
    """The weights of the ranking that is shown; what it draws, it draws alike for every text."""
    if ranking == "attention":
        return evidence.attention
    if ranking in ATTRIBUTIONS:
        return ATTRIBUTIONS[ranking](evidence.model, evidence.trace, torch.Generator().manual_seed(0)).cpu()
    return RANKINGS[ranking](evidence)


def _names(known: Described, count: int, number: int) -> tuple[str, ...]:
    if not known.items:
        return tuple(f"item {position}" for position in range(1, count + 1))
    check_count(known.items, count, number)
    return known.items


def _notes(count: int, item: str) -> list[str]:
    single = f"There is a single {item}: attention has no choice but to give it all the weight."
    return [single] if count == 1 else []


def smallest_sets(evidence: Evidence, labels: Sequence[str]) -> list[SmallestSet | None]:
    """The smallest set of items whose erasure changes the decision, for each text; None where there is none."""
    if evidence.item_logits is None:
        erased = _pruned(evidence, _smallest_prefix(evidence))
    else:
        erased = minimal_flip_set(evidence.log_attention, evidence.item_logits, evidence.items).erased
        check_flip_set(evidence, erased)
    logits = evidence.decode_kept(evidence.items & ~erased)
    # Where two classes tie within rounding, the decision may still win: what it becomes is the best of the others.
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
    """The shortest prefix of any ranking that changes the decision; empty where none does."""
    best = torch.zeros_like(evidence.items)
    # Ties in the order of the text: a random order would depend on the texts beside it.
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
    """The sets without the items that are not needed: put back in turn, where the decision stays changed."""
    for position in range(erased.shape[1]):
        fewer = erased.clone()
        fewer[:, position] = False
        is_kept = _flips(evidence, fewer) & erased[:, position]
        erased = torch.where(is_kept[:, None], fewer, erased)
    return erased


def other_attention(evidence: Evidence, labels: Sequence[str]) -> list[OtherAttention | None]:
    """The most different attention with the same answer, for each text."""
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
    """Its divergence, NaN where there is none or none was found; its weights; how it was solved."""
    attention, items = evidence.attention, evidence.items
    if isinstance(evidence.model, TransformerModel):
        best = most_different(evidence.model, evidence.trace, eps)
        return best.js.where(best.is_found, torch.nan).cpu(), best.attention.cpu(), "bound"
    if evidence.item_logits is None:
        js, weights = search_adversary(evidence.decode, attention, items, _starts(items), eps=eps).best(eps)
        return js.where(js > 0, torch.nan), weights, "search"
    if evidence.item_logits.shape[-1] == 2:
        best = eps_max_js(attention, evidence.item_logits, items, eps)
        js, weights, solver = best.js, best.attention, "exact"
    else:
        bracket = eps_max_js_bracket(attention, evidence.item_logits, items, eps)
        js, weights, solver = bracket.lower, bracket.attention, "bound"
    check_adversarial_attention(evidence, weights, js, eps)
    return js, weights, solver


def under(evidence: Evidence, weights: Weights) -> Float[Tensor, "batch classes"]:
    """The logits under other attention, which a transformer has in every head alike."""
    if isinstance(evidence.model, TransformerModel):
        return evidence.model.impose_each(evidence.trace.encoded, weights.to(evidence.trace.attention)[:, None])[
            :, 0
        ].cpu()
    return evidence.decode(weights)


def _starts(items: Bool[Tensor, "batch item"]) -> Float[Tensor, "batch candidate item"]:
    """Where each text's search begins: the same whatever texts are beside it."""
    rows = []
    for real in items:
        generator = torch.Generator().manual_seed(0)
        drawn = draw_start(real[real][None], generator)[0]
        rows.append(drawn.new_zeros(len(drawn), len(real)).masked_scatter(real.expand(len(drawn), -1), drawn))
    return torch.stack(rows)
