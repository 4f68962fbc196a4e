"""The answer of an audit as a section of a model card: Markdown after `model-index` metadata. Needs no torch."""

import json
from collections.abc import Iterator

from heedful.formatting import printable
from heedful.schema import AuditAnswer, ClassAnswer, Interval, Verdict
from heedful.settings import OutcomeSettings
from heedful.settings.validation import validate_settings
from heedful.verdict.answer_text import (
    QUESTION,
    accuracy_text,
    per_100,
    recommendation_text,
    remarks,
    share_text,
)

METRIC = "attention_points_to_key_words"
"""Type of the metric in `model-index`: a share of texts, from 0 to 1."""
JUDGED = ("Yes", "For some texts", "No")
"""Answers whose share is published as a metric."""


def model_card(verdict: Verdict, answer: AuditAnswer) -> str:
    """The section, with metadata that Hugging Face reads: shares and accuracy as evaluation results."""
    item = verdict.item
    lines = [*_metadata(verdict, answer), "", f"## {QUESTION}", ""]
    lines += [f"**{_cell(answer.headline)}.** {_cell(answer.sentence)}".rstrip(), ""]
    lines += [_cell(recommendation_text(answer)), ""] if answer.recommendation else []
    lines += [
        "| predicted class | answer | texts | attention points | luck | no small set decides | words replaced |",
        "|---|---|---:|---:|---:|---:|---:|",
        *map(_row, (answer.overall, *answer.classes)),
        "",
        f"Shares are of 100 texts, with their 95% intervals. Attention *points* if its top {item}s have at least "
        f"{_settings(verdict).enough:.0%} of the key {item}s' effect on the prediction, measured from chance. "
        "This share is among the texts in which a small set decides. *Luck* is the share that random words reach.",
        "",
        *(f"- {_cell(sentence)}" for sentence in (*_facts(verdict), *remarks(verdict), *_limits(verdict, answer))),
    ]
    return "\n".join(lines) + "\n"


def _metadata(verdict: Verdict, answer: AuditAnswer) -> Iterator[str]:
    """The front matter, every string quoted as JSON, which YAML reads."""
    shares = {"": answer.overall} | {f", predicted {each.shares.label}": each for each in answer.classes}
    known = {of: own.shares.points.value for of, own in shares.items() if own.answer in JUDGED}
    metrics = [("accuracy", "Accuracy", verdict.scores.get("accuracy"))]
    metrics += [(METRIC, f"Attention points to the key {verdict.item}s{of}", value) for of, value in known.items()]
    quoted = {
        name: json.dumps(text) for name, text in {"model": verdict.model or verdict.run, "data": _data(verdict)}.items()
    }
    yield from ("---", "model-index:", f"- name: {quoted['model']}", "  results:", "  - task:")
    yield from ("      type: text-classification", "    dataset:", f"      type: {quoted['data']}")
    yield from (f"      name: {quoted['data']}", f"      split: {json.dumps(verdict.split)}", "    metrics:")
    for kind, name, value in metrics:
        if value is not None:
            yield from (f"    - type: {kind}", f"      name: {json.dumps(name)}", f"      value: {value:.4f}")
    yield "---"


def _row(own: ClassAnswer) -> str:
    shares, replaced = own.shares, own.replaced
    luck = "–" if shares.luck is None or shares.points.value is None else f"{100 * shares.luck:.0f}"
    cells = [shares.label or "all texts", own.answer, f"{shares.texts:,}", share_text(shares.points), luck]
    cells += [share_text(shares.no_small_set), share_text(replaced.points if replaced else Interval())]
    return f"| {' | '.join(map(_cell, cells))} |"


def _facts(verdict: Verdict) -> Iterator[str]:
    content = f" (fingerprint {verdict.fingerprint})" if verdict.fingerprint else ""
    yield f"Data: {verdict.texts:,} {verdict.split} texts of {_data(verdict)}{content}."
    if accuracy := accuracy_text(verdict):
        yield f"Accuracy: {accuracy}."
    seeds = [str(training.seed) for training in verdict.trainings if training.seed is not None]
    if seeds:
        yield f"{'Seeds' if len(seeds) > 1 else 'Seed'}: {', '.join(seeds)}."
    date = f" on {verdict.date}" if verdict.date else ""
    yield f"Audited{date} with Heedful {verdict.versions.get('heedful', '')}".rstrip() + "."


def _limits(verdict: Verdict, answer: AuditAnswer) -> Iterator[str]:
    """What the answer does not cover."""
    yield "Limits: the answer is about this model on these texts. On other texts it can differ."
    if len(verdict.trainings) == 1 and verdict.trainings[0].seed is not None:
        yield "One seed was audited. The same model trained with other seeds can get a different answer."
    few = [each for each in answer.classes if each.answer == "Too few texts"]
    if few:
        yield f"Too few texts for an answer: {', '.join(str(each.shares.label) for each in few)}."
    if answer.overall.shares.no_small_set.value:
        none = per_100(answer.overall.shares.no_small_set)
        yield f"In {none} no small set of {verdict.item}s decides: these predictions have no short explanation."
    yield f"Texts with {verdict.item}s removed differ from the texts that the model was trained on."


def _settings(verdict: Verdict) -> OutcomeSettings:
    audit = verdict.settings.get("audit", {})
    return validate_settings(OutcomeSettings, audit.get("outcome", {}))


def _data(verdict: Verdict) -> str:
    return verdict.data or "the given texts"


def _cell(text: str) -> str:
    """One line that no Markdown table breaks on."""
    return printable(" ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")
