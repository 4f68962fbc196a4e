"""Texts explained: each prediction with its outcome, its ranking, its smallest set and its adversarial attention."""

from collections.abc import Mapping
from math import nan
from typing import Any

import torch

from heedful.attribution.methods import ATTRIBUTIONS
from heedful.auditing.outcomes import Judge, moved_information, scores_by_word, text_outcomes
from heedful.battery.evidence import RANKINGS, Evidence
from heedful.data.batching import Batches
from heedful.errors import SettingError
from heedful.explaining.counterfactuals import other_attention, smallest_sets
from heedful.explaining.explanation import Explanation, Guidance, guidance_of, settings_of
from heedful.models.linearity import validate_linearity
from heedful.schema import TextOutcome, Verdict
from heedful.settings import AuditSettings
from heedful.subjects.read_text import DescribedText
from heedful.subjects.subject import Subject, SubjectTexts, check_count, float64_eval_copy


def explain_texts(subject: Subject, texts: Any, verdict: Verdict | None = None) -> tuple[Explanation, ...]:
    """The prediction for each text, explained; in the order of the texts, measured as in an audit.

    Args:
        texts: a text or several, or (text, query); batches for a custom model.
        verdict: verdict of the model's audit, which has the settings and recommends the ranking to show.
    """
    if verdict is not None:
        known = {verdict.run, verdict.settings.get("model"), *(training.run for training in verdict.trainings)}
        kind = type(subject.opened).__name__
        if not known & {subject.key, kind}:
            name = subject.key if subject.reads_text else kind
            raise SettingError(f"audit must belong to this model, {name}; it belongs to {verdict.run}.")
    guidance, settings = guidance_of(verdict, subject.how_to_audit), settings_of(verdict)
    read, described = subject.read_all(texts, () if verdict is None else verdict.labels)
    return explain_read(read, described, guidance, settings)


def explain_read(
    read: SubjectTexts, described: Mapping[int, DescribedText], guidance: Guidance, settings: AuditSettings
) -> tuple[Explanation, ...]:
    """The prediction for each text, explained.

    Args:
        described: text, items and notes, by the index of the text.
        settings: settings of the audit, which judge the texts.
    """
    model, labels = float64_eval_copy(read.model), read.context.labels
    explained: dict[int, Explanation] = {}
    for batch in read.batches():
        with torch.no_grad():
            seen, given = read.trace(model, batch), {}
            if guidance.ranking in ATTRIBUTIONS:  # the same draws for every text
                scores = ATTRIBUTIONS[guidance.ranking](model, seen, torch.Generator().manual_seed(0))
                given = {guidance.ranking: scores.cpu()}
            evidence = Evidence(validate_linearity(model, seen), seen, read.context, given=given)
            outcomes = judged_outcomes(evidence, settings)
            smallest, other = smallest_sets(evidence, labels), other_attention(evidence, labels)
            for row, number in enumerate(batch.index.tolist()):
                real, known, outcome = evidence.items[row], described[number], outcomes[row]["attention"]
                if known.labels:
                    check_count(known.labels, int(real.sum()), number)
                explained[number] = Explanation(
                    text=known.text,
                    query=known.query,
                    items=known.labels or tuple(f"item {position}" for position in range(1, int(real.sum()) + 1)),
                    predicted=labels[int(evidence.predicted[row])],
                    probabilities=dict(zip(labels, evidence.probabilities[row].tolist(), strict=True)),
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
                )
    return tuple(explained[number] for number in read.numbers)


def judged_outcomes(evidence: Evidence, settings: AuditSettings) -> list[dict[str, TextOutcome]]:
    """The outcomes of each text of a batch with words deleted, by ranking: those of an audit with these settings.

    A text without an outcome has one of attention, which says why.
    """
    context = evidence.context
    # The judge looks at the evidence alone: there are no other texts.
    texts = SubjectTexts("", evidence.model, "", (), Batches((), (), lambda _: evidence.trace.batch), context)
    judged, _ = Judge(texts, settings, replaced=()).judge(evidence)
    moved = moved_information(evidence, judged, settings.outcome)
    by_text = (
        text_outcomes(judged.get(row), evidence, row, "delete", moved.get(row)) for row in range(len(evidence.items))
    )
    return [{each.ranking: each for each in outcomes} for outcomes in by_text]


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
