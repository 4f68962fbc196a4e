"""What a model's audit says, as a strip on the page."""

from heedful.auditing.guidance import guidance_of
from heedful.schema import Verdict
from heedful.server.model_info import AuditStrip, BatteryLine


def audit_strip(verdict: Verdict) -> AuditStrip:
    """The answer with its numbers, the recommendation, and each test that explains it."""
    guidance = guidance_of(verdict, "`heedful audit` without `--tests`")
    by_class = [f"{label}: {own.answer}. {own.sentence}" for label, own in guidance.classes.items()]
    return AuditStrip(
        show=guidance.show,
        headline=guidance.headline,
        sentences=[guidance.sentence] if guidance.sentence else by_class,
        recommendation=guidance.recommendation,
        lines=[BatteryLine(name=line.name, question=line.question, sentence=line.sentence) for line in verdict.lines],
    )
