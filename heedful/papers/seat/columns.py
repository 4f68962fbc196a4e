"""The columns that the study reads, and the paper's quantities reconstructed from them."""

from collections.abc import Sequence

import torch
from torch.nn.functional import softplus

from heedful.battery.question import Values
from heedful.battery.stability_measures import suffixes
from heedful.papers.reproduction import Cell

NAME = "seat"
VANILLA, SEAT, SEAT_ALL, SEAT_CODE = "vanilla", "seat", "seat_all", "seat_code"
WITHOUT_STABILITY, WITHOUT_TOPK = "seat without stability", "seat without topk"
OTHER_SEEDS, SENSITIVITY = "other seeds", "sensitivity"
"""Roles: the model compared with the same from other seeds; its sensitivity, searched on fewer texts than the rest."""

RADII = (0.001, 0.005, 0.01, 0.05)
WORDS = (1, 2, 3)
BATCH = 32
"""Texts per batch, over which the paper's numbers are sums."""

CORRECT, LARGEST, ITEMS = "prediction.correct", "prediction.max_attention", "prediction.items"
ATTACK, ATTACK_TVD = "embedding_attack.js_answer", "embedding_attack.tvd_answer"
NOISE, REPLACED = "embedding_noise.js", "word_substitution.js"
COMPREHENSIVENESS = "comprehensiveness_sufficiency.comprehensiveness_{}".format
SUFFICIENCY = "comprehensiveness_sufficiency.sufficiency_{}".format
EMPTIED = "comprehensiveness_sufficiency.emptied"
SENSITIVITY_AREA = "sensitivity.auc_{}".format
OVERLAP, TO_COMPANION = "seeds.overlap", "seeds.max_js"
CERTIFICATE = "certificate.{}_simplex".format


def suffix(settings: Sequence[int | float], setting: int | float) -> str:
    """What follows a measure's name at one of the radii, or numbers of words, that were asked for.

    >>> suffix(RADII, 0.001), suffix(RADII, 0.05)
    ('', '_0.05')
    """
    return next(ending for ending, value in suffixes(settings).items() if value == setting)


def printed_tvd(cell: Cell, radius: float) -> Values | None:
    """What the paper prints as TVD of this model, reconstructed from ours; None where it was not measured.

    For all methods but vanilla, the sum over a batch of |dp| / 2. For vanilla, that of softplus(p') - p p', a
    cross-entropy that takes the new probability for a logit: 16 for a batch in which nothing moves, if the model is
    certain of every text and half of them belong to each class.
    """
    drop = cell.columns.get(f"embedding_attack.drop_answer{suffix(RADII, radius)}")
    if drop is None:
        return None
    if cell.method != VANILLA:
        return BATCH * drop.abs() / 2
    confidence, positive = cell.columns["prediction.probability"], cell.columns["prediction.predicted"] == 1
    before = torch.where(positive, confidence, 1 - confidence)
    after = torch.where(positive, before - drop, before + drop)
    return BATCH * (softplus(after) - before * after)


def printed_comprehensiveness(cell: Cell) -> Values | None:
    """What the paper prints as comprehensiveness: its code empties all words, and sums |dp| / 2 over a batch."""
    emptied = cell.columns.get(EMPTIED)
    return None if emptied is None else BATCH * emptied.abs() / 2


def largest_relative_to_uniform(cell: Cell) -> Values:
    """The largest weight of a text over the uniform weight: 1 where all words have the same."""
    return cell.columns[LARGEST] * cell.columns[ITEMS]
