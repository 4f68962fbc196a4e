"""Programs of several texts with any number of classes, and attention within eps."""

import numpy as np

from heedful.exact.hull_programs import Programs, moved, programs_of
from heedful.exact.several_classes import changes
from support.exact_strategies import random_rows


def some_programs(batch: int, count: int, classes: int, seed: int, eps: float) -> tuple[Programs, np.ndarray]:
    rows = random_rows(batch=batch, count=count, classes=classes, seed=seed)
    weight = rows.attention.numpy()
    return programs_of(weight, rows.item_logits.numpy(), rows.items.numpy(), eps), weight


def attentions(weight: np.ndarray, seed: int) -> np.ndarray:
    """For each text a random attention, sparse or uniform, near the base or far from it."""
    random = np.random.default_rng(seed)
    drawn = random.exponential(size=weight.shape) ** random.choice([1.0, 5.0], size=(len(weight), 1))
    near = random.random((len(weight), 1)) ** 4
    return weight + near * (drawn / drawn.sum(1, keepdims=True) - weight)


def pulled_in(programs: Programs, weight: np.ndarray, end: np.ndarray) -> np.ndarray:
    """From the base towards an attention, until the prediction leaves eps."""
    share = np.ones((len(weight), 1))
    while not (within := is_within(programs, weight + share * (end - weight))).all():
        share = np.where(within[:, None], share, 0.9 * share)
    return weight + share * (end - weight)


def is_within(programs: Programs, attention: np.ndarray) -> np.ndarray:
    return moved(programs.near, changes(programs, attention)) <= programs.near.eps
