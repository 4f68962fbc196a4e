"""Shapley values: complete, exact where words add up, and against all orders of a short text."""

from itertools import permutations

import pytest
import torch

from heedful.attribution.present_words import odds_of_present
from heedful.attribution.shap import shap
from heedful.models.trace import trace
from support.models import BATCH, LENGTHS, cut, make, make_batch

ROUNDING = 1e-6
"""Captum sums in float32."""


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("encoder", ["average", "bilstm", "hierarchical"])
def test_they_add_up_to_what_the_words_add_to_the_odds(encoder):
    model = make(encoder)
    seen, texts = trace(model, make_batch()), torch.arange(BATCH)
    odds, items = odds_of_present(model, seen), seen.encoded.items.double()
    values = shap(model, seen, seeded(), orders=3)
    torch.testing.assert_close(values.sum(1), odds(items, texts) - odds(0 * items, texts), atol=ROUNDING, rtol=0)
    assert (values[~seen.encoded.items] == 0).all() and values.dtype == torch.float64


def test_many_orders_come_near_the_mean_over_all():
    model = make("gru")
    row, length = 1, LENGTHS.tolist()[1]
    seen = trace(model, cut(make_batch(), [row], length))
    odds = odds_of_present(model, seen)
    wanted = torch.zeros(length).double()
    orders = list(permutations(range(length)))
    for order in orders:
        present, before = torch.zeros(1, length).double(), odds(torch.zeros(1, length).double(), torch.tensor([0]))
        for place in order:
            present[0, place] = 1
            after = odds(present, torch.tensor([0]))
            wanted[place] += (after - before).item() / len(orders)
            before = after
    torch.testing.assert_close(shap(model, seen, seeded(), orders=400)[0], wanted, atol=2e-3, rtol=0)


def test_the_generator_decides():
    model = make("bilstm")
    seen = trace(model, make_batch())
    assert torch.equal(shap(model, seen, seeded(), orders=2), shap(model, seen, seeded(), orders=2))
