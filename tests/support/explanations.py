"""Explanations made up by hand, for what shows them."""

from collections.abc import Sequence

from heedful.auditing.explanation import Action, Explanation, Guidance, OtherAttention, SmallestSet

RANKINGS = {
    "attention": "attention",
    "instead": "attention_x_gradient",
    "nothing": "gradient_x_input",
    "not audited": "leave_one_out",
}
NAMES = {
    "attention_x_gradient": "attention x gradient",
    "gradient_x_input": "gradient x input",
    "leave_one_out": "leave-one-out",
}

OTHER = OtherAttention(
    weights=(0.0, 0.1, 0.9), js=0.45, share=0.81, predicted="good", probability=0.846, eps=0.01, solver="exact"
)


def make_guidance(action: Action = "instead") -> Guidance:
    ranking = RANKINGS[action]
    return Guidance(action, ranking, NAMES.get(ranking, ranking), f"Lead of {action}.", f"Trust of {action}.")


def make_explanation(
    items: Sequence[str] = ("A", "great", "film"), action: Action = "instead", **changes
) -> Explanation:
    """Three words, of which the second speaks for the answer and the third against it."""
    made = {
        "text": " ".join(items),
        "query": "",
        "items": tuple(items),
        "predicted": "good",
        "probabilities": {"bad": 0.15, "good": 0.85},
        "attention": (0.25, 0.5, 0.25),
        "weights": (0.01, 0.4, -0.2),
        "smallest_set": SmallestSet(positions=(1,), becomes="bad", probability=0.62),
        "other_attention": OTHER,
        "solver": "exact",
        "guidance": make_guidance(action),
    }
    return Explanation(**{**made, **changes})
