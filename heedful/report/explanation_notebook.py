"""What a notebook shows of explanations: a piece of HTML that stands alone, in light and in dark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heedful.report import explanation_rows
from heedful.report.notebook import HUE, MOST_TOKENS, STRONGEST
from heedful.report.page import HERE, templates

if TYPE_CHECKING:
    from heedful.auditing.explanation import Explanation

AGAINST = "40, 120, 220"
"""Red, green and blue behind words that oppose the prediction."""
MOST_TEXTS = 10
"""Explanations that are shown; their page has all."""


def explanations_in_notebook(explanations: "Sequence[Explanation]", notes: Sequence[str] = ()) -> str:
    """The outcome of each text with its heat maps and sentences, and what the model's audit says."""
    left_out = len(explanations) - MOST_TEXTS
    more = [f"{left_out} more on the page that `save` writes."] if left_out > 0 else []
    environment = templates(HERE)
    environment.filters |= {"printable": explanation_rows.printable, "color": _color}
    return environment.get_template("notebook_explanation.html").render(
        explanations=explanations[:MOST_TEXTS],
        rows=explanation_rows,
        audit=explanation_rows.audit_sentences(explanations[:MOST_TEXTS]),
        definitions=explanation_rows.definitions(explanations),
        notes=[*notes, *more],
        most=MOST_TOKENS,
    )


def _color(token: explanation_rows.Token) -> str:
    """The color behind a word, as CSS has it.

    >>> _color(explanation_rows.Token("", "a", 0.5, "0.5", against=False, is_key=False, is_top=False))
    'rgba(240, 130, 0, 0.275)'
    """
    return f"rgba({AGAINST if token.against else HUE}, {round(STRONGEST * token.strength, 3):g})"
