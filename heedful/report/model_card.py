"""The answer of an audit as a section of a model card: Markdown after `model-index` metadata. Needs no torch."""

import json

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from heedful.formatting import UNDEFINED, printable
from heedful.report.page import HERE
from heedful.schema import AuditAnswer, Interval, Verdict
from heedful.settings import OutcomeSettings
from heedful.settings.validation import validate_settings
from heedful.verdict.answer_text import QUESTION, accuracy_text, per_100, recommendation_text, remarks, share_text

JUDGED = ("Yes", "For some texts", "No")
"""Answers whose share is published as a metric."""


def model_card(verdict: Verdict, answer: AuditAnswer) -> str:
    """The section, with metadata that Hugging Face reads: shares and accuracy as evaluation results."""
    environment = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"cell": _cell, "quoted": json.dumps}
    return environment.get_template("model_card.md").render(
        verdict=verdict,
        answer=answer,
        answers=(answer.overall, *answer.classes),
        question=QUESTION,
        judged=JUDGED,
        enough=validate_settings(OutcomeSettings, verdict.settings.get("audit", {}).get("outcome", {})).enough,
        seeds=[str(training.seed) for training in verdict.trainings if training.seed is not None],
        accuracy=accuracy_text(verdict),
        recommended=recommendation_text(answer),
        remarks=remarks(verdict),
        share=lambda shares: share_text(shares.points if shares else Interval()),
        undecided=lambda shares: share_text(shares.no_small_set),
        luck=lambda shares: f"{100 * shares.luck:.0f}" if shares.points.n else UNDEFINED,
        per_100=per_100,
    )


def _cell(text: str) -> str:
    """One line that no Markdown table breaks on."""
    return printable(" ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")
