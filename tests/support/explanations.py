"""Explanations made up by hand, for what shows them."""

from collections.abc import Sequence

from heedful.explaining.explanation import Explanation, Guidance, OtherAttention, Show, SmallestSet
from heedful.schema import Answer, ClassAnswer, Shares, TextOutcome
from heedful.schema.rankings import ranking_title

ANSWERS: dict[str, Answer] = {"bad": "No", "good": "Yes"}
RANKINGS: dict[Show, str] = {"ranking": "attention_x_gradient"}

OTHER = OtherAttention(
    weights=(0.0, 0.1, 0.9), js=0.45, share=0.81, predicted="good", probability=0.846, eps=0.01, solver="exact"
)
POINTS = TextOutcome(
    predicted="good",
    probability=0.85,
    words=3,
    outcome="points",
    top_words=(1,),
    key_words=(1,),
    alone_predicted="good",
    alone_probability=0.97,
    without_predicted="bad",
    without_probability=0.61,
)


def outcome_like(**changes) -> TextOutcome:
    """An outcome of the same text, but for the changes."""
    return TextOutcome.model_validate({**dict(POINTS), **changes})


NO_OUTCOME = {"outcome": None, "key_words": (), "top_words": ()}
OUTCOMES = {
    "points": POINTS,
    "misses": outcome_like(outcome="misses", top_words=(2,), is_moved=False),
    "moved": outcome_like(outcome="misses", top_words=(2,), is_moved=True),
    **{
        reason: outcome_like(outcome="no_small_set", reason=reason)
        for reason in ("many words", "default", "any words", "default or any words")
    },
    **{reason: outcome_like(reason=reason, **NO_OUTCOME) for reason in ("one word", "undefined")},
}
"""A text of every outcome and reason."""


def make_guidance(show: Show = "ranking") -> Guidance:
    ranking = RANKINGS.get(show, "attention")
    classes = {
        label: ClassAnswer(answer=answer, sentence=f"Numbers of {label}.", shares=Shares(label=label))
        for label, answer in ANSWERS.items()
    }
    overall = ClassAnswer(answer="For some texts", sentence="Numbers of all.", shares=Shares())
    parts = {} if show == "not audited" else {"basis": "Basis.", "overall": overall, "classes": classes}
    return Guidance(show, ranking, ranking_title(ranking), f"Headline of {show}.", "", f"Advice of {show}.", **parts)


def make_explanation(items: Sequence[str] = ("A", "great", "film"), show: Show = "ranking", **changes) -> Explanation:
    """Three words, of which the second supports the prediction and the third opposes it."""
    made = {
        "text": " ".join(items),
        "query": "",
        "items": tuple(items),
        "predicted": "good",
        "probabilities": {"bad": 0.15, "good": 0.85},
        "outcome": POINTS,
        "shown_outcome": outcome_like(ranking=RANKINGS.get(show, "attention")),
        "attention": (0.25, 0.5, 0.25),
        "weights": (0.01, 0.4, -0.2),
        "smallest_set": SmallestSet(positions=(1,), becomes="bad", probability=0.62),
        "other_attention": OTHER,
        "solver": "exact",
        "guidance": make_guidance(show),
    }
    return Explanation(**{**made, **changes})
