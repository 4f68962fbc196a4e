"""Attention of known quality, by hand."""

import pytest
import torch

from heedful.studies.calibration.attentions import ATTENTIONS, MAGNITUDE, margins_of

ITEMS = torch.tensor([[True, True, True, False]])
MARGINS = torch.tensor([[3.0, -1.0, 1.0, 0.0]], dtype=torch.float64)


def weights(name, table=ATTENTIONS):
    return table[name](MARGINS, ITEMS, torch.Generator().manual_seed(0))[0]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_sums_to_one_over_the_items(name):
    own = weights(name)
    assert own.sum().item() == pytest.approx(1)
    assert own[3] == 0 and (own >= 0).all()


def test_the_oracle_follows_what_speaks_for_the_decision():
    assert weights("oracle").tolist() == pytest.approx([0.7485, 2e-3, 0.25, 0], abs=2e-3)


def test_the_magnitude_oracle_follows_what_speaks_for_or_against_it():
    assert weights("oracle", MAGNITUDE).tolist() == pytest.approx([0.6, 0.2, 0.2, 0], abs=2e-3)


def test_anti_gives_the_most_to_what_says_the_least():
    good, bad = weights("oracle"), weights("anti")
    assert bad.argmax() == good[:3].argmin() and bad[:3].argmin() == good.argmax()
    assert sorted(bad.tolist()) == pytest.approx(sorted(good.tolist()))


def test_first_word_and_top_have_all_the_weight():
    assert weights("first word").tolist() == [1, 0, 0, 0]
    assert weights("one-hot top").tolist() == [1, 0, 0, 0]


def test_a_margin_is_over_the_best_of_the_other_classes():
    logits = torch.tensor([[[2.0, 1.0, 0.0], [0.0, 4.0, 5.0], [9.0, 9.0, 9.0]]])
    items = torch.tensor([[True, True, False]])
    assert margins_of(logits, torch.tensor([0]), items).tolist() == [[1.0, -5.0, 0.0]]
    assert margins_of(logits, torch.tensor([2]), items).tolist() == [[-2.0, 1.0, 0.0]]
