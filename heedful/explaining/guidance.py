"""What a model's audit says about explaining its predictions: its answers, and which ranking to show."""

from heedful.explaining.explanation import Guidance
from heedful.schema import Verdict
from heedful.schema.rankings import METHODS, SHOWN, ranking_title
from heedful.settings import AuditSettings

NO_AUDIT = "No audit of this model is known."
NO_ANSWER = "The audit of this model did not judge texts, so it has no answer."


def guidance_of(verdict: Verdict | None, how_to_audit: str) -> Guidance:
    """The answers and the recommendation of the verdict.

    Args:
        how_to_audit: what to run if there is no answer.
    """
    answer = verdict.answer if verdict is not None else None
    if verdict is None or answer is None:
        headline = NO_AUDIT if verdict is None else NO_ANSWER
        how = f"To learn in how many texts attention points to the key words, run {how_to_audit}."
        return Guidance("not audited", "attention", "attention", headline, "", how)
    advice = answer.recommendation
    show, ranking, sentence = (
        ("key words", "", "") if advice is None else (advice.show, advice.ranking, advice.sentence)
    )
    if show != "ranking":
        ranking = "attention"
    elif ranking not in {**SHOWN, **METHODS}:
        # Only who made the scores could make them of a new text.
        sentence += " Those scores came from outside and cannot be computed here: the heat map shows attention."
        show, ranking = "key words", "attention"
    return Guidance(
        show=show,
        ranking=ranking,
        name=ranking_title(ranking),
        headline=answer.headline,
        sentence=answer.sentence,
        recommendation=sentence,
        basis=_basis(verdict),
        overall=answer.overall,
        classes={each.shares.label: each for each in answer.classes if each.shares.label is not None},
    )


def _basis(verdict: Verdict) -> str:
    """How many seeds and texts the answer rests on."""
    seeds = max(1, len(verdict.trainings))
    count = f"{seeds} seed{'' if seeds == 1 else 's'} and {verdict.texts:,} text{'' if verdict.texts == 1 else 's'}"
    return f"Audit of {count}{'; another seed may give another answer' if seeds == 1 else ''}."


def settings_of(verdict: Verdict | None) -> AuditSettings:
    """The settings by which the audit judged texts; the defaults without an audit."""
    used = verdict.settings.get("audit") if verdict is not None else None
    return AuditSettings.model_validate(used) if used else AuditSettings()
