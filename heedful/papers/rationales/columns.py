"""The columns that the study reads, and what its tables and claims derive from them."""

from math import nan

from heedful.battery.question import Values
from heedful.measures import Estimate
from heedful.measures.span_overlap import f1_of_means
from heedful.papers.reproduction import MINILM, Cell

NAME = "rationales"
HATEXPLAIN, MOVIES = "hatexplain", "eraser_movies"
NONE, ATTENTION, GUIDED, GUIDED_CODE = "none", "attention", "guided", "guided as published"
ATTENDING = (ATTENTION, GUIDED, GUIDED_CODE)
"""Ways to train a model whose attention is its own."""
PRINTED_AS = {NONE: "BiRNN", ATTENTION: "BiRNN-Attn", GUIDED: "BiRNN-HateXplain", GUIDED_CODE: "BiRNN-HateXplain"}
"""What Mathew et al. call the models."""
GRADIENT = "gradient_x_input"
"""The gradient beside attention: through the whole model."""

PRECISION, TOKEN_F1 = "plausibility.average_precision_{}".format, "plausibility.token_f1_{}".format
AUPRC = "plausibility.eraser_auprc_{}".format
SPAN_PRECISION, SPAN_RECALL = "plausibility.hatexplain_precision_{}".format, "plausibility.hatexplain_recall_{}".format
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
SUFFICIENCY = "comprehensiveness_sufficiency.sufficiency_{}".format
FRACTION = "erase_until_flip.fraction_{}".format


def model_name(cell: Cell) -> str:
    """What a cell's model is called: by how it was trained, and by its encoder where that is not the usual."""
    return f"MiniLM, {cell.method}" if cell.encoder == MINILM else cell.method


def iou_f1(cell: Cell, ranking: str) -> Estimate:
    """The F1 of mean precision and mean recall over all texts and seeds; as it is no mean, it has no interval."""
    precision, recall = (cell.columns[column(ranking)] for column in (SPAN_PRECISION, SPAN_RECALL))
    return Estimate(f1_of_means(precision, recall), nan, nan, int((~precision.isnan()).any(0).sum()))


def saved(cell: Cell, ranking: str = "attention") -> Values:
    """The share of a text that need not be erased in the order of the ranking, and must be in a random order."""
    return cell.columns[FRACTION("random")] - cell.columns[FRACTION(ranking)]
