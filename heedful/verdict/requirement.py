"""Whether an answer is good enough for `heedful audit --require`; docs/answer.md has the rule."""

from typing import Literal

from heedful.schema import Answer, AuditAnswer
from heedful.verdict.answer_text import answered_classes

Required = Literal["yes", "some"]
ENOUGH: dict[Required, tuple[Answer, ...]] = {"yes": ("Yes",), "some": ("Yes", "For some texts")}
"""Answers that meet each requirement."""
REQUIRED: dict[str, Required] = {name: name for name in ENOUGH}
"""Requirements by name."""
NO_CLASS: tuple[Answer, ...] = ("Too few texts", "Nothing to explain")
"""Overall answers that no class can change."""


def unmet_requirement(answer: AuditAnswer, required: Required) -> str:
    """Why an answer does not meet a requirement, in a sentence or more; empty if it does.

    The worst class decides. Classes with too few texts do not count. If all classes have too few texts, the overall
    answer decides.
    """
    overall = answer.overall
    deciding = [overall] if overall.answer in NO_CLASS else answered_classes(answer) or [overall]
    reasons = [
        f"{'All texts' if each.shares.label is None else f'Class {each.shares.label}'}: {each.answer}. {each.sentence}"
        for each in deciding
        if each.answer not in ENOUGH[required]
    ]
    return " ".join(reasons)
