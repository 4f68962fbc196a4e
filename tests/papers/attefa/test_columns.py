"""Numbers by hand: two texts, two adversaries."""

from math import log

import pytest
import torch

from heedful.papers.attefa.claims import (
    attefa_by_adversary,
    best_attefa,
    distance_between_clusters,
    divergence_by_adversary,
)
from support.synthetic_results import made_cell


def pair(first, second):
    return torch.tensor([[first, second]], dtype=torch.float64)


COLUMNS = {
    "attefa.cap": pair(0.6, 0.6),
    "attefa.constant_tvd": pair(0.5, 0.5),
    "attefa.rescaled_tvd": pair(0.1, 0.1),
    "adversarial_models.tvd_1": pair(0.1, 0.3),
    "adversarial_models.js_1": pair(0.4, 0.6),  # AtteFa .2 ln 2 / .5
    "adversarial_models.apart_1": pair(0.4, 0.4),
    "adversarial_models.tvd_2": pair(0.0, 0.2),
    "adversarial_models.js_2": pair(0.1, 0.1),  # AtteFa .1 ln 2 / .1
    "adversarial_models.apart_2": pair(0.4, 0.4),
}
CELL = made_cell("sst2", "mlp", columns=COLUMNS)


def test_the_mean_over_texts_is_attefa():
    assert best_attefa(CELL).tolist() == [pytest.approx([0.2 * log(2), 0.6 * log(2)])]
    assert best_attefa(CELL).mean() == pytest.approx(0.4 * log(2))
    assert attefa_by_adversary(CELL).mean(1).tolist() == pytest.approx([0.4 * log(2), 1.0 * log(2)])


def test_two_adversaries_are_as_far_apart_as_their_attefa():
    assert distance_between_clusters(CELL).mean() == pytest.approx(0.6 * log(2))


def test_each_adversary_has_its_divergence():
    assert divergence_by_adversary(CELL).tolist() == [pytest.approx([0.4, 0.6]), pytest.approx([0.1, 0.1])]
