"""Lines with given scores."""

from heedful.schema import Line


def make_line(
    score: float | None = 0.5, score_low: float | None = 0.4, score_high: float | None = 0.6, **changes
) -> Line:
    scored = {"score": score, "score_low": score_low, "score_high": score_high}
    return Line.model_validate({"name": "adversarial_attention", "question": "How?", **scored, **changes})
