"""What a model's audit says about explaining its decisions: which ranking to show, and how far to trust it."""

from heedful.auditing.explanation import Action, Guidance
from heedful.errors import pick
from heedful.schema import Headline, Verdict
from heedful.verdict.headline import headline
from heedful.verdict.ranking_names import METHODS, SHOWN, ranking_title

WITHOUT_ADVICE = "leave_one_out"
"""What is shown beside attention where no audit says which ranking to show."""


def guidance_of(verdict: Verdict | None, how_to_audit: str) -> Guidance:
    """What the verdict says, in the words of its headline.

    Args:
        how_to_audit: what to run where there is no verdict.
    """
    action, ranking = _choice(verdict)
    outside = {own.name: own.title for own in verdict.rankings} if verdict is not None else {}
    pick("ranking", ranking, {**SHOWN, **METHODS, **outside})
    name = ranking_title(ranking)
    lead = {
        "attention": "Attention may be shown.",
        "instead": f"Show {name}, not attention.",
        "nothing": "The audit advises to show nothing.",
        "not audited": "No audit of this model is at hand.",
    }[action]
    if verdict is None:
        trust = f"So nobody knows how far to trust this explanation. To find out, run {how_to_audit}."
    else:
        trust = _trust(verdict, headline(verdict))
    if ranking not in {**SHOWN, **METHODS}:
        # Only who made the scores could make them of a new text.
        shown = ranking_title(WITHOUT_ADVICE)
        remark = f" Those scores came from outside and cannot be computed here: {shown} is shown."
        return Guidance("nothing", WITHOUT_ADVICE, shown, lead + (remark if action == "instead" else ""), trust)
    return Guidance(action, ranking, name, lead, trust)


def _choice(verdict: Verdict | None) -> tuple[Action, str]:
    """What to do, and which ranking to show."""
    if verdict is None:
        return "not audited", WITHOUT_ADVICE
    if verdict.advice is not None:
        return verdict.advice.action, verdict.advice.ranking or WITHOUT_ADVICE
    # No other ranking was tested, or nothing is counted.
    return ("attention", "attention") if headline(verdict).answer == "yes" else ("nothing", WITHOUT_ADVICE)


def _trust(verdict: Verdict, answer: Headline) -> str:
    """How far to trust an explanation: what the audit rests on, what it says of attention, what to show."""
    texts = "1 text" if verdict.texts == 1 else f"{verdict.texts:,} texts"
    is_shut = answer.answer in ("nothing to explain", "too few texts")
    basis = f"{len(verdict.trainings)} trainings and {texts}"
    if len(verdict.trainings) < 2:
        basis = f"one training and {texts}{'' if is_shut else '; another seed may answer otherwise'}"
    reason = answer.text if is_shut else ""
    sentences = f"Audit of {basis}.", "May attention be shown?", answer.lead, reason, answer.advice
    return " ".join(part for part in sentences if part)
