"""Lines and verdicts with given scores."""

from heedful.schema import Line, Verdict


def make_line(
    score: float | None = 0.5, score_low: float | None = 0.4, score_high: float | None = 0.6, **changes
) -> Line:
    scored = {"score": score, "score_low": score_low, "score_high": score_high}
    return Line.model_validate({"name": "adversarial_attention", "question": "How?", **scored, **changes})


def make_verdict(*lines: Line, instead=None) -> Verdict:
    return Verdict(run="r", data="d", texts=3, labels=("a", "b"), lines=lines, advice=instead)


def verdict_of_scores(*scores: float | None, instead=None) -> Verdict:
    """Each score a line, sure of itself."""
    lines = [make_line(score, score, score, name=str(at)) for at, score in enumerate(scores)]
    return make_verdict(*lines, instead=instead)


def countable_line(low: float = 0.6, high: float = 0.8, **changes) -> Line:
    """A line that counts, but for the changes."""
    scored = {"score": (low + high) / 2, "score_low": low, "score_high": high}
    base = {"texts": 20, "group": "relevance", "floor": 0.1, "best": 0.9}
    return Line.model_validate({"name": "erase_one", "question": "How?", **scored, **base, **changes})


def countable_verdict(*lines: Line, learnt: bool | None = None) -> Verdict:
    """A verdict on just enough texts."""
    return Verdict(run="r", data="d", texts=20, labels=("a", "b"), lines=lines, learnt=learnt)
