"""What the study measures, by the names of its columns."""

from heedful.models.transformers import SCOPES

NAME = "transformers"

ATTENTION, VALUE_NORM, ROLLOUT, ALL_LAYERS = "attention", "value_norm", "rollout", "all_layers"
PRODUCT, GRADIENT, BEST_HEAD = "product", "gradient", "best_head"

RANKINGS = {
    ATTENTION: "last layer",
    VALUE_NORM: "value norm",
    ROLLOUT: "rollout",
    ALL_LAYERS: "all layers",
    BEST_HEAD: "best head",
    PRODUCT: "attention x gradient",
    GRADIENT: "input gradient",
}
"""Ways to rank words, and what tables call them. All but the last two are attention, which has no sign."""
SIGNED = (PRODUCT, GRADIENT)
SITES = {ATTENTION: "last", VALUE_NORM: "value-norm", ROLLOUT: "rollout", ALL_LAYERS: "all"}

PLACES = {scope: scope.replace("-", "_") for scope in SCOPES}
"""The scopes, and the test under which each has its columns."""
PLACE_NAMES = {"row": "[CLS], last layer", "row_all_layers": "[CLS], all layers", "all_rows": "all rows, all layers"}
CHANGES = ("uniform", "permuted", "blind")
"""Other attention over the words of a text: the same for each; that of other words; none."""

CORRECT, LABEL, PREDICTED = "prediction.correct", "prediction.label", "prediction.predicted"
AGREES = "agreement.{}".format
"""Kendall's tau-b with leave-one-out, how far the prediction moves; signed rankings by magnitude."""
SIGNED_AGREES = "signed_agreement.{}".format
"""The same with the sign of leave-one-out: how far the log odds of the decision fall."""
CONSISTENT = "polarity.{}".format
"""Whether deleting the top word moves the decision's probability in the direction of the word's sign."""
TOP = "top_word.{}".format
"""How far the prediction moves (TVD) when the top word is deleted from the text; of `random`, any word."""
HEAD = "heads.{}_{}".format
"""Agreement of a single head, by layer and head."""


def changed_correct(place: str, change: str) -> str:
    """Whether the decision is right with that other attention in that place."""
    return f"{place}.{change}_correct"


def changed_moves(place: str, change: str) -> str:
    """How far the prediction moves (TVD) with that other attention in that place."""
    return f"{place}.{change}_moves"
