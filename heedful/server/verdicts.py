"""What a model's audit says, as a strip on the page."""

from heedful.auditing.guidance import guidance_of
from heedful.schema import Verdict
from heedful.server.model_info import VerdictLine, VerdictStrip
from heedful.verdict.headline import headline


def verdict_strip(verdict: Verdict) -> VerdictStrip:
    """The verdict in the words of its headline, and each question with its outcome."""
    guidance, answer = guidance_of(verdict, ""), headline(verdict)
    action = guidance.action if guidance.action in ("attention", "instead") else "nothing"
    return VerdictStrip(
        action=action,
        answer=answer.answer,
        ranking=guidance.ranking,
        ranking_title=guidance.name,
        lead=answer.lead,
        sentences=list(answer.sentences),
        lines=[
            VerdictLine(
                name=line.name,
                question=line.question,
                group=line.group,
                outcome=line.outcome,
                score=line.score,
                low=line.score_low,
                high=line.score_high,
                sentence=line.sentence,
            )
            for line in verdict.lines
        ],
    )
