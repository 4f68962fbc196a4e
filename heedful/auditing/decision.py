"""A prediction explained: outcome, ranking, smallest set that changes it, adversarial attention."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attribution.methods import ATTRIBUTIONS
from heedful.auditing.explanation import Explanation, Guidance, OtherAttention, SmallestSet, Solver
from heedful.auditing.outcomes import Judge, moved_information, scores_by_word, text_outcomes
from heedful.auditing.subject import Subject, float64_eval_copy
from heedful.auditing.words import check_count
from heedful.battery.adversarial_attention import EPS, EPS_QA, draw_start, search_adversary
from heedful.battery.checked_witness import check_adversarial_attention, check_flip_set
from heedful.battery.evidence import RANKINGS, Evidence, Weights
from heedful.data.batching import Batches
from heedful.exact import eps_max_js, eps_max_js_bound, minimal_flip_set
from heedful.models.hugging_face.attention_view import TransformerModel
from heedful.models.hugging_face.same_prediction import most_different
from heedful.models.linearity import validate_linearity
from heedful.schema import TextOutcome
from heedful.settings import AuditSettings
from heedful.types import Model, Trace


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
    subject: Subject, described: Mapping[int, Described], guidance: Guidance, settings: AuditSettings
) -> tuple[Explanation, ...]:
    """The prediction for each of the subject's texts, explained; measured as in an audit.

    Args:
        described: what is known of each text, by its index.
        settings: of the audit, by which texts are judged.
    """
    model = float64_eval_copy(subject.model)
    explained: dict[int, Explanation] = {}
    for batch in subject.batches():
        with torch.no_grad():
            seen = subject.trace(model, batch)
            evidence = Evidence(
                validate_linearity(model, seen), seen, subject.context, given=_given(model, seen, guidance)
            )
            explained |= dict(_explain_batch(evidence, described, guidance, settings))
    return tuple(explained[number] for number in subject.texts)


def _given(model: Model, seen: Trace, guidance: Guidance) -> dict[str, Weights]:
    """Scores of a recommended attribution method, to be judged like other rankings; the same draws for every text."""
    if guidance.ranking not in ATTRIBUTIONS:
        return {}
    scores = ATTRIBUTIONS[guidance.ranking](model, seen, torch.Generator().manual_seed(0))
    return {guidance.ranking: scores.cpu()}


def _explain_batch(
    evidence: Evidence, described: Mapping[int, Described], guidance: Guidance, settings: AuditSettings
) -> Iterator[tuple[int, Explanation]]:
    """The index of each text, and its explanation."""
    labels = evidence.context.labels
    outcomes = judged_outcomes(evidence, settings)
    smallest, other = smallest_sets(evidence, labels), other_attention(evidence, labels)
    for row, number in enumerate(evidence.trace.batch.index.tolist()):
        real, known, outcome = evidence.items[row], described[number], outcomes[row]["attention"]
        probabilities = dict(zip(labels, evidence.probabilities[row].tolist(), strict=True))
        yield (
            number,
            Explanation(
                text=known.text,
                query=known.query,
                items=_names(known, int(real.sum()), number),
                predicted=labels[int(evidence.predicted[row])],
                probabilities=probabilities,
                outcome=outcome,
                shown_outcome=outcomes[row].get(guidance.ranking, outcome),
                attention=tuple(evidence.attention[row, real].tolist()),
                weights=ranking_weights(evidence, row, guidance.ranking, outcome, settings),
                smallest_set=smallest[row],
                other_attention=other[row],
                solver=evidence.solver,
                guidance=guidance,
                item=known.item,
                notes=known.notes,
            ),
        )


def judged_outcomes(evidence: Evidence, settings: AuditSettings) -> list[dict[str, TextOutcome]]:
    """The outcomes of each text of a batch with words deleted, by ranking: those of an audit with these settings.

    A text without an outcome has one of attention, which says why.
    """
    context = evidence.context
    # The judge looks at the evidence alone: this subject has no other texts.
    subject = Subject("", evidence.model, "", (), Batches((), (), lambda _: evidence.trace.batch), context)
    judged, _ = Judge(subject, settings, replaced=()).judge(evidence)
    moved = moved_information(evidence, judged, settings.outcome)
    outcomes = []
    for row, words in enumerate(evidence.items.sum(1).tolist()):
        if row in judged:
            own = text_outcomes(judged[row], context.labels, "delete", moved.get(row), words)
        else:
            reason = "one word" if words < 2 else "undefined"
            own = [TextOutcome(predicted=context.labels[int(evidence.predicted[row])], words=words, reason=reason)]
        outcomes.append({each.ranking: each for each in own})
    return outcomes


def ranking_weights(
    evidence: Evidence, row: int, ranking: str, outcome: TextOutcome, settings: AuditSettings
) -> tuple[float, ...]:
    """The weights of a ranking on the items of a text that was judged; NaN if the text has none."""
    real = evidence.items[row]
    if ranking in evidence.given:
        return tuple(evidence.given[ranking][row, real].tolist())
    if ranking == "attention":
        return tuple(evidence.attention[row, real].tolist())
    if ranking in RANKINGS:
        return tuple(RANKINGS[ranking](evidence)[row, real].tolist())
    if outcome.outcome is None:
        return (nan,) * int(real.sum())
    return tuple(scores_by_word(evidence, row, settings.outcome.alone_weight)[ranking].tolist())


def _names(known: Described, count: int, number: int) -> tuple[str, ...]:
    if not known.items:
        return tuple(f"item {position}" for position in range(1, count + 1))
    check_count(known.items, count, number)
    return known.items


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
    """Its divergence, NaN if there is none or none was found; its weights; how it was solved."""
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
        witness = eps_max_js_bound(attention, evidence.item_logits, items, eps)
        js, weights, solver = witness.js, witness.attention, "bound"
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
    """Where the search begins for each text: the same whatever other texts are in its batch."""
    rows = []
    for real in items:
        generator = torch.Generator().manual_seed(0)
        drawn = draw_start(real[real][None], generator)[0]
        rows.append(drawn.new_zeros(len(drawn), len(real)).masked_scatter(real.expand(len(drawn), -1), drawn))
    return torch.stack(rows)
