"""What rankings are called: in columns, and in words. Needs no torch."""

from collections.abc import Iterable

SHOWN = {
    "gradient_x_input": "gradient x input",
    "attention_x_gradient": "attention x gradient",
    "leave_one_out": "leave-one-out",
    "attention": "attention",
}
"""Rankings that every audit tests and that can be shown to a reader, with their names as text."""
BOUNDS = ("random", "minimal")
"""A random order, and the smallest set that changes the decision: what rankings lie between."""
METHODS = {
    "weight_gradient": "weight gradient",
    "alone": "single-word probability",
    "effect": "single-word effect",
    "integrated_gradients": "integrated gradients",
    "smoothgrad": "SmoothGrad",
    "lime": "LIME",
    "shap": "SHAP",
    "rollout": "attention rollout",
    "value_norm": "attention by value norm",
}
"""Others that are known by name."""
VARIANTS = {
    "attention:alone_weight=0.5": "attention, words alone weigh 1/2",
    "attention:k-1": "attention, k one smaller",
    "attention:k+1": "attention, k one larger",
}
"""Attention judged by other definitions of the outcome; in outcomes.parquet they stand as rankings."""
OF_TRANSFORMERS = ("rollout", "value_norm")
"""Those that only Hugging Face models have."""
# fmt: off
TAKEN = (
    "first", "longest", "rarest", "best", "constant", "others", "annotator", "attention_others",
    "adversarial_attention", "minimal_set", "rationale", "noisy", "noisy_attention", "replacement",
    "replaced_attention", "seed_attention",
)
# fmt: on
"""What replaces a ranking in the names of measures, or is a measure of items."""
FRACTION = "erase_until_flip.fraction_"
"""What the column of the share of a text that a ranking erases begins with."""


def ranking_title(name: str) -> str:
    """The name of a ranking as text; external scores keep their own names.

    >>> ranking_title("attention_x_gradient"), ranking_title("integrated_gradients"), ranking_title("my-scores")
    ('attention x gradient', 'integrated gradients', 'my-scores')
    """
    return {**SHOWN, **METHODS, **VARIANTS}.get(name, name)


def rankings_in(columns: Iterable[str]) -> tuple[str, ...]:
    """The rankings whose columns these are: those of every audit first, then others in the order of their names.

    >>> rankings_in(["erase_until_flip.fraction_lime", "erase_until_flip.fraction_attention", "sign.value"])
    ('attention', 'lime')
    """
    measured = {column.removeprefix(FRACTION) for column in columns if column.startswith(FRACTION)}
    usual = [name for name in ("attention", *SHOWN, "weight_gradient") if name in measured]
    return tuple(dict.fromkeys([*usual, *sorted(measured - {*usual, *BOUNDS})]))
