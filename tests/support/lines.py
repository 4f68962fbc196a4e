"""Lines and verdicts with given scores."""

from heedful.schema import Line, Verdict


def make_line(
    score: float | None = 0.5, score_low: float | None = 0.4, score_high: float | None = 0.6, **changes
) -> Line:
    scored = {"score": score, "score_low": score_low, "score_high": score_high}
    return Line.model_validate({"name": "adversarial_attention", "question": "How?", **scored, **changes})


def make_verdict(*lines: Line, instead=None) -> Verdict:
    return Verdict(run="r", data="d", texts=3, labels=("a", "b"), lines=lines, show_instead=instead)


def verdict_of_scores(*scores: float | None, instead=None) -> Verdict:
    """Each score a line, sure of itself."""
    lines = [make_line(score, score, score, name=str(at)) for at, score in enumerate(scores)]
    return make_verdict(*lines, instead=instead)
